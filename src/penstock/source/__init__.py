"""Kafka: which offsets a batch spans (Spark's own control plane) and how their records are read (the readers)."""
