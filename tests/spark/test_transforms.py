"""The transform `sql`, what Spark's analysis says of all transforms, and the record that makes one fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from harness.chain import RunBatch, rows_in
from penstock.errors import SpecError, StoppedByData
from penstock.internals import UNKNOWN, row_changing_operator
from penstock.plan.steps import Filter, Query, Select, Transform
from penstock.run.sorting import Way
from penstock.run.transforming import Shape, shape_of
from penstock.transform.query import run_query
from penstock.values import BatchCounts

COLUMNS = pa.schema([pa.field("n", pa.int64()), pa.field("text", pa.string())])


@pytest.fixture
def shape(session: SparkSession) -> Callable[..., Shape]:
    return lambda *steps: shape_of(session, COLUMNS, steps)


def test_a_query_drops_rows_and_makes_columns_and_every_record_is_counted(run: RunBatch, tmp_path: Path) -> None:
    entry = run(transform=[{"type": "sql", "query": "SELECT n, upper(text) AS text, _source FROM input WHERE n < 400;"}])
    assert entry.counts == BatchCounts(read=500, rows=396, filtered=101, dead=3)
    rows = rows_in(tmp_path / "rows")
    assert list(rows[0]) == ["n", "text", "_source"]
    assert [row["n"] for row in rows] == [1, 3, *range(6, 400)]
    assert {(row["_source"]["offset"], row["_source"]["partition"]) for row in rows} == {(n // 2, n % 2) for n in (0, 4, *range(6, 400))}
    assert len(rows_in(tmp_path / "dead")) == 3


def test_steps_stand_before_and_behind_a_query(run: RunBatch, tmp_path: Path) -> None:
    steps = [
        {"type": "filter", "where": "n >= 10"},
        {"type": "sql", "query": "WITH few AS (SELECT * FROM input WHERE n < 100) SELECT * FROM few"},
        {"type": "select", "columns": ["n * 2 AS n"]},
        {"type": "sql", "query": "SELECT *, row_number() OVER (ORDER BY n) AS place FROM input"},
        {"type": "filter", "where": "n < 50"},
    ]
    entry = run(transform=steps)
    assert entry.counts == BatchCounts(read=500, rows=15, filtered=482, dead=3)
    assert [(row["n"], row["place"]) for row in rows_in(tmp_path / "rows")] == [(n * 2, n - 9) for n in range(10, 25)]


def test_a_query_that_makes_other_rows_is_counted_up_to_it(run: RunBatch, tmp_path: Path) -> None:
    steps = [{"type": "filter", "where": "n > 5"}, {"type": "sql", "query": "SELECT n % 2 AS odd, count(*) AS records FROM input GROUP BY 1"}]
    entry = run(transform=steps)
    assert entry.counts == BatchCounts(read=500, rows=494, filtered=3, dead=3, written=2)
    assert [(row["odd"], row["records"]) for row in rows_in(tmp_path / "rows")] == [(0, 247), (1, 247)]
    again = run([b"what Kafka holds now is of no interest"] * 500, transform=steps, is_new=False)
    assert again.counts == entry.counts, "from what the commit carries"


def test_nothing_is_held_in_memory_behind_a_batch(run: RunBatch, session: SparkSession) -> None:
    run(transform=[{"type": "sql", "query": "SELECT * FROM input"}])
    assert session.sparkContext._jsc.getPersistentRDDs().size() == 0


@pytest.mark.parametrize(
    ("query", "operator"),
    {
        "SELECT *, n + 1 AS m FROM input WHERE n > 0": None,
        "WITH a AS (SELECT * FROM input) SELECT * FROM a ORDER BY n LIMIT 1": None,
        "SELECT * FROM input WHERE n IN (SELECT max(n) FROM input)": None,
        "FROM input |> WHERE n > 1": None,
        "SELECT n, explode(array(1, 2)) FROM input": "Generate",
        "SELECT DISTINCT n FROM input": "Distinct",
        "SELECT n FROM input UNION ALL SELECT n FROM input": "Union",
        "SELECT i.* FROM input i JOIN input j ON i.n = j.n": "Join",
        "SELECT * FROM (SELECT n FROM input GROUP BY n)": "Aggregate",
        "VALUES (1)": "LocalRelation",
        "SELECT * FROM range(5)": "Range",
    }.items(),
)
def test_what_makes_other_rows_is_read_off_sparks_analysed_plan(session: SparkSession, query: str, operator: str | None) -> None:
    rows = session.createDataFrame([(1, "a")], "n long, text string")
    assert row_changing_operator(run_query(rows, query)) == operator


def test_a_plan_that_cannot_be_looked_into_is_taken_to_make_other_rows() -> None:
    assert row_changing_operator(object()) == UNKNOWN  # type: ignore[arg-type]


def test_a_flow_keeps_its_source_unless_a_query_that_makes_other_rows_drops_it(shape: Callable[..., Shape]) -> None:
    kept = shape(Query("SELECT n, _source FROM input"), Select(("n + 1 AS m",)))
    assert (kept.columns.names, kept.way, kept.changed_by) == (["m", "_source"], Way.ONE_ROW_A_RECORD, None)
    exploded = shape(Query("SELECT n, explode(array(1, 2)) AS one, _source FROM input"))
    assert (exploded.columns.names, exploded.way, exploded.changed_by) == (["n", "one", "_source"], Way.OTHER_ROWS, "Generate")
    grouped = shape(Query("SELECT count(*) AS records FROM input"), Filter("records > 1"))
    assert (grouped.columns.names, grouped.way, grouped.changed_by) == (["records"], Way.OTHER_ROWS, "Aggregate")


FAULTS: list[tuple[Transform, str, str, str]] = [
    (
        Query("SELECT n, text FROM input WHERE n > 0"),
        "transform[0].query",
        "the query drops `_source`: nobody could tell any more which record a row came from",
        "write: SELECT n, text, _source FROM input WHERE n > 0",
    ),
    (
        Query("SELECT n FROM (SELECT n FROM input)"),
        "transform[0].query",
        "the query drops `_source`: nobody could tell any more which record a row came from",
        "add `_source` to what it selects, as it is in `input`, or select `*`",
    ),
    (
        Query("DROP TABLE input"),
        "transform[0].query",
        "Spark does not take this: Syntax error at or near 'input': extra input 'input'",
        "mend it; the row has n, text",
    ),
    (
        Filter("n"),
        "transform[0].where",
        "this is no condition: it is of type bigint",
        "write an expression that is true or false: amount > 0",
    ),
    (
        Filter("amount > 0"),
        "transform[0].where",
        "Spark does not take this: A column, variable, or function parameter with name `amount` cannot be resolved."
        " Did you mean one of the following? [`n`, `text`, `_source`]",
        "mend it; the row has n, text",
    ),
]


@pytest.mark.parametrize(("step", "path", "what", "remedy"), FAULTS)
def test_a_step_that_spark_does_not_take_is_a_fault_of_the_file(shape: Callable[..., Shape], step: Transform, path: str, what: str, remedy: str) -> None:
    with pytest.raises(SpecError) as refused:
        shape(step)
    (fault,) = refused.value.faults
    assert (fault.path, fault.what, fault.remedy) == (path, what, remedy)


@pytest.mark.parametrize(
    "transform",
    [
        [{"type": "select", "columns": ["n", "1 / (n - 77) AS inverse"]}],
        [{"type": "sql", "query": "SELECT *, 1 / (n - 77) AS inverse FROM input"}],
    ],
    ids=["select", "sql"],
)
def test_the_record_that_makes_a_transform_fail_is_named(run: RunBatch, tmp_path: Path, transform: list[dict[str, Any]]) -> None:
    with pytest.raises(StoppedByData) as stopped:
        run(transform=transform)
    assert str(stopped.value) == (
        "a record makes a transform fail: Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead."
        ' If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error\n'
        "where: batch 0, topic numbers, partition 1, offset 38\n"
        "next:  mend the transform so that it takes such records (try_cast, try_divide, a filter before it), then run again"
    )
    assert rows_in(tmp_path / "rows") == []
