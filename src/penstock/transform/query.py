"""The verb `sql`: a whole query over the view `input`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyspark.sql import DataFrame

from penstock.internals import INPUT
from penstock.records import SOURCE_COLUMN

_WORD = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`|[A-Za-z_]\w*|[()]|.""",
    re.DOTALL,
)


def run_query(frame: DataFrame, query: str) -> DataFrame:
    """The rows that the query makes of `frame`, which it knows as `input`. Nothing but a query is carried out."""
    session = frame.sparkSession
    frame.createOrReplaceTempView(INPUT)
    try:
        return session.sql(f"SELECT * FROM ({query.strip().rstrip(';')}\n)")  # as a part of another one it can only be a query
    finally:
        session.catalog.dropTempView(INPUT)


def with_source(query: str) -> str:
    """The query with `_source` in the list of every SELECT that makes its rows; whether Spark takes it, the caller has to try."""
    places = list(_ends_of_select_lists(query))
    for place in reversed(places):
        query = f"{query[:place].rstrip()}, {SOURCE_COLUMN} {query[place:].lstrip()}".rstrip()
    return query


def _ends_of_select_lists(query: str) -> Iterator[int]:
    """Where the list of each SELECT outside all parentheses ends: before its FROM, or with the text."""
    depth, in_list = 0, False
    for found in _WORD.finditer(query):
        word = found[0].upper()
        depth += (word == "(") - (word == ")")
        if depth:
            continue
        if in_list and word in ("FROM", "UNION", "WHERE", ";"):
            yield found.start()
            in_list = False
        in_list = in_list or word == "SELECT"
    if in_list:
        yield len(query)
