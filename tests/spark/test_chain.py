"""The chain of a batch over made-up Kafka records: fused, and with Spark SQL in the middle; the same records either way."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from penstock import Pipeline
from penstock.builtin import KINDS
from penstock.errors import Fatal, PlanRefused, StoppedByData
from penstock.ledger.book import LedgerWriter
from penstock.ledger.entry import LedgerEntry
from penstock.plan.build import build
from penstock.run.assembly import assemble
from penstock.run.batch import run_batch
from penstock.run.batch_plan import BatchPlan
from penstock.run.state import open_state
from penstock.source.spark_reader import COLUMNS
from penstock.storage import LocalStorage
from penstock.values import BatchCounts, BatchId, Generation, OffsetRange

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


@pytest.fixture
def run(session: SparkSession, tmp_path: Path) -> Callable[..., LedgerEntry]:
    def run(values: Sequence[bytes | None] = VALUES, *, is_new: bool = True, **blocks: Any) -> LedgerEntry:
        pipeline = Pipeline(
            name="numbers",
            kafka={"servers": "127.0.0.1:9092"},
            source={"topics": ["numbers"]},
            sink={"type": "delta", "path": str(tmp_path / "rows")},
            state=str(tmp_path / "state"),
            **{"decode": {"type": "json", "schema": SCHEMA}, "dead_letters": {"type": "delta", "path": str(tmp_path / "dead")}, **blocks},
        )
        plan = build(pipeline.spec(KINDS), KINDS)
        state = open_state(LocalStorage(tmp_path / "state"), plan.name, plan.flow.name)
        half = (len(values) + 1) // 2
        ranges = (OffsetRange("numbers", "id", 0, 0, half), OffsetRange("numbers", "id", 1, 0, half))
        batch = BatchPlan(1, Generation("g"), BatchId(0), ranges, "spark", plan.spec, {})
        ready = assemble(session, plan, KINDS, state)
        return run_batch(ready.batch(kafka(session, values), batch, is_new=is_new), LedgerWriter(state.ledger))

    return run


def rows_in(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: (row["_source"]["offset"], row["_source"]["partition"]))


SAME = [{"type": "select", "columns": ["*"]}]


@pytest.mark.parametrize("transform", [[], SAME], ids=["fused", "through Spark SQL"])
def test_every_record_lands_in_one_place_with_its_coordinates(run: Callable[..., LedgerEntry], tmp_path: Path, transform: list[Any]) -> None:
    entry = run(transform=transform)
    assert entry.counts == BatchCounts(read=500, rows=496, filtered=1, dead=3)
    rows, dead = rows_in(tmp_path / "rows"), rows_in(tmp_path / "dead")
    assert [row["n"] for row in rows] == [1, 3, *range(6, 500)]
    assert rows[1] == {
        "n": 3,
        "text": None,
        "at": datetime(2026, 1, 2, 2, 4, 5, 678901, tzinfo=timezone.utc),
        "_source": {"topic": "numbers", "partition": 0, "offset": 2, "timestamp": NOW, "topic_id": "id"},
    }
    assert [(row["value"], row["key"], row["headers"]) for row in dead] == [
        (VALUES[n], str(n).encode(), None if HEADERS[n % 4] is None else [{"key": key, "value": value} for key, value in HEADERS[n % 4] or ()])
        for n in (1, 3, 5)
    ]
    assert {(row["pipeline"], row["flow"], row["generation"], row["batch"]) for row in dead} == {("numbers", "main", "g", 0)}


def test_a_filter_counts_what_it_drops_and_null_is_not_true(run: Callable[..., LedgerEntry], tmp_path: Path) -> None:
    entry = run(transform=[{"type": "filter", "where": "n < 400 AND text <> 't7'"}])
    assert entry.counts == BatchCounts(read=500, rows=394, filtered=103, dead=3)  # n = 3 has no text
    assert 7 not in [row["n"] for row in rows_in(tmp_path / "rows")]


def test_a_select_makes_columns_and_a_later_one_replaces_an_earlier_in_its_place(run: Callable[..., LedgerEntry], tmp_path: Path) -> None:
    run(transform=[{"type": "select", "columns": ["*", "upper(text) AS text", "_source.offset AS `kafka offset`", "n + 1 AS more"]}])
    row = rows_in(tmp_path / "rows")[0]
    assert list(row) == ["n", "text", "at", "kafka offset", "more", "_source"]
    assert (row["text"], row["kafka offset"], row["more"]) == ("ONE", 0, 2)


def test_expressions_never_see_filtered_or_dead_records(run: Callable[..., LedgerEntry]) -> None:
    steps = [{"type": "filter", "where": "n <> 6"}, {"type": "select", "columns": ["n", "1 / (n - 6) AS inverse", "assert_true(n IS NOT NULL) AS a"]}]
    assert run(transform=[*steps, {"type": "select", "columns": ["n", "inverse"]}]).counts == BatchCounts(500, 495, 2, 3)


def test_steps_apply_in_order(run: Callable[..., LedgerEntry], tmp_path: Path) -> None:
    run(transform=[{"type": "select", "columns": ["n * 10 AS n"]}, {"type": "filter", "where": "n >= 4900"}])
    assert [row["n"] for row in rows_in(tmp_path / "rows")] == list(range(4900, 5000, 10))


def test_the_same_batch_again_adds_nothing_and_reads_nothing(run: Callable[..., LedgerEntry], tmp_path: Path) -> None:
    first = run()
    before = rows_in(tmp_path / "rows")
    again = run([b"what Kafka holds now is of no interest"] * 500, is_new=False)
    assert again.counts == first.counts
    assert {name: sink.version for name, sink in again.sinks.items()} == {name: sink.version for name, sink in first.sinks.items()}
    assert rows_in(tmp_path / "rows") == before


def test_a_batch_in_the_table_without_its_plan_file_is_refused(run: Callable[..., LedgerEntry], tmp_path: Path) -> None:
    run()
    with pytest.raises(Fatal) as refused:
        run()
    assert str(refused.value) == (
        f"batch 0 is in delta {tmp_path}/rows, delta {tmp_path}/dead already, but its plan file is gone\n"
        "where: batch 0\n"
        "next:  the state folder lost files: restore it from a backup; nothing was read or written"
    )


def test_without_dead_letters_a_malformed_record_stops_the_pipeline_and_is_named(run: Callable[..., LedgerEntry], tmp_path: Path) -> None:
    with pytest.raises(StoppedByData) as stopped:
        run([b'{"n": 1}', b"not json"], dead_letters=None)
    assert stopped.value.where == "topic numbers, partition 1, offset 0"
    assert stopped.value.what.startswith("a record cannot be decoded (malformed_json): not JSON at byte")
    assert rows_in(tmp_path / "rows") == []
    assert not list((tmp_path / "rows").glob("*.parquet")), "what a stopped task staged is removed"


def test_a_table_of_another_schema_is_refused_before_anything_is_read(run: Callable[..., LedgerEntry], tmp_path: Path) -> None:
    run()
    with pytest.raises(PlanRefused, match="column `n` is long in the table and string in the pipeline"):
        run(decode={"type": "json", "schema": "n STRING"})


def test_spark_reads_what_our_writer_wrote(run: Callable[..., LedgerEntry], session: SparkSession, tmp_path: Path) -> None:
    run()
    files = DeltaTable(str(tmp_path / "rows")).file_uris()
    found = session.read.parquet(*files).where("n = 3").select("at", "_source.offset", "_source.timestamp").collect()
    assert [tuple(row) for row in found] == [(datetime(2026, 1, 2, 2, 4, 5, 678901), 2, NOW.replace(tzinfo=None))]
