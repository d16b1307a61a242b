"""The row-wise verbs on frames that carry `records.TRAVELLING`: a record stays one row, whatever is done to it.

Expressions are evaluated for kept records alone: dead and filtered ones pass by untouched, so that each record which
was read arrives at the writer and is counted there.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.records import KEPT_COLUMN, TRAVELLING

CARRIED = tuple(field.name for field in TRAVELLING)


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


def _made_by(frame: DataFrame, expression: str) -> dict[str, Column]:
    own = [name for name in frame.columns if name not in CARRIED]
    if expression.strip() == "*":
        return {name: F.col(_quoted(name)) for name in own}
    names = frame.selectExpr(expression).columns  # also has Spark say what is wrong with it, before it stands in a condition
    if expression.rstrip().endswith(".*"):
        parent = expression.strip().removesuffix(".*")
        return {name: _for_kept(F.expr(parent)[name]) for name in names}
    return {names[0]: _for_kept(F.expr(expression))}


def _for_kept(value: Column) -> Column:
    return F.when(F.col(KEPT_COLUMN), value)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
