"""The JSON decode contract a second time: slow, by hand, over Python's own json; the judge of the fast decoder.

Nothing here is shared with `penstock.decode.json` but the schema model and the list of error classes. Numbers are fractions,
rounding is done from its definition, timestamps and base64 are read sign by sign.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from penstock.decode.model import Array, Binary, Boolean, DataType, Date, Decimal, Float, Integer, Map, String, Struct, Timestamp

DEEPEST = 256
EPOCH = datetime.datetime(1970, 1, 1)
UNITS = {"seconds": Fraction(10**6), "milliseconds": Fraction(1000), "microseconds": Fraction(1), "nanoseconds": Fraction(1, 1000)}


@dataclass
class Refused(Exception):
    """The record is a fault of this class, found at this path."""

    error_class: str
    path: str = ""


class Number(str):
    """A number as it stands in the document."""

    __slots__ = ()


def judge(schema: Struct, value: bytes) -> dict[str, Any] | Refused:
    """The row that the value must become, as `pyarrow.array` takes its columns, or the fault it must be."""
    try:
        document = parse(value)
        if not isinstance(document, dict):
            raise Refused("not_an_object")
        return struct(schema, document, "")
    except Refused as refused:
        return refused


def parse(value: bytes) -> Any:
    try:
        text = value.decode("utf-8", "strict")
    except UnicodeDecodeError:
        raise Refused("nested_too_deep" if deepest(value.decode("latin-1")) > DEEPEST else "invalid_utf8") from None
    if deepest(text) > DEEPEST:
        raise Refused("nested_too_deep")

    def constant(_: str) -> None:
        raise ValueError

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        for key, item in items:
            whole(key), whole(item)
        return dict(items)

    try:
        return whole(json.loads(text, parse_int=Number, parse_float=Number, parse_constant=constant, object_pairs_hook=pairs))
    except ValueError:
        raise Refused("malformed_json") from None


def whole(item: Any) -> Any:
    """The item, if no text in it holds half a surrogate pair."""
    if isinstance(item, str) and any("\ud800" <= sign <= "\udfff" for sign in item):
        raise ValueError
    if isinstance(item, list):
        for each in item:
            whole(each)
    return item


def deepest(text: str) -> int:
    level = most = 0
    inside = escaped = False
    for sign in text:
        if inside:
            inside = escaped or sign != '"'
            escaped = not escaped and sign == "\\"
        elif sign == '"':
            inside = True
        elif sign in "[{":
            level += 1
            most = max(most, level)
        elif sign in "]}":
            level -= 1
    return most


def struct(type_: Struct, item: Any, path: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise Refused("type_mismatch", path)
    if type_.closed and not set(item) <= set(type_.names):
        raise Refused("unknown_field", path)
    row = {}
    for field in type_.fields:
        place = f"{path}.{field.name}" if path else field.name
        if field.name not in item and not field.nullable:
            raise Refused("missing_field", place)
        row[field.name] = part(field.type, item.get(field.name), field.nullable, place)
    return row


def part(type_: DataType, item: Any, nullable: bool, path: str) -> Any:
    if item is None:
        if not nullable:
            raise Refused("null_value", path)
        return None
    return READERS[type(type_)](type_, item, path)


def array(type_: Array, item: Any, path: str) -> list[Any]:
    if not isinstance(item, list):
        raise Refused("type_mismatch", path)
    return [part(type_.element, each, type_.nullable_elements, f"{path}[{place}]") for place, each in enumerate(item)]


def map_(type_: Map, item: Any, path: str) -> list[tuple[str, Any]]:
    if not isinstance(item, dict):
        raise Refused("type_mismatch", path)
    return [(key, part(type_.value, each, type_.nullable_values, f"{path}[…]")) for key, each in item.items()]


def text(item: Any, path: str) -> str:
    if not isinstance(item, str) or isinstance(item, Number):
        raise Refused("type_mismatch", path)
    return item


def boolean(_: Boolean, item: Any, path: str) -> bool:
    if item is not True and item is not False:
        raise Refused("type_mismatch", path)
    return item


def integer(type_: Integer, item: Any, path: str) -> int:
    if not isinstance(item, Number) or not item.lstrip("-").isdigit():
        raise Refused("type_mismatch", path)
    value = exact(item, path)
    if not -(2 ** (type_.bits - 1)) <= value < 2 ** (type_.bits - 1):
        raise Refused("out_of_range", path)
    return int(value)


def exact(item: Any, path: str) -> Fraction:
    """The number itself; exponents that only zero or nothing survives are pulled in to where that still shows."""
    if not isinstance(item, Number):
        raise Refused("type_mismatch", path)
    mantissa, _, exponent = item.lower().partition("e")
    before, _, behind = mantissa.partition(".")
    digits = decimal.Decimal(before + behind)
    power = max(-9000, min(9000, int(exponent or "0"))) - len(behind)
    return Fraction(digits) * Fraction(10) ** power if digits else Fraction(0)


def float_(type_: Float, item: Any, path: str) -> float:
    number = exact(item, path)
    fraction_bits, lowest, highest = (52, -1022, 1024) if type_.bits == 64 else (23, -126, 128)
    rounded = nearest(number, fraction_bits, lowest)
    if abs(rounded) >= Fraction(2) ** highest:
        raise Refused("out_of_range", path)
    if item.lstrip("-").isdigit() and rounded != number:
        raise Refused("inexact_number", path)
    return -0.0 if rounded == 0 and item.startswith("-") else float(rounded)


def nearest(number: Fraction, fraction_bits: int, lowest: int) -> Fraction:
    """The multiple of the unit in the last place that lies nearest, of two the even one."""
    if number == 0:
        return number
    exponent = abs(number.numerator).bit_length() - number.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > abs(number)
    unit = Fraction(2) ** (max(exponent, lowest) - fraction_bits)
    return round(number / unit) * unit


def decimal_(type_: Decimal, item: Any, path: str) -> decimal.Decimal:
    scaled = exact(item, path) * 10**type_.scale
    if abs(scaled) >= 10**type_.precision:
        raise Refused("out_of_range", path)
    if scaled.denominator != 1:
        raise Refused("inexact_number", path)
    with decimal.localcontext() as context:
        context.prec = 60
        return decimal.Decimal(int(scaled)).scaleb(-type_.scale)


def timestamp(type_: Timestamp, item: Any, path: str) -> int:
    if type_.epoch:
        return instant(math.floor(exact(item, path) * UNITS[type_.epoch]), path)
    written = text(item, path)
    try:
        return instant(moment(written), path)
    except (ValueError, IndexError):
        raise Refused("invalid_timestamp", path) from None


def instant(microseconds: int, path: str) -> int:
    try:
        EPOCH + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        raise Refused("out_of_range", path) from None
    return microseconds


def moment(written: str) -> int:
    """Microseconds since 1970 of `yyyy-mm-ddThh:mm:ss[.f…](Z|±hh[:]mm)`, or ValueError."""
    if written[10] not in "Tt " or written[13] != ":" or written[16] != ":":
        raise ValueError
    hour, minute, second = number(written[11:13], 2), number(written[14:16], 2), number(written[17:19], 2)
    local = datetime.datetime.combine(day(written[:10]), datetime.time(hour, minute, second))
    rest, micros = written[19:], 0
    if rest.startswith("."):
        digits = rest[1:].rstrip("zZ") if rest[-1] in "zZ" else rest[1 : max(rest.rfind("+"), rest.rfind("-"))]
        rest = rest[1 + len(digits) :]
        number(digits, len(digits) or 1)
        micros = int((digits + "000000")[:6])
    since = (local - EPOCH) // datetime.timedelta(microseconds=1) + micros
    if rest in ("Z", "z"):
        return since
    sign = {"+": 1, "-": -1}.get(rest[0])
    ahead = rest[1:3] + rest[4:] if rest[3] == ":" else rest[1:]
    hours, minutes = divmod(number(ahead, 4), 100)
    if sign is None or hours > 23 or minutes > 59:
        raise ValueError
    return since - sign * (hours * 60 + minutes) * 60_000_000


def number(digits: str, length: int) -> int:
    if len(digits) != length or any(sign not in "0123456789" for sign in digits):
        raise ValueError
    return int(digits[:20])


def day(written: str) -> datetime.date:
    if len(written) != 10 or written[4] != "-" or written[7] != "-":
        raise ValueError
    return datetime.date(number(written[:4], 4), number(written[5:7], 2), number(written[8:], 2))


def date(_: Date, item: Any, path: str) -> int:
    written = text(item, path)
    try:
        return (day(written) - EPOCH.date()).days
    except ValueError:
        raise Refused("invalid_date", path) from None


def binary(_: Binary, item: Any, path: str) -> bytes:
    written = text(item, path)
    body = written[:-2] if written.endswith("==") else written[:-1] if written.endswith("=") else written
    alphabet = {sign: value for value, sign in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
    if len(written) % 4 or any(sign not in alphabet for sign in body):
        raise Refused("invalid_binary", path)
    bits = "".join(f"{alphabet[sign]:06b}" for sign in body)
    return bytes(int(bits[start : start + 8], 2) for start in range(0, len(bits) - 7, 8))


READERS: dict[type, Callable[..., Any]] = {
    String: lambda _, item, path: text(item, path),
    Boolean: boolean,
    Integer: integer,
    Float: float_,
    Decimal: decimal_,
    Date: date,
    Timestamp: timestamp,
    Binary: binary,
    Array: array,
    Map: map_,
    Struct: struct,
}
