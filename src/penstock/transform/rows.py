"""The row-wise verbs on frames that carry `records.TRAVELLING`: a record stays one row, whatever is done to it.

Expressions are evaluated for kept records alone: dead and filtered ones pass by untouched, so that each record which
was read arrives at the writer and is counted there.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.internals import spark_schema
from penstock.records import FAULT_COLUMN, KEPT_COLUMN, SOURCE_COLUMN, TRAVELLING

CARRIED = tuple(field.name for field in TRAVELLING)
TYPES = {field.name: field.dataType for field in spark_schema(pa.schema(TRAVELLING))}


def keep_where(frame: DataFrame, where: str) -> DataFrame:
    """A record for which `where` is false or null is kept no longer."""
    kept = F.col(KEPT_COLUMN)
    return frame.withColumn(KEPT_COLUMN, F.when(kept, F.coalesce(F.expr(where), F.lit(False))).otherwise(F.lit(False)))


def select_columns(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The columns made anew; of two with one name the later stands, in the place of the earlier."""
    made: dict[str, Column] = {}
    for expression in columns:
        made.update(_made_by(frame, expression))
    return frame.select(*(column.alias(name) for name, column in made.items()), *CARRIED)


def kept_rows(frame: DataFrame) -> DataFrame:
    """The rows as a query sees them: kept records with their own columns and `_source`."""
    return frame.where(KEPT_COLUMN).drop(FAULT_COLUMN, KEPT_COLUMN)


def as_kept(frame: DataFrame) -> DataFrame:
    """Rows that a query made, as kept records again; `_source` is null where the query did not carry it."""
    own = [name for name in frame.columns if name != SOURCE_COLUMN]
    source = F.col(SOURCE_COLUMN) if SOURCE_COLUMN in frame.columns else _null(SOURCE_COLUMN)
    return frame.select(*map(_column, own), source.alias(SOURCE_COLUMN), _null(FAULT_COLUMN), F.lit(True).alias(KEPT_COLUMN))


def beside_query(frame: DataFrame, like: DataFrame) -> DataFrame:
    """Every record of `frame` once more, without its own columns, to be counted beside what a query made of the kept ones.

    Its columns are those of `like`, so that the two can be one frame. A kept record has null for `_kept`: it passed into the query.
    """
    own = [F.lit(None).cast(field.dataType).alias(field.name) for field in like.schema if field.name not in CARRIED]
    return frame.select(*own, SOURCE_COLUMN, FAULT_COLUMN, F.when(F.col(KEPT_COLUMN), _null(KEPT_COLUMN)).otherwise(F.lit(False)).alias(KEPT_COLUMN))


def _null(name: str) -> Column:
    return F.lit(None).cast(TYPES[name]).alias(name)


def _made_by(frame: DataFrame, expression: str) -> dict[str, Column]:
    own = [name for name in frame.columns if name not in CARRIED]
    if expression.strip() == "*":
        return {name: _column(name) for name in own}
    names = frame.selectExpr(expression).columns  # also has Spark say what is wrong with it, before it stands in a condition
    if expression.rstrip().endswith(".*"):
        parent = expression.strip().removesuffix(".*")
        return {name: _for_kept(F.expr(parent)[name]) for name in names}
    return {names[0]: _for_kept(F.expr(expression))}


def _for_kept(value: Column) -> Column:
    return F.when(F.col(KEPT_COLUMN), value)


def _column(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")
