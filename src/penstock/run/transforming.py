"""A flow's transforms on frames whose rows carry `records.TRAVELLING`: what Spark says of them, and the frame they make of a batch.

`filter` and `select` mark: every record travels on, so that the writer counts it. A `sql` query sees kept rows alone and may
drop them; so the batch is held, and every record of it travels once more beside the query's rows, to be counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType
from typing_extensions import assert_never

from penstock.errors import Fault, SpecError
from penstock.internals import arrow_schema, row_changing_operator, spark_schema
from penstock.plan.steps import Filter, Query, Select, Transform
from penstock.records import FAULT_COLUMN, KEPT_COLUMN, SOURCE, SOURCE_COLUMN
from penstock.run.sorting import Way, travelling
from penstock.run.spark_errors import said
from penstock.transform.query import run_query, with_source
from penstock.transform.rows import CARRIED, as_kept, beside_query, keep_where, kept_rows, select_columns

_OURS = re.compile(rf"`({FAULT_COLUMN}|{KEPT_COLUMN})`, |, `({FAULT_COLUMN}|{KEPT_COLUMN})`")  # columns that Spark suggests, and users should not know


@dataclass(frozen=True, slots=True)
class Shape:
    """What the transforms make of the rows: the columns that reach the sink, and whether a row is still one record."""

    columns: pa.Schema
    way: Way = Way.MARKED
    changed_by: str | None = None
    """The first operator of a query that makes other rows than one a record (`Aggregate`, `Join` …)."""


@dataclass(frozen=True, slots=True)
class Transformed:
    """Records that travel on to the writer; `held` is the batch in memory that they come from, to be let go behind the job."""

    records: DataFrame
    held: DataFrame | None = None


def transformed(records: DataFrame, steps: Sequence[Transform]) -> Transformed:
    """The records behind all steps. Nothing runs yet."""
    first_query = next((index for index, step in enumerate(steps) if isinstance(step, Query)), None)
    if first_query is None:
        return Transformed(_all(records, steps))
    held = _all(records, steps[:first_query]).persist()
    rows = as_kept(kept_rows(_all(held, steps[first_query:])))
    return Transformed(rows.unionByName(beside_query(held, rows)), held)


def shape_of(session: SparkSession, columns: pa.Schema, steps: Sequence[Transform]) -> Shape:
    """What Spark's analysis over an empty frame says of the steps; `SpecError` names the step that it does not take."""
    frame = session.createDataFrame([], spark_schema(travelling(columns)))
    traced, changed_by = True, None
    for index, step in enumerate(steps):
        with _step_named(index, step, frame):
            if isinstance(step, Query):
                carries, operator = _looked_into(index, step, frame)
                traced, changed_by = traced and carries, changed_by or operator
            frame = _one(frame, step)
    own = [item for item in arrow_schema(frame) if item.name not in CARRIED]
    source = [pa.field(SOURCE_COLUMN, SOURCE)] if traced else []
    return Shape(pa.schema([*own, *source]), _way(steps, changed_by), changed_by)


def _looked_into(index: int, step: Query, frame: DataFrame) -> tuple[bool, str | None]:
    """Whether the query carries `_source`, and what in it makes other rows; one that does neither is refused."""
    made = run_query(kept_rows(frame), step.sql)
    carries, operator = _carries_source(made), row_changing_operator(made)
    if not carries and operator is None:
        raise _without_source(index, step, kept_rows(frame))
    return carries, operator


def _way(steps: Sequence[Transform], changed_by: str | None) -> Way:
    if not any(isinstance(step, Query) for step in steps):
        return Way.MARKED
    return Way.OTHER_ROWS if changed_by else Way.ONE_ROW_A_RECORD


def _all(frame: DataFrame, steps: Sequence[Transform]) -> DataFrame:
    for step in steps:
        frame = _one(frame, step)
    return frame


def _one(frame: DataFrame, step: Transform) -> DataFrame:
    match step:
        case Filter(where):
            return keep_where(frame, where)
        case Select(columns):
            return select_columns(frame, columns)
        case Query(sql):
            return as_kept(run_query(kept_rows(frame), sql))
        case _:
            assert_never(step)


def _carries_source(frame: DataFrame) -> bool:
    return SOURCE_COLUMN in frame.columns and frame.schema[SOURCE_COLUMN].dataType == spark_schema(pa.schema([pa.field(SOURCE_COLUMN, SOURCE)]))[0].dataType


def _without_source(index: int, step: Query, rows: DataFrame) -> SpecError:
    corrected = with_source(step.sql)
    try:
        is_right = _carries_source(run_query(rows, corrected))
    except AnalysisException:
        is_right = False
    remedy = f"write: {' '.join(corrected.split())}" if is_right else f"add `{SOURCE_COLUMN}` to what it selects, as it is in `input`, or select `*`"
    what = f"the query drops `{SOURCE_COLUMN}`: nobody could tell any more which record a row came from"
    return SpecError([Fault(f"transform[{index}].query", None, what, remedy)])


@contextmanager
def _step_named(index: int, step: Transform, frame: DataFrame) -> Iterator[None]:
    """What Spark does not take becomes a fault at the step's path."""
    key = {Filter: "where", Select: "columns", Query: "query"}[type(step)]
    own = ", ".join(name for name in frame.columns if name not in CARRIED)
    try:
        if isinstance(step, Filter) and not isinstance(kind := frame.select(F.expr(step.where)).schema[0].dataType, BooleanType):
            what = f"this is no condition: it is of type {kind.simpleString()}"
            raise SpecError([Fault(f"transform[{index}].{key}", None, what, "write an expression that is true or false: amount > 0")])
        yield
    except AnalysisException as error:
        raise SpecError(
            [Fault(f"transform[{index}].{key}", None, f"Spark does not take this: {_OURS.sub('', said(error))}", f"mend it; the row has {own}")]
        ) from None
