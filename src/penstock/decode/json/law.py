"""The decode contract for one JSON value, slowly and exactly: one row or one fault, whatever the bytes are.

The fast path (`check`, `columns`) only ever takes what this module would take, with the same result; everything
it is not sure of comes here. So this is where the contract is read, and where it is changed. A value is looked at from the
outside in: depth, UTF-8, syntax, object, unknown fields, then the declared fields in their declared order; the first thing
wrong is the fault. Of keys that occur twice the last one counts, and only the last one is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.decode.faults import ErrorClass
from penstock.decode.json.scalars import Refused, found, mismatch, scalar_law
from penstock.decode.json.text import DEEPEST, too_deep
from penstock.decode.json.types import attribute, raw_type
from penstock.decode.model import Array, DataType, Map, Struct

FieldLaw = Callable[[bytes], Any]
"""From the text of a value that is not null to the Python value of its column, or `Refused`."""

_BYTE = re.compile(r"\(byte (\d+)\)$")
_syntax = msgspec.json.Decoder(msgspec.Raw).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_entries = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a value is no row: its class, and a reason that names declared fields and types but quotes nothing."""

    error_class: ErrorClass
    reason: str


class Law:
    """Rules on single values by one schema."""

    def __init__(self, schema: Struct) -> None:
        self._object = _struct_law(schema)

    def __call__(self, value: bytes) -> dict[str, Any] | Refusal:
        """The row as a dict of column values, in the form in which `pyarrow.array` takes them, or why there is none."""
        try:
            _check_document(value)
            row: dict[str, Any] = self._object(value)
        except Refused as refused:
            path = refused.path.removeprefix(".")
            return Refusal(refused.error_class, f"{path}: {refused.reason}" if path else refused.reason)
        return row


def _check_document(value: bytes) -> None:
    """One JSON document of an object and nothing else, at the depth and in the encoding that the contract asks for."""
    if too_deep(value):
        raise Refused(ErrorClass.NESTED_TOO_DEEP, f"objects and arrays are nested more than {DEEPEST} deep")
    try:
        value.decode()
    except UnicodeDecodeError as error:
        raise Refused(ErrorClass.INVALID_UTF8, f"not UTF-8 at byte {error.start}") from None
    if not value.strip(b" \t\r\n"):
        raise Refused(ErrorClass.MALFORMED_JSON, "the value is empty")
    try:
        _syntax(value)
    except msgspec.DecodeError as error:
        place = _BYTE.search(str(error))
        raise Refused(ErrorClass.MALFORMED_JSON, f"not JSON at byte {place[1]}" if place else "the JSON ends too early, or a surrogate stands alone") from None
    if value.lstrip(b" \t\r\n")[:1] != b"{":
        raise Refused(ErrorClass.NOT_AN_OBJECT, f"expected an object, found {found(value.strip())}")


def field_law(type_: DataType) -> FieldLaw:
    """The law of one type; its argument is well-formed JSON and not `null`."""
    match type_:
        case Struct():
            return _struct_law(type_)
        case Array():
            return _array_law(type_)
        case Map():
            return _map_law(type_)
        case _:
            return scalar_law(type_)


def _struct_law(struct: Struct) -> FieldLaw:
    split = msgspec.json.Decoder(raw_type(struct, closed=False)).decode
    closed = msgspec.json.Decoder(raw_type(struct, closed=True)).decode if struct.closed else None
    laws = [(field.name, attribute(position), field_law(field.type), field.nullable) for position, field in enumerate(struct.fields)]

    def law(text: bytes) -> dict[str, Any]:
        if not text.lstrip().startswith(b"{"):
            raise mismatch("an object", text)
        if closed:
            try:
                closed(text)
            except msgspec.ValidationError:
                raise Refused(ErrorClass.UNKNOWN_FIELD, "the object has a field that is not declared") from None
        parts, row, name = split(text), {}, ""
        try:
            for name, slot, field, nullable in laws:
                part = getattr(parts, slot)
                row[name] = _absent(nullable) if part is msgspec.UNSET else _ruled(field, bytes(part), nullable)
        except Refused as refused:
            raise refused.under(f".{name}") from None
        return row

    return law


def _array_law(array: Array) -> FieldLaw:
    element, nullable = field_law(array.element), array.nullable_elements

    def law(text: bytes) -> list[Any]:
        if not text.startswith(b"["):
            raise mismatch("an array", text)
        row: list[Any] = []
        try:
            for part in map(bytes, _elements(text)):
                row.append(_ruled(element, part, nullable))
        except Refused as refused:
            raise refused.under(f"[{len(row)}]") from None
        return row

    return law


def _map_law(map_: Map) -> FieldLaw:
    value, nullable = field_law(map_.value), map_.nullable_values

    def law(text: bytes) -> list[tuple[str, Any]]:
        if not text.startswith(b"{"):
            raise mismatch("an object", text)
        try:
            return [(key, _ruled(value, bytes(part), nullable)) for key, part in _entries(text).items()]
        except Refused as refused:
            raise refused.under("[…]") from None  # a key is the payload's

    return law


def _ruled(law: FieldLaw, text: bytes, nullable: bool) -> Any:
    if text != b"null":
        return law(text)
    if nullable:
        return None
    raise Refused(ErrorClass.NULL_VALUE, "null, though declared NOT NULL")


def _absent(nullable: bool) -> Any:
    if nullable:
        return None
    raise Refused(ErrorClass.MISSING_FIELD, "the field is missing")
