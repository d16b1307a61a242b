"""The chain of a batch over made-up Kafka records: fused, and with Spark SQL in the middle; the same records either way."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from harness.chain import HEADERS, NOW, VALUES, RunBatch, rows_in
from penstock.errors import Fatal, PlanRefused, StoppedByData
from penstock.values import BatchCounts

SAME = [{"type": "select", "columns": ["*"]}]


@pytest.mark.parametrize("transform", [[], SAME], ids=["fused", "through Spark SQL"])
def test_every_record_lands_in_one_place_with_its_coordinates(run: RunBatch, tmp_path: Path, transform: list[Any]) -> None:
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


def test_a_filter_counts_what_it_drops_and_null_is_not_true(run: RunBatch, tmp_path: Path) -> None:
    entry = run(transform=[{"type": "filter", "where": "n < 400 AND text <> 't7'"}])
    assert entry.counts == BatchCounts(read=500, rows=394, filtered=103, dead=3)  # n = 3 has no text
    assert 7 not in [row["n"] for row in rows_in(tmp_path / "rows")]


def test_a_select_makes_columns_and_a_later_one_replaces_an_earlier_in_its_place(run: RunBatch, tmp_path: Path) -> None:
    run(transform=[{"type": "select", "columns": ["*", "upper(text) AS text", "_source.offset AS `kafka offset`", "n + 1 AS more"]}])
    row = rows_in(tmp_path / "rows")[0]
    assert list(row) == ["n", "text", "at", "kafka offset", "more", "_source"]
    assert (row["text"], row["kafka offset"], row["more"]) == ("ONE", 0, 2)


def test_expressions_never_see_filtered_or_dead_records(run: RunBatch) -> None:
    steps = [{"type": "filter", "where": "n <> 6"}, {"type": "select", "columns": ["n", "1 / (n - 6) AS inverse", "assert_true(n IS NOT NULL) AS a"]}]
    assert run(transform=[*steps, {"type": "select", "columns": ["n", "inverse"]}]).counts == BatchCounts(500, 495, 2, 3)


def test_steps_apply_in_order(run: RunBatch, tmp_path: Path) -> None:
    run(transform=[{"type": "select", "columns": ["n * 10 AS n"]}, {"type": "filter", "where": "n >= 4900"}])
    assert [row["n"] for row in rows_in(tmp_path / "rows")] == list(range(4900, 5000, 10))


def test_the_same_batch_again_adds_nothing_and_reads_nothing(run: RunBatch, tmp_path: Path) -> None:
    first = run()
    before = rows_in(tmp_path / "rows")
    again = run([b"what Kafka holds now is of no interest"] * 500, is_new=False)
    assert again.counts == first.counts
    assert {name: sink.version for name, sink in again.sinks.items()} == {name: sink.version for name, sink in first.sinks.items()}
    assert rows_in(tmp_path / "rows") == before


def test_a_batch_in_the_table_without_its_plan_file_is_refused(run: RunBatch, tmp_path: Path) -> None:
    run()
    with pytest.raises(Fatal) as refused:
        run()
    assert str(refused.value) == (
        f"batch 0 is in delta {tmp_path}/rows, delta {tmp_path}/dead already, but its plan file is gone\n"
        "where: batch 0\n"
        "next:  the state folder lost files: restore it from a backup; nothing was read or written"
    )


def test_without_dead_letters_a_malformed_record_stops_the_pipeline_and_is_named(run: RunBatch, tmp_path: Path) -> None:
    with pytest.raises(StoppedByData) as stopped:
        run([b'{"n": 1}', b"not json"], dead_letters=None)
    assert stopped.value.where == "topic numbers, partition 1, offset 0"
    assert stopped.value.what.startswith("a record cannot be decoded (malformed_json): not JSON at byte")
    assert rows_in(tmp_path / "rows") == []
    assert not list((tmp_path / "rows").glob("*.parquet")), "what a stopped task staged is removed"


def test_a_table_of_another_schema_is_refused_before_anything_is_read(run: RunBatch, tmp_path: Path) -> None:
    run()
    with pytest.raises(PlanRefused, match="column `n` is long in the table and string in the pipeline"):
        run(decode={"type": "json", "schema": "n STRING"})


def test_spark_reads_what_our_writer_wrote(run: RunBatch, session: SparkSession, tmp_path: Path) -> None:
    run()
    files = DeltaTable(str(tmp_path / "rows")).file_uris()
    found = session.read.parquet(*files).where("n = 3").select("at", "_source.offset", "_source.timestamp").collect()
    assert [tuple(row) for row in found] == [(datetime(2026, 1, 2, 2, 4, 5, 678901), 2, NOW.replace(tzinfo=None))]
