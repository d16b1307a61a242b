"""Everything that leans on what Spark does not promise, with what happens where it is not as expected.

| on what | falls back to |
|---|---|
| `pyspark.sql.pandas.types` | nothing: without it no flow with transforms can run; the import fails at once, by name |
| a frame's analysed plan (py4j) | a query that cannot be looked into is taken to make other rows than one a record |
| the JVM's own context (py4j) | a session that cannot be asked is taken to be gone |
| PySpark's accumulator server and its logger of errors | they go on printing what we report besides |
"""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

UNKNOWN = "unknown"
INPUT = "input"
DROPPING = frozenset({"Filter", "GlobalLimit", "LocalLimit", "Offset", "Sample"})
ARRANGING = frozenset({"Sort", "Repartition", "RepartitionByExpression", "ResolvedHint", "UnresolvedHint"})
NAMING = frozenset({"Project", "Window", "SubqueryAlias", "View", "PipeOperator", "WithCTE", "CTERelationDef", "CTERelationRef"})
ONE_FOR_ONE = DROPPING | ARRANGING | NAMING
"""The operators behind which a row is still one record: they drop rows, order them or add columns, but never make rows."""


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of these Arrow columns."""
    return from_arrow_schema(schema)


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The Arrow columns that the tasks see of this frame."""
    return to_arrow_schema(frame.schema)


def is_stopped(session: SparkSession) -> bool:
    """True where Spark was stopped in the JVM, or the JVM has died."""
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())
    except (PySparkException, Py4JError, ConnectionError, AttributeError):  # PySpark forgets the JVM's context when it is stopped
        return True


def hush(session: SparkSession, *, errors: bool) -> None:
    """Stop what PySpark prints besides raising it. With `errors`, also the page of JSON that it logs for each of them."""
    # When the JVM dies, its accumulator server prints a traceback from a thread of its own; that Spark has gone is said once, by us.
    if (server := getattr(session.sparkContext, "_accumulatorServer", None)) is not None:
        server.handle_error = lambda request, client_address: None
    if errors:
        PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)


def row_changing_operator(frame: DataFrame) -> str | None:
    """The operator nearest to the result that makes other rows than one a record of the view `input`; None where there is none."""
    try:
        names = _operators(frame._jdf.queryExecution().analyzed())
    except (Py4JError, AttributeError, TypeError):
        return UNKNOWN
    return next((name for name in names if name not in ONE_FOR_ONE), None)


def _operators(plan: Any) -> list[str]:
    """Names from the result down to the view `input`. An operator with two children (Join, Union) is in no list of ours."""
    name = str(plan.getClass().getSimpleName())
    if name == "View" and plan.desc().identifier().table() == INPUT:
        return [name]
    children = [plan.children().apply(index) for index in range(plan.children().size())]
    if name in ONE_FOR_ONE and not children and name != "CTERelationRef":
        return [UNKNOWN]
    return [name] + [each for child in children for each in _operators(child)]
