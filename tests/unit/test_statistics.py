"""Statistics that readers skip files by: as wide as the data at least, in the forms that Delta prescribes."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from penstock.sink.delta_table import DeltaSink
from penstock.sink.parquet_files import ParquetStage
from penstock.sink.port import TaskPlace
from penstock.values import BatchCounts, BatchId, CommitToken, Generation


def statistics(tmp_path: Path, kind: pa.DataType, values: list[Any]) -> dict[str, Any]:
    schema = pa.schema([pa.field("x", kind)])
    writer = DeltaSink(str(tmp_path), "o").stage().open(TaskPlace(0, 0, 0))
    writer.write(pa.RecordBatch.from_arrays([pa.array(values, kind)], schema=schema))
    (staged,) = writer.close()
    return dict(json.loads(json.loads(staged)["statistics"]))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("kind", "values", "least", "greatest"),
    [
        (pa.int64(), [3, None, -2], -2, 3),
        (pa.float64(), [0.5, 1.5], 0.5, 1.5),
        (pa.date32(), [date(2026, 1, 2), date(1999, 12, 31)], "1999-12-31", "2026-01-02"),
        (pa.string(), ["b", "a" * 40, "z" * 33], "a" * 32, "z" * 32 + "\U0010ffff"),
        (pa.string(), ["z" * 32], "z" * 32, "z" * 32),
        (
            pa.timestamp("us", "UTC"),
            [at("2026-01-01T00:00:00.000001"), at("2026-01-01T00:00:00.001001")],
            "2026-01-01T00:00:00.000Z",
            "2026-01-01T00:00:00.002Z",
        ),
        (pa.timestamp("us", "UTC"), [at("1960-01-01T00:00:00.000001")], "1960-01-01T00:00:00.000Z", "1960-01-01T00:00:00.001Z"),
    ],
)
def test_bounds_hold_the_data(tmp_path: Path, kind: pa.DataType, values: list[Any], least: Any, greatest: Any) -> None:
    found = statistics(tmp_path, kind, values)
    assert (found["minValues"]["x"], found["maxValues"]["x"]) == (least, greatest)
    assert found["nullCount"]["x"] == values.count(None)
    assert found["numRecords"] == len(values)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.float64(), [1.0, float("nan")]),  # Spark orders NaN above everything: a maximum of 1.0 would hide it
        (pa.bool_(), [True, False]),
        (pa.binary(), [b"a"]),
        (pa.list_(pa.int64()), [[1], [2]]),
        (pa.int64(), [None, None]),
        (pa.timestamp("us", "UTC"), [at("9999-12-31T23:59:59.999999")]),
    ],
)
def test_where_no_bound_is_true_none_is_given(tmp_path: Path, kind: pa.DataType, values: list[Any]) -> None:
    found = statistics(tmp_path, kind, values)
    assert (found["minValues"], found["maxValues"]) == ({}, {})


def test_decimals_are_exact(tmp_path: Path) -> None:
    text = "123456789012345678901234567890.12"
    writer = ParquetStage(str(tmp_path)).open(TaskPlace(0, 0, 0))
    writer.write(pa.RecordBatch.from_pydict({"x": pa.array([Decimal(text)], pa.decimal128(38, 2))}))
    (staged,) = writer.close()
    assert f'"maxValues":{{"x":{text}}}' in json.loads(staged)["statistics"]


def test_every_row_group_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.sink.parquet_files.ROW_GROUP_ROWS", 10)
    found = statistics(tmp_path, pa.int64(), [5, *range(100, 140), None])
    assert (found["minValues"]["x"], found["maxValues"]["x"], found["nullCount"]["x"]) == (5, 139, 1)


def test_structs_are_told_by_their_parts(tmp_path: Path) -> None:
    kind = pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))])
    found = statistics(tmp_path, kind, [{"a": 1, "b": {"c": "x"}}, {"a": None, "b": None}])
    assert found["minValues"] == {"x": {"a": 1, "b": {"c": "x"}}}
    assert found["nullCount"] == {"x": {"a": 1, "b": {"c": 1}}}


def test_delta_itself_skips_by_them(tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64())])
    sink = DeltaSink(str(tmp_path), "o")
    sink.prepare(schema)
    for batch, numbers in enumerate(([1, 2], [10, 20])):
        writer = sink.stage().open(TaskPlace(batch, 0, 0))
        writer.write(pa.RecordBatch.from_pydict({"n": numbers}, schema=schema))
        sink.commit(writer.close(), CommitToken("p", "f", "s", Generation("g"), BatchId(batch), batch), BatchCounts(2, 2, 0, 0))
    actions = pa.table(DeltaTable(str(tmp_path)).get_add_actions(flatten=True)).to_pylist()
    assert sorted((item["min.n"], item["max.n"], item["num_records"]) for item in actions) == [(1, 2, 2), (10, 20, 2)]
