"""The ledger: what was committed, per batch. Its reader and its writer are different types."""
