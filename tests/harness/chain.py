"""One batch of made-up Kafka records through the chain, without a broker: what the Spark suite runs again and again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from penstock import Pipeline
from penstock.builtin import KINDS
from penstock.ledger.book import LedgerWriter
from penstock.ledger.entry import LedgerEntry
from penstock.plan.build import build
from penstock.run.assembly import assemble
from penstock.run.batch_plan import BatchPlan
from penstock.run.query import carry_out
from penstock.run.state import open_state
from penstock.source.spark_reader import COLUMNS
from penstock.storage import LocalStorage
from penstock.values import BatchId, Generation, OffsetRange

NOW = datetime(2026, 11, 19, 12, tzinfo=timezone.utc)
KAFKA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, headers array<struct<key: string, value: binary>>"
VALUES = [
    b'{"n": 1, "text": "one"}',
    b'{"n": "2"}',
    None,
    b"not json",
    b'{"n": 3, "text": null, "at": "2026-01-02T03:04:05.678901+01:00"}',
    b"",
    *(json.dumps({"n": n, "text": f"t{n}"}).encode() for n in range(6, 500)),
]
HEADERS: list[list[tuple[str, bytes | None]] | None] = [[], [("trace", b"\x00\xff"), ("ü,:", b"")], None, [("no value", None)]]
SCHEMA = "n BIGINT NOT NULL, text STRING, at TIMESTAMP"


def kafka(session: SparkSession, values: Sequence[bytes | None]) -> DataFrame:
    rows = [(str(n).encode(), value, "numbers", n % 2, n // 2, NOW, HEADERS[n % 4]) for n, value in enumerate(values)]
    return session.createDataFrame(rows, KAFKA).repartition(3).selectExpr(*COLUMNS)


@dataclass(frozen=True)
class RunBatch:
    """Batch 0 of a pipeline in a folder of its own, over values that Kafka might hold."""

    session: SparkSession
    folder: Path

    def __call__(self, values: Sequence[bytes | None] = VALUES, *, is_new: bool = True, **blocks: Any) -> LedgerEntry:
        pipeline = Pipeline(
            name="numbers",
            kafka={"servers": "127.0.0.1:9092"},
            source={"topics": ["numbers"]},
            sink={"type": "delta", "path": str(self.folder / "rows")},
            state=str(self.folder / "state"),
            **{"decode": {"type": "json", "schema": SCHEMA}, "dead_letters": {"type": "delta", "path": str(self.folder / "dead")}, **blocks},
        )
        plan = build(pipeline.spec(KINDS), KINDS)
        state = open_state(LocalStorage(self.folder / "state"), plan.name, plan.flow.name)
        half = (len(values) + 1) // 2
        ranges = (OffsetRange("numbers", "id", 0, 0, half), OffsetRange("numbers", "id", 1, 0, half))
        begun = BatchPlan(1, Generation("g"), BatchId(0), ranges, "spark", plan.spec, {})
        ready, frame = assemble(self.session, plan, KINDS, state), kafka(self.session, values)
        return carry_out(ready, frame, begun, LedgerWriter(state.ledger), is_new=is_new)


def rows_in(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: (row["_source"]["offset"], row["_source"]["partition"]) if "_source" in row else tuple(row.values()))
