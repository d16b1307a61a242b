"""The model as msgspec types: what is checked while JSON is read, and what is kept as raw text for a closer look."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

import msgspec
from typing_extensions import assert_never

from penstock.decode.model import Array, Binary, Boolean, DataType, Date, Decimal, Float, Integer, Map, String, Struct, Timestamp

NULL = msgspec.Raw(b"null")
"""What a raw nullable field holds where the record has none."""


def attribute(position: int) -> str:
    """The Python attribute of the field at `position`: JSON names need not be identifiers."""
    return f"f{position}"


def row_type(schema: Struct, raw: frozenset[int] = frozenset()) -> type[msgspec.Struct]:
    """The struct that checks an object as it is read; the fields at the positions in `raw` are kept as text, unchecked."""
    fields = [(msgspec.Raw if position in raw else checked_type(field.type), field.nullable) for position, field in enumerate(schema.fields)]
    return _struct(schema, fields)


def raw_type(schema: Struct, *, closed: bool) -> type[msgspec.Struct]:
    """The struct that splits an object into the texts of its declared fields; an absent one is `msgspec.UNSET`."""
    fields = [(attribute(position), msgspec.Raw, msgspec.UNSET) for position in range(len(schema.fields))]
    return msgspec.defstruct("Raw", fields, rename=_names(schema), gc=False, kw_only=True, forbid_unknown_fields=closed)


def checked_type(type_: DataType) -> Any:  # noqa: PLR0911 - a line a type
    """The type by which msgspec accepts a value only if the contract does; `Raw`, and so no check, where it has none."""
    match type_:
        case String():
            return str
        case Boolean():
            return bool
        case Integer():
            return Annotated[int, msgspec.Meta(ge=type_.lowest, le=type_.highest)]
        case Float():
            return float
        case Date():
            return datetime.date
        case Timestamp(epoch):
            return msgspec.Raw if epoch else Annotated[datetime.datetime, msgspec.Meta(tz=True)]
        case Binary():
            return bytes
        case Decimal():  # msgspec's own Decimal takes strings too
            return msgspec.Raw
        case Array(element, nullable):
            return list[_nullable(checked_type(element), nullable)]  # type: ignore[misc]
        case Map(value, nullable):
            return dict[str, _nullable(checked_type(value), nullable)]  # type: ignore[misc]
        case Struct(fields):
            return _struct(type_, [(checked_type(field.type), field.nullable) for field in fields])
        case _:
            assert_never(type_)


def _struct(schema: Struct, types: list[tuple[Any, bool]]) -> type[msgspec.Struct]:
    fields: list[Any] = []
    for position, (type_, nullable) in enumerate(types):
        default = (NULL if type_ is msgspec.Raw else None,) if nullable else ()
        fields.append((attribute(position), _nullable(type_, nullable), *default))
    return msgspec.defstruct("Row", fields, rename=_names(schema), gc=False, kw_only=True, forbid_unknown_fields=schema.closed)


def _nullable(type_: Any, nullable: bool) -> Any:
    return type_ | None if nullable and type_ is not msgspec.Raw else type_


def _names(schema: Struct) -> dict[str, str]:
    return {attribute(position): name for position, name in enumerate(schema.names)}
