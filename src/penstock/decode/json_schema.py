"""A JSON Schema (draft 2020-12, the part that declares columns) to the schema model.

Taken: object with `properties`, `required` and `additionalProperties`; array with `items`; string, integer, number, boolean;
`format` date-time and date, int32, int64, float, double; `contentEncoding: base64`; null beside one type, in `type`, `anyOf`
or `oneOf`; `$ref` to a definition in the same file. Annotations say nothing about values and are passed over. Whatever else
would change which records are accepted is a fault at its JSON pointer: a rule that we do not check is never taken silently.

A field is nullable if it is not required or may be null: absent and null are the same to a column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from penstock.decode.model import (
    DEEPEST_SCHEMA,
    Array,
    Binary,
    Boolean,
    DataType,
    Date,
    Field,
    Float,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    name_fault,
    twins,
)
from penstock.errors import Fault, SpecError

_ANNOTATIONS = {"$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "title", "description", "default", "examples", "deprecated"}
_ANNOTATIONS |= {"readOnly", "writeOnly", "contentMediaType"}
_TAKEN = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items"}),
    "string": frozenset({"format", "contentEncoding"}),
    "integer": frozenset({"format"}),
    "number": frozenset({"format"}),
    "boolean": frozenset(),
}
_FORMATS: dict[tuple[str, str], DataType] = {
    ("string", "date-time"): Timestamp(),
    ("string", "date"): Date(),
    ("string", "byte"): Binary(),
    ("integer", "int32"): Integer(32),
    ("integer", "int64"): Integer(64),
    ("number", "float"): Float(32),
    ("number", "double"): Float(64),
}
_DEFAULTS: dict[str, DataType] = {"string": String(), "integer": Integer(64), "number": Float(64), "boolean": Boolean()}
_TYPES = "object, array, string, integer, number, boolean, or one of them with null"


def parse_json_schema(text: str, *, path: str = "schema", file: str = "") -> Struct:
    """The schema that the text declares; a `SpecError` carries every fault, with the JSON pointer of its place."""
    reader = _Reader(path)
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise SpecError([Fault(path, line, f"the file is no JSON: {error}", "a JSON Schema is a JSON document")], file=file) from None
    schema = reader.document(document)
    if reader.faults:
        raise SpecError(reader.faults, file=file)
    return schema


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same key twice")
    return found


class _Reader:
    def __init__(self, path: str) -> None:
        self._path = path
        self._definitions: Any = {}
        self._level = 0
        self.faults: list[Fault] = []

    def document(self, document: Any) -> Struct:
        self._definitions = document
        draft = document.get("$schema", "") if isinstance(document, dict) else ""
        if draft and "2020-12" not in str(draft):
            self._fault("/$schema", "another draft than 2020-12", "https://json-schema.org/draft/2020-12/schema")
        type_, nullable = self._type(document, "", ())
        if not isinstance(type_, Struct):
            self._fault("", "a record is an object with properties", '{"type": "object", "properties": {…}}')
            return Struct(())
        if nullable:
            self._fault("/type", "a record cannot be null", '"type": "object"')
        return type_

    def _fault(self, pointer: str, what: str, remedy: str) -> None:
        fault = Fault(f"{self._path}#{pointer}", None, what, remedy)
        if fault not in self.faults:
            self.faults.append(fault)

    def _type(self, schema: Any, at: str, refs: tuple[str, ...]) -> tuple[DataType, bool]:
        """The type that a schema stands for, and whether null is one of its values; STRING where that is a fault."""
        if not isinstance(schema, dict):
            self._fault(at, "this says nothing about the type", f'an object with "type": {_TYPES}')
            return String(), True
        if self._level > DEEPEST_SCHEMA or at.count("/") > 4 * DEEPEST_SCHEMA or len(refs) > DEEPEST_SCHEMA:
            self._fault(at, f"types are nested more than {DEEPEST_SCHEMA} deep", "declare the inner part as a string")
            return String(), True
        if "$ref" in schema:
            return self._referred(schema, at, refs)
        if union := [key for key in ("anyOf", "oneOf") if key in schema]:
            return self._union(schema, union[0], at, refs)
        self._level += 1
        try:
            return self._typed(schema, at, refs)
        finally:
            self._level -= 1

    def _typed(self, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> tuple[DataType, bool]:
        declared = schema.get("type")
        names = [name for name in declared if name != "null"] if isinstance(declared, list) else [declared]
        name = names[0] if len(names) == 1 else None
        if not isinstance(name, str) or name not in _TAKEN:
            self._fault(f"{at}/type", "a column has exactly one type", f'"type": {_TYPES}')
            return String(), True
        self._check_keys(schema, {"type", *_TAKEN[name]}, at)
        readers: dict[str, Callable[[], DataType]] = {"object": lambda: self._object(schema, at, refs), "array": lambda: self._array(schema, at, refs)}
        return readers.get(name, lambda: self._scalar(name, schema, at))(), isinstance(declared, list) and "null" in declared

    def _scalar(self, name: str, schema: Mapping[str, Any], at: str) -> DataType:
        encoding, format_ = schema.get("contentEncoding"), schema.get("format")
        if encoding is not None and encoding != "base64":
            self._fault(f"{at}/contentEncoding", "the only encoding known is base64", '"contentEncoding": "base64"')
        if encoding is not None:
            return Binary()
        return _FORMATS.get((name, str(format_)), _DEFAULTS[name])

    def _array(self, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> DataType:
        if "items" not in schema:
            self._fault(at, "an array without items has no element type", '"items": {"type": …}')
            return Array(String())
        return Array(*self._type(schema["items"], f"{at}/items", refs))

    def _object(self, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> DataType:
        properties, others = schema.get("properties"), schema.get("additionalProperties", True)
        if properties is None and isinstance(others, dict):
            if schema.get("required"):
                self._fault(f"{at}/required", "a map has no named keys to require", "declare properties, or no required ones")
            return Map(*self._type(others, f"{at}/additionalProperties", refs))
        if not isinstance(properties, dict) or not properties:
            self._fault(at, "an object without properties has no columns", '"properties": {…}, or "additionalProperties": {"type": …} for a map')
            return Struct(())
        if not isinstance(others, bool):
            self._fault(f"{at}/additionalProperties", "named and free keys in one object", "true, false, or a map without properties")
        required = self._required(schema.get("required", []), properties, at)
        fields = []
        for name, inner in properties.items():
            type_, nullable = self._type(inner, f"{at}/properties/{_escaped(name)}", refs)
            fields.append(Field(name, type_, nullable or name not in required))
            if wrong := name_fault(name):
                self._fault(f"{at}/properties/{_escaped(name)}", *wrong)
        names = tuple(properties)
        for position, twin in twins(names):
            pointer = f"{at}/properties/{_escaped(names[position])}"
            self._fault(pointer, f"the field is there twice, as {twin!r}", "columns differ in more than case: rename one")
        return Struct(tuple(fields), closed=others is False)

    def _required(self, required: Any, properties: Mapping[str, Any], at: str) -> set[str]:
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            self._fault(f"{at}/required", "not a list of names", '"required": ["id", …]')
            return set()
        for position, name in enumerate(required):
            if name not in properties:
                self._fault(f"{at}/required/{position}", f"{name!r} is required but not declared", "add it to properties")
        return set(required)

    def _union(self, schema: Mapping[str, Any], key: str, at: str, refs: tuple[str, ...]) -> tuple[DataType, bool]:
        self._check_keys(schema, {key}, at)
        options = schema[key] if isinstance(schema[key], list) else []
        types = [(position, option) for position, option in enumerate(options) if not _is_null(option)]
        if len(types) != 1:
            self._fault(f"{at}/{key}", "a column has exactly one type", "one type, with or without null")
            return String(), True
        type_, nullable = self._type(types[0][1], f"{at}/{key}/{types[0][0]}", refs)
        return type_, nullable or len(options) > 1

    def _referred(self, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> tuple[DataType, bool]:
        self._check_keys(schema, {"$ref"}, at)
        ref = schema["$ref"]
        if not isinstance(ref, str) or not ref.startswith("#/"):
            self._fault(f"{at}/$ref", "refers to another file", "a definition in this file: #/$defs/name")
        elif ref in refs:
            self._fault(f"{at}/$ref", "the type contains itself", "columns are finite: declare the inner part as a string")
        else:
            target = self._definitions
            for step in ref[2:].split("/"):
                target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
            if target is not None:
                return self._type(target, ref[1:], (*refs, ref))
            self._fault(f"{at}/$ref", "refers to nothing in this file", "a definition in this file: #/$defs/name")
        return String(), True

    def _check_keys(self, schema: Mapping[str, Any], taken: set[str], at: str) -> None:
        for key in schema:
            if key not in taken and key not in _ANNOTATIONS:
                self._fault(f"{at}/{_escaped(key)}", f"the rule {key!r} is not checked here", "take it out, and filter in a transform if it matters")


def _is_null(option: Any) -> bool:
    return isinstance(option, dict) and option.get("type") == "null" and set(option) <= {"type", *_ANNOTATIONS}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
