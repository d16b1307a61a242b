"""The law of single values: from the text of one JSON value that is not null to its exact value, or `Refused`.

Every number is judged by its digits, never by a binary approximation of it, and in time linear in its length.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import re
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from typing_extensions import assert_never

from penstock.decode.faults import ErrorClass
from penstock.decode.model import Binary, Boolean, Date, Decimal, EpochUnit, Float, Integer, String, Timestamp

Scalar = String | Boolean | Integer | Float | Decimal | Date | Timestamp | Binary

FIRST_MICROSECOND = -62_135_596_800_000_000
LAST_MICROSECOND = 253_402_300_799_999_999
"""0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999Z: what Spark, Delta and Iceberg agree on."""

MICROSECOND_DIGITS: dict[EpochUnit, int] = {"seconds": 6, "milliseconds": 3, "microseconds": 0, "nanoseconds": -3}
"""By how many digits the point moves from the unit to microseconds."""

_FOUND = {b'"': "a string", b"{": "an object", b"[": "an array", b"t": "a boolean", b"f": "a boolean", b"n": "null"}
_NUMBER = re.compile(rb"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?)(\d+))?")
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):?(\d\d))", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)
_FRACTIONAL = "found a number with a fraction or an exponent"
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_text = msgspec.json.Decoder(str).decode


class Refused(Exception):
    """Carries a fault from where it is found to the top of the law; it never leaves the decoder."""

    def __init__(self, error_class: ErrorClass, reason: str, path: str = "") -> None:
        super().__init__(error_class)
        self.error_class, self.reason, self.path = error_class, reason, path

    def under(self, step: str) -> Refused:
        """The same fault, seen from one level further out; a step is `.name`, or `[…]` for a part without a name."""
        self.path = step + self.path
        return self


def found(text: bytes) -> str:
    """What kind of value the text is, for reasons: "a string", "a number", …"""
    return _FOUND.get(text[:1], "a number")


def mismatch(expected: str, text: bytes) -> Refused:
    return Refused(ErrorClass.TYPE_MISMATCH, f"expected {expected}, found {found(text)}")


def scalar_law(type_: Scalar) -> Callable[[bytes], Any]:  # noqa: PLR0911 - a line a type
    """The law of a type without parts."""
    match type_:
        case String():
            return lambda text: _string(text, "STRING")
        case Boolean():
            return _boolean
        case Integer():
            return lambda text: _integer(text, type_)
        case Float():
            return lambda text: _float(text, type_)
        case Decimal():
            return lambda text: _decimal(text, type_)
        case Date():
            return _date
        case Timestamp(epoch):
            return _timestamp if epoch is None else lambda text: _epoch(text, epoch)
        case Binary():
            return _binary
        case _:
            assert_never(type_)


def _string(text: bytes, expected: str) -> str:
    if not text.startswith(b'"'):
        raise mismatch(expected, text)
    return _text(text)


def _boolean(text: bytes) -> bool:
    if text not in (b"true", b"false"):
        raise mismatch("BOOLEAN", text)
    return text == b"true"


def _integer(text: bytes, type_: Integer) -> int:
    """Digits only: `1.0` and `1e3` are numbers of another type, whatever their value."""
    digits = text.removeprefix(b"-")
    if not digits.isdigit():
        raise mismatch(str(type_), text) if found(text) != "a number" else Refused(ErrorClass.TYPE_MISMATCH, f"expected {type_}, {_FRACTIONAL}")
    if len(digits) > 19 or not type_.lowest <= (value := int(text)) <= type_.highest:
        raise Refused(ErrorClass.OUT_OF_RANGE, f"outside the range of {type_}")
    return value


def _float(text: bytes, type_: Float) -> float:
    """The nearest value of the type; for a whole number without point and exponent, which means itself, only the same."""
    _, digits, fraction, _, exponent = _number(text, str(type_))
    value = float(text) if type_.bits == 64 else _nearest_single(text)
    if math.isinf(value):
        raise Refused(ErrorClass.OUT_OF_RANGE, f"outside the range of {type_}")
    if fraction is None and exponent is None and str(abs(int(value))).encode() != digits:
        raise Refused(ErrorClass.INEXACT_NUMBER, f"the integer would lose digits in {type_}")
    return value


def _nearest_single(text: bytes) -> float:
    """The 32-bit value nearest to the literal itself: rounding by way of 64 bits would go wrong on their ties."""
    double = float(text)
    with np.errstate(over="ignore"):
        single = np.float32(double)
    if float(single) == double:  # as floats: numpy would compare in 32 bits
        return float(single)
    other = np.nextafter(single, np.float32(math.copysign(math.inf, double - float(single))))
    below, above = sorted((single, other))
    if _edge(below) + _edge(above) == 2 * double:
        literal, middle = decimal.Decimal(text.decode()), decimal.Decimal(double)
        if literal != middle:
            return float(above if literal > middle else below)
    return float(single)


def _edge(single: np.float32) -> float:
    """The value, or for an infinity the number that would come next: beyond half-way to it lies what overflows."""
    return float(single) if np.isfinite(single) else math.copysign(2.0**128, float(single))


def _decimal(text: bytes, type_: Decimal) -> decimal.Decimal:
    shifted = _shifted(_number(text, str(type_)), type_.scale, type_.precision)
    if shifted is None:
        raise Refused(ErrorClass.OUT_OF_RANGE, f"outside the range of {type_}")
    value, exact = shifted
    if not exact:
        raise Refused(ErrorClass.INEXACT_NUMBER, f"the number has more digits than {type_} holds")
    return decimal.Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -type_.scale))


def _epoch(text: bytes, unit: EpochUnit) -> int:
    shifted = _shifted(_number(text, f"a number of {unit} since 1970"), MICROSECOND_DIGITS[unit], 18)
    return _instant(None if shifted is None else shifted[0])


def _timestamp(text: bytes) -> int:
    match = _TIMESTAMP.fullmatch(_string(text, "TIMESTAMP text"))
    if not match:
        raise Refused(ErrorClass.INVALID_TIMESTAMP, "no RFC 3339 timestamp with an offset")
    date, hour, minute, second, fraction, sign, offset_hours, offset_minutes = match.groups()
    hours, minutes, seconds = int(hour), int(minute), int(second)
    ahead = int(offset_hours or 0), int(offset_minutes or 0)
    if hours > 23 or minutes > 59 or seconds > 59 or ahead > (23, 59) or ahead[1] > 59:
        raise Refused(ErrorClass.INVALID_TIMESTAMP, "no RFC 3339 timestamp with an offset")
    offset = (ahead[0] * 60 + ahead[1]) * (-1 if sign == "-" else 1)
    whole = ((_days(date, ErrorClass.INVALID_TIMESTAMP) * 24 + hours) * 60 + minutes - offset) * 60 + seconds
    return _instant(whole * 1_000_000 + int((fraction or "")[:6].ljust(6, "0")))


def _instant(microseconds: int | None) -> int:
    if microseconds is None or not FIRST_MICROSECOND <= microseconds <= LAST_MICROSECOND:
        raise Refused(ErrorClass.OUT_OF_RANGE, "outside the years 1 to 9999 of TIMESTAMP")
    return microseconds


def _date(text: bytes) -> int:
    date = _string(text, "DATE text")
    if not _DATE.fullmatch(date):
        raise Refused(ErrorClass.INVALID_DATE, "no ISO 8601 date")
    return _days(date, ErrorClass.INVALID_DATE)


def _days(date: str, error_class: ErrorClass) -> int:
    try:
        return datetime.date(int(date[:4]), int(date[5:7]), int(date[8:])).toordinal() - _EPOCH_DAY
    except ValueError:
        raise Refused(error_class, "no day of the calendar") from None


def _binary(text: bytes) -> bytes:
    encoded = _string(text, "base64 text")
    if len(encoded) % 4 or not _BASE64.fullmatch(encoded):
        raise Refused(ErrorClass.INVALID_BINARY, "no base64")
    return base64.b64decode(encoded)


_Number = tuple[bytes, bytes, bytes | None, bytes | None, bytes | None]


def _number(text: bytes, expected: str) -> _Number:
    """Sign, digits, digits behind the point, sign of the exponent, exponent."""
    match = _NUMBER.fullmatch(text)
    if not match:
        raise mismatch(expected, text)
    sign, whole, fraction, exponent_sign, exponent = match.groups()
    return sign, whole, fraction, exponent_sign, exponent


def _shifted(number: _Number, places: int, most_digits: int) -> tuple[int, bool] | None:
    """The number times 10^places, rounded down, and whether that was exact; None if it has more than `most_digits`."""
    sign, whole, fraction, exponent_sign, exponent = number
    digits = (whole + (fraction or b"")).lstrip(b"0")
    if not digits:
        return 0, True
    trailing = len(digits)
    digits = digits.rstrip(b"0")
    shift = places - len(fraction or b"") + trailing - len(digits) + _exponent(exponent_sign, exponent)
    if len(digits) + shift > most_digits:
        return None
    if shift >= 0:
        value = int(digits) * 10**shift
        return (-value if sign else value), True
    value = int(digits[:shift] or b"0")
    return (-value - 1 if sign else value), False


def _exponent(sign: bytes | None, digits: bytes | None) -> int:
    """The exponent, held to ±10⁹: no value has so many digits that a larger one could matter."""
    significant = (digits or b"").lstrip(b"0")
    magnitude = int(significant or b"0") if len(significant) < 10 else 10**9
    return -magnitude if sign == b"-" else magnitude
