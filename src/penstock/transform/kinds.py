"""The kinds of transform that a file may name, with cheap imports only."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from penstock.kinds import Kind, Options, wrong


def _has_text(value: str) -> str:
    if value.strip():
        return value
    raise wrong("is empty", "write a Spark SQL expression, or leave the step out")


Sql = Annotated[str, AfterValidator(_has_text)]


class FilterOptions(Options):
    """Keeps the rows for which an expression is true; a row for which it is null is filtered."""

    where: Sql = Field(description='a Spark SQL expression over the row: "amount > 0"')


class SelectOptions(Options):
    """Makes the columns of the row anew; where a record came from is kept without being named."""

    columns: tuple[Sql, ...] = Field(min_length=1, description='Spark SQL expressions: ["*", "upper(currency) AS currency"]')


class SqlOptions(Options):
    """Runs a whole query over the view `input`; it has to carry `_source` or `*` to keep where a record came from."""

    query: Sql = Field(description='a Spark SQL query: "SELECT * FROM input WHERE amount > 0"')


def _not_built_here(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("transforms are carried out by `run`, from the steps of the plan")


FILTER = Kind("filter", FilterOptions, build=_not_built_here, summary="keep the rows for which an expression is true")
SELECT = Kind("select", SelectOptions, build=_not_built_here, summary="make the columns of the row anew")
SQL = Kind("sql", SqlOptions, build=_not_built_here, summary="run a whole query over the view `input`")
