"""Columns built from what the check kept, for types that the column reader cannot be trusted with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.decode.arrow import TIMESTAMP, arrow_type
from penstock.decode.json.law import field_law
from penstock.decode.json.scalars import FIRST_MICROSECOND, LAST_MICROSECOND, MICROSECOND_DIGITS, Refused
from penstock.decode.json.suspects import Rows
from penstock.decode.model import Binary, Decimal, EpochUnit, Field, Timestamp

KeptColumn = Callable[[Sequence[Any]], tuple[pa.Array, Rows]]
"""From what the check kept of a field, one object a row, to its column and the rows that the law must see."""


def kept_column(field: Field) -> KeptColumn:
    """The builder for one field: fast for plain decimals, epochs and base64, by the law for whatever contains one."""
    match field.type:
        case Binary():
            return lambda values: (pa.array(values, pa.binary()), _NONE)
        case Decimal():
            return _decimals(field.type, field.nullable)
        case Timestamp(epoch) if epoch:
            return _epochs(epoch, field.nullable)
        case _:
            return _by_law(field)


_NONE = np.empty(0, np.int64)


def _decimals(type_: Decimal, nullable: bool) -> KeptColumn:
    """Literals with no more digits than declared are cast together; the rest, exponents too, goes to the law.

    No more digits, trailing zeros included: of more than 38 pyarrow's cast makes some other number without a word.
    """
    whole = type_.precision - type_.scale
    pattern = rf"^-?(0|[1-9]\d{{0,{whole - 1}}})" if whole else r"^-?0"
    pattern += rf"(\.\d{{1,{type_.scale}}})?$" if type_.scale else "$"

    def build(values: Sequence[msgspec.Raw]) -> tuple[pa.Array, Rows]:
        texts, doubtful = _sorted_out(values, pattern, nullable)
        return pc.cast(texts, pa.decimal128(type_.precision, type_.scale)), doubtful

    return build


def _epochs(unit: EpochUnit, nullable: bool) -> KeptColumn:
    """Whole numbers are scaled together; what has a fraction or lies outside the calendar goes to the law."""
    digits = MICROSECOND_DIGITS[unit]

    def build(values: Sequence[msgspec.Raw]) -> tuple[pa.Array, Rows]:
        texts, doubtful = _sorted_out(values, r"^-?(0|[1-9]\d{0,17})$", nullable)
        numbers = np.asarray(pc.fill_null(pc.cast(texts, pa.int64()), 0))
        lowest, highest = (bound // 10**digits if digits >= 0 else bound * 10**-digits for bound in (FIRST_MICROSECOND, LAST_MICROSECOND))
        inside = (numbers >= lowest) & (numbers <= highest)
        numbers = np.where(inside, numbers, 0)
        instants = numbers * 10**digits if digits >= 0 else numbers // 10**-digits
        column = pa.array(instants, TIMESTAMP, mask=np.asarray(pc.is_null(texts)))
        return column, np.concatenate([doubtful, np.flatnonzero(~inside)])

    return build


def _sorted_out(values: Sequence[msgspec.Raw], pattern: str, nullable: bool) -> tuple[pa.Array, Rows]:
    """The literals, those that do not match nulled; and the rows of these, unless they say null and may."""
    texts = pa.array(list(map(bytes, values)), pa.string())
    plain = pc.match_substring_regex(texts, pattern)
    accepted = pc.or_(plain, pc.equal(texts, "null")) if nullable else plain
    doubtful = np.flatnonzero(~np.asarray(accepted)) if len(texts) else _NONE
    return pc.if_else(plain, texts, pa.scalar(None, pa.string())), doubtful


def _by_law(field: Field) -> KeptColumn:
    law, type_ = field_law(field.type), arrow_type(field.type)

    def build(values: Sequence[msgspec.Raw]) -> tuple[pa.Array, Rows]:
        column: list[Any] = []
        doubtful = []
        for row, value in enumerate(map(bytes, values)):
            item = None
            try:
                if value != b"null":
                    item = law(value)
                elif not field.nullable:
                    doubtful.append(row)
            except Refused:
                doubtful.append(row)
            column.append(item)
        return pa.array(column, type_), np.array(doubtful, np.int64)

    return build
