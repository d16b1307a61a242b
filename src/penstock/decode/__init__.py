"""Bytes in, rows and faults out: one format a file, all of them under docs/contracts/decode.md.

Importing this package imports nothing heavy. `model`, `ddl` and `json_schema` are pure Python, so that `penstock validate`
can check a schema in a few milliseconds; `arrow` and the decoders bring pyarrow, and belong to the tasks.
"""
