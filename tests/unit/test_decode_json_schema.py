"""JSON Schema to schema: what it declares, and every fault with its pointer and remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.decode.json_schema import parse_json_schema
from penstock.decode.model import Array, Binary, Boolean, DataType, Date, Field, Float, Integer, Map, String, Struct, Timestamp
from penstock.errors import SpecError


def schema(properties: dict[str, Any], **rest: Any) -> Struct:
    return parse_json_schema(json.dumps({"type": "object", "properties": properties, **rest}))


def faults(document: Any) -> list[tuple[str, str, str]]:
    with pytest.raises(SpecError) as error:
        parse_json_schema(document if isinstance(document, str) else json.dumps(document))
    return [(fault.path, fault.what, fault.remedy) for fault in error.value.faults]


def faults_in(inner: Any, **rest: Any) -> list[tuple[str, str, str]]:
    """The faults of the one property `a`, by pointers that begin below it."""
    return [(path.removeprefix("schema#/properties/a"), what, remedy) for path, what, remedy in faults({"type": "object", "properties": {"a": inner}, **rest})]


@pytest.mark.parametrize(
    ("inner", "type_"),
    [
        ({"type": "string"}, String()),
        ({"type": "string", "format": "email"}, String()),
        ({"type": "string", "format": "date-time"}, Timestamp()),
        ({"type": "string", "format": "date"}, Date()),
        ({"type": "string", "contentEncoding": "base64"}, Binary()),
        ({"type": "integer"}, Integer(64)),
        ({"type": "integer", "format": "int32"}, Integer(32)),
        ({"type": "number"}, Float(64)),
        ({"type": "number", "format": "float"}, Float(32)),
        ({"type": "boolean", "title": "t", "description": "d", "default": True, "examples": [], "deprecated": True}, Boolean()),
        ({"type": "array", "items": {"type": "string"}}, Array(String(), nullable_elements=False)),
        ({"type": "array", "items": {"type": ["string", "null"]}}, Array(String())),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, Map(Integer(64), nullable_values=False)),
        ({"type": "object", "properties": {"b": {"type": "string"}}}, Struct((Field("b", String()),))),
        ({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": False}, Struct((Field("b", String()),), closed=True)),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, String()),
        ({"oneOf": [{"type": "null"}, {"type": "number"}]}, Float(64)),
        ({"$ref": "#/$defs/address~1home"}, Struct((Field("street", String(), nullable=False),))),
    ],
)
def test_each_form_of_a_type(inner: Any, type_: DataType) -> None:
    home = {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]}
    assert schema({"a": inner}, **{"$defs": {"address/home": home}}) == Struct((Field("a", type_),))


def test_a_field_is_nullable_unless_it_is_required_and_may_not_be_null() -> None:
    inner = {"type": "string"}, {"type": ["string", "null"]}
    declared = schema({"a": inner[0], "b": inner[0], "c": inner[1], "d": inner[1]}, required=["a", "c"])
    assert [field.nullable for field in declared.fields] == [False, True, True, True]


def test_the_draft_may_be_named() -> None:
    assert schema({"a": {"type": "string"}}, **{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "x", "title": "t"}).names == ("a",)


ONE_TYPE = '"type": object, array, string, integer, number, boolean, or one of them with null'
NOT_CHECKED = "take it out, and filter in a transform if it matters"


@pytest.mark.parametrize(
    ("inner", "pointer", "what", "remedy"),
    [
        ({}, "/type", "a column has exactly one type", ONE_TYPE),
        (True, "", "this says nothing about the type", f"an object with {ONE_TYPE}"),
        ({"type": ["string", "integer"]}, "/type", "a column has exactly one type", ONE_TYPE),
        ({"type": "null"}, "/type", "a column has exactly one type", ONE_TYPE),
        ({"type": "text"}, "/type", "a column has exactly one type", ONE_TYPE),
        ({"type": "integer", "minimum": 0}, "/minimum", "the rule 'minimum' is not checked here", NOT_CHECKED),
        ({"type": "string", "enum": ["x"]}, "/enum", "the rule 'enum' is not checked here", NOT_CHECKED),
        ({"type": "string", "x/y~z": 1}, "/x~1y~0z", "the rule 'x/y~z' is not checked here", NOT_CHECKED),
        ({"type": "string", "contentEncoding": "hex"}, "/contentEncoding", "the only encoding known is base64", '"contentEncoding": "base64"'),
        ({"type": "array"}, "", "an array without items has no element type", '"items": {"type": …}'),
        ({"type": "array", "items": {"type": "array", "items": 5}}, "/items/items", "this says nothing about the type", f"an object with {ONE_TYPE}"),
        ({"type": "object"}, "", "an object without properties has no columns", '"properties": {…}, or "additionalProperties": {"type": …} for a map'),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "/anyOf", "a column has exactly one type", "one type, with or without null"),
        ({"anyOf": [{"type": "string"}], "minLength": 1}, "/minLength", "the rule 'minLength' is not checked here", NOT_CHECKED),
        ({"$ref": "other.json"}, "/$ref", "refers to another file", "a definition in this file: #/$defs/name"),
        ({"$ref": "#/$defs/none"}, "/$ref", "refers to nothing in this file", "a definition in this file: #/$defs/name"),
        ({"$ref": "#/properties/a"}, "/$ref", "the type contains itself", "columns are finite: declare the inner part as a string"),
    ],
)
def test_what_would_change_its_meaning_is_a_fault_at_its_pointer(inner: Any, pointer: str, what: str, remedy: str) -> None:
    assert faults_in(inner) == [(pointer, what, remedy)]


def test_faults_of_objects() -> None:
    inner = {"b": {"type": "string"}}
    assert faults_in({"type": "object", "properties": inner, "required": ["c"]}) == [
        ("/required/0", "'c' is required but not declared", "add it to properties")
    ]
    assert faults_in({"type": "object", "properties": inner, "required": "b"}) == [("/required", "not a list of names", '"required": ["id", …]')]
    mixed = {"type": "object", "properties": inner, "additionalProperties": {"type": "string"}}
    assert faults_in(mixed) == [("/additionalProperties", "named and free keys in one object", "true, false, or a map without properties")]
    twins = {"type": "object", "properties": {**inner, "B": {"type": "string"}}}
    assert faults_in(twins) == [("/properties/B", "the field is there twice, as 'b'", "columns differ in more than case: rename one")]
    named = {"type": "object", "additionalProperties": {"type": "string"}, "required": ["b"]}
    assert faults_in(named) == [("/required", "a map has no named keys to require", "declare properties, or no required ones")]


def test_a_type_is_nested_at_most_32_deep() -> None:
    inner: Any = {"type": "string"}
    for _ in range(40):
        inner = {"type": "array", "items": inner}
    assert faults_in(inner) == [("/items" * 32, "types are nested more than 32 deep", "declare the inner part as a string")]


def test_endless_detours_to_a_type_are_a_fault() -> None:
    union: Any = {"type": "string"}
    for _ in range(200):
        union = {"anyOf": [union]}
    chain = {f"d{step}": {"$ref": f"#/$defs/d{step + 1}"} for step in range(900)}
    for inner in (union, {"$ref": "#/$defs/d0"}):
        ((_, what, _),) = faults_in(inner, **{"$defs": chain})
        assert what == "types are nested more than 32 deep"


def test_all_faults_are_told_at_once() -> None:
    document = {
        "type": ["object", "null"],
        "$schema": "http://json-schema.org/draft-07/schema",
        "allOf": [],
        "properties": {"a": {}, "b": {"type": "string", "maxLength": 1}},
    }
    assert [path for path, _, _ in faults(document)] == [
        *["schema#/$schema", "schema#/allOf", "schema#/properties/a/type", "schema#/properties/b/maxLength", "schema#/type"],
    ]


def test_a_type_that_contains_itself_by_way_of_others_is_one_fault() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    found = faults({"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    assert [path for path, _, _ in found] == ["schema#/$defs/node/properties/next/$ref"]


@pytest.mark.parametrize("document", ["", "{", '{"type":"object","type":"object"}', "[" * 100_000])
def test_what_is_no_json_is_a_fault(document: str) -> None:
    ((path, what, remedy),) = faults(document)
    assert (path, what.split(":")[0], remedy) == ("schema", "the file is no JSON", "a JSON Schema is a JSON document")


@pytest.mark.parametrize("document", [5, [], "x", {"type": "string"}, {"type": "array", "items": {"type": "string"}}])
def test_a_record_is_an_object(document: Any) -> None:
    assert ("schema#", "a record is an object with properties", '{"type": "object", "properties": {…}}') in faults(json.dumps(document))
