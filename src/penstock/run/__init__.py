"""The only room that starts anything: the session, the query, the batches, the supervisor."""
