"""The text of a corrected query. Whether Spark takes it is tried over there."""

from __future__ import annotations

import pytest

from penstock.transform.query import with_source

CORRECTED = {
    "SELECT a, b FROM input WHERE x": "SELECT a, b, _source FROM input WHERE x",
    "select extract(year FROM at) y\nfrom input": "select extract(year FROM at) y, _source from input",
    "WITH c AS (SELECT a FROM input) SELECT a FROM c": "WITH c AS (SELECT a FROM input) SELECT a, _source FROM c",
    "SELECT 'from', `from` /* from */ FROM input -- from": "SELECT 'from', `from` /* from */, _source FROM input -- from",
    "SELECT a FROM input UNION ALL SELECT b FROM input;": "SELECT a, _source FROM input UNION ALL SELECT b, _source FROM input;",
    "SELECT 1": "SELECT 1, _source",
    "TABLE input": "TABLE input",
}


@pytest.mark.parametrize(("query", "corrected"), CORRECTED.items())
def test_the_source_is_added_to_each_select_that_makes_rows(query: str, corrected: str) -> None:
    assert with_source(query) == corrected
