"""Schemas: what is printed reads back as itself, and no text makes a reader do anything but read or name faults."""

from __future__ import annotations

import contextlib
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.json_samples import Samples
from penstock.decode.ddl import parse_ddl
from penstock.decode.json_schema import parse_json_schema
from penstock.errors import SpecError

PARTS = [
    "a",
    "`b c`",
    "INT",
    "STRING",
    "DECIMAL(",
    "10",
    ",",
    "2",
    ")",
    "ARRAY<",
    "MAP<",
    "STRUCT<",
    ">",
    ":",
    "NOT NULL",
    "NOT",
    "COMMENT",
    "'x'",
    '"',
    "'",
    "`",
    "(",
    "<",
    " ",
    "\n",
    "é",
    "?",
]
KEYS = ["type", "properties", "required", "items", "additionalProperties", "anyOf", "oneOf", "$ref", "format", "$defs", "minimum", "a", "b", "A", "title"]
VALUES = ["object", "array", "string", "integer", "null", "date-time", "#/$defs/a", "#/properties/a", "#", "a", True, False, None, 5]
documents = st.recursive(
    st.sampled_from(VALUES), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5), max_leaves=25
)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.integers(min_value=0, max_value=2**32))
def test_ddl_reads_back_as_the_schema_that_printed_it(seed: int) -> None:
    text = Samples(seed).schema().ddl
    assert parse_ddl(text).ddl == text


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PARTS), max_size=30).map(" ".join) | st.text(max_size=40))
def test_any_text_is_a_schema_or_a_list_of_faults(text: str) -> None:
    with contextlib.suppress(SpecError):
        assert parse_ddl(parse_ddl(text).ddl)


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(documents | st.builds(lambda inner: {"type": "object", "properties": {"a": inner}}, documents))
def test_any_json_is_a_schema_or_a_list_of_faults(document: object) -> None:
    with contextlib.suppress(SpecError):
        assert parse_json_schema(json.dumps(document)).fields
