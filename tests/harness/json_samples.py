"""Schemas and JSON texts by chance: mostly what a producer would send, often nearly that, sometimes an attack.

Every draw comes from one `random.Random`, so that a seed is a sample. The texts are written sign by sign rather than dumped:
numbers in every spelling, escapes, repeated and unknown keys, blanks wherever they may stand.
"""

from __future__ import annotations

import base64
import json
from random import Random

from penstock.decode.model import EPOCH_UNITS, Array, Binary, Boolean, DataType, Date, Decimal, Field, Float, Integer, Map, String, Struct, Timestamp


def words(text: str) -> list[str]:
    return text.split()


NAMES = ["a", "b", "id", "A b", "ключ", "x.y", "`", "$", "f0", "-", "null", "日本", "[0]", "at", " - at `$[1]", "(byte 3)"]

NUMBERS = words(
    """
    0 -0 0.0 -0.0 0e5 -0E-5 1 -1 12 127 128 -128 -129 255 32767 32768 -32769 2147483647 2147483648 -2147483649 1.0 1e3 1E+3 1e-3 1.5 -2.25 0.1
    9007199254740991 9007199254740992 9007199254740993 -9007199254740993 9007199254740993.0 9007199254740994 18014398509481985 16777215 16777216 16777217
    16777217.0 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616
    10000000000000000000 99999999999999999999 184467440737095516150 1.7976931348623157e308 1.7976931348623159e308 1e308 1e309 1e400 -1e400 1e-323 5e-324
    2e-324 1e-400 4.9406564584124654e-324 2.2250738585072011e-308 2.2250738585072014e-308 3.4028234663852886e38 3.4028235677973366e38
    3.4028235677973367e38 1e39 1e38 1.401298464324817e-45 7.006492321624085e-46 7.006492321624086e-46 1.1754943508222875e-38 1.00000017881393432617187499
    1.00000017881393432617187500 1.00000017881393432617187501 1.00000005960464477539062500 1.00000005960464477539062501 8388609.5 1.255 1.25 1.250
    1.2500000000000000000000 12345678.90 123456789.01 99999999.99 99999999.994 100000000 0.005 0.004999999999999999999999999 123e-2 12300e-2 1.23e2
    1e99999999999999999999 0e99999999999999999999 -1e-99999999999999999999 9.999e22 1e22 1e23 8.5e22 123456789012345678901234567890
    0.000000000000000000000000000000000000000000001 3.141592653589793238462643383279502884197169399375105820974944 1700000000 1700000000123
    1700000000123456 1700000000123456789 -62135596800 -62135596801 253402300799 253402300800 253402300799.9999999 -1 -0.0000001 1e18
    7450580596923828125e-27 2.00000000000000011102230246251565404236316680908203125 2.00000000000000011102230246251565404236316680908203124
    """
)

TIMES = words(
    """
    2026-11-18T12:00:00Z 2026-11-18t12:00:00z 2026-11-18T12:00:00.5Z 2026-11-18T12:00:00.123456+01:00 2026-11-18T12:00:00.1234567Z
    2026-11-18T12:00:00.999999999-23:59 2026-11-18T12:00:00.12345678901234567890Z 1969-12-31T23:59:59.9999999Z 0001-01-01T00:00:00Z
    0001-01-01T00:00:00+00:01 0000-12-31T23:00:00-02:00 9999-12-31T23:59:59.999999Z 9999-12-31T23:59:59.9999999Z 9999-12-31T23:59:59-00:01
    2024-02-29T00:00:00Z 2023-02-29T00:00:00Z 2026-11-18T12:00:00 2026-11-18T24:00:00Z 2026-11-18T23:59:60Z 2026-11-18T12:60:00Z 2026-13-18T12:00:00Z
    2026-11-18T12:00Z 2026-11-18 2026-11-18T12:00:00.Z 2026-11-18T12:00:00,5Z 2026-11-18T12:00:00+0100 2026-11-18T12:00:00+01 2026-11-18T12:00:00+01:
    2026-11-18T12:00:00+24:00 2026-11-18T12:00:00+01:60 20261118T120000Z 2026-11-18T12:00:00-00:00 2026-11-18T12:00:00ZZ 2026-11-18T12:00:00.5+01:00Z
    2026-11-18T12:00:00UTC 2026-11-18T12:00:00Z[UTC] 2026-11-18T12:00:00Europe/Berlin +2026-11-18T12:00:00Z 2026-1-8T12:00:00Z 02026-11-18T12:00:00Z now
    2026-11-18T120000Z 1970-01-01T00:00:00.0000009Z 2026-11-18T12:00:00.123456789012Z
    """
)
TIMES += [
    "2026-11-18 12:00:00Z",
    "2026-11-18T12:00:00 Z",
    "2026-11-18T12:00:00 +01:00",
    " 2026-11-18T12:00:00Z",
    "",
    "2026-11-18T12:00:00\\u0000Z",
    "２026-11-18T12:00:00Z",
]
TIMES += ["2026-11-18T12:00:00.5\\u0000", "\\u00322026-11-18T12:00:00Z", "\\u0032026-11-18T12:00:00.25Z", "2026-11-18T12:00:0０Z", "2026-11-18T12:00:00.１Z"]

DATES = words(
    """
    2026-11-18 0001-01-01 9999-12-31 0000-01-01 2024-02-29 2023-02-29 2026-1-8 20261118 2026-11-18T00:00:00Z +2026-11-18 2026-11-1 10000-01-01 2026/11/18
    """
)
DATES += ["", "2026-11-18 ", "\\u0032026-11-18", "２026-11-1"]

TEXTS = [
    "",
    "x",
    "ab c",
    "ä",
    "日本",
    "😀",
    "\\n",
    "\\u00e4",
    "\\ud83d\\ude00",
    "\\\\",
    '\\"',
    "\\/",
    "null",
    "1",
    "true",
    "\\u0000",
    "},{",
    "]",
    "[",
    "\\t\\b\\f\\r",
]
BROKEN_TEXTS = ["\\ud800", "\\udc00", "\\ud83dx", "\\ud83d\\u0041", "\\x", "\\u12", "\n", "\x00", "\x1f", "\\", "\ud800"]
BASE64 = ["", "QQ==", "QUI=", "QUJD", "QR==", "QUJ=", "Q", "QQ=", "QQ", "Q===", "====", "QQ==QQ==", "Q-_=", "QUJD\\u0051UJD", "QU JD", "ä==="]
OTHERS = [
    "null",
    "true",
    "false",
    '""',
    '"1"',
    "[]",
    "{}",
    "[1]",
    '{"a":1}',
    "[[[]]]",
    '{"x":{"y":[null]}}',
    "NaN",
    "Infinity",
    "-Infinity",
    "nul",
    "tru",
    "+1",
    "01",
    "1.",
    ".5",
    "-",
    "0x1",
    "1e",
    "'a'",
    "undefined",
]

PIECES = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    "1",
    "null",
    '{"x":[1',
    "2]}",
    '{"x":[{}',
    "{}]}",
    "{},{}",
    "{}{}",
    '{"a":"x',
    'y"}',
    '"',
    "}],[{",
    "{}],[{}",
    "],[",
    '{"',
    '":1}',
]
PIECES += [
    '{"x":[',
    "]}",
    '{"x":[1',
    ",2]}",
    '{"x":{"y":1',
    "}}",
    "{}\n{}",
    "{} {}",
    '{"x":"',
    '"}',
    '{"x":"\\',
    '"}',
    "{},",
    ",{}",
    "\n",
    " ",
    "\ufeff{}",
    "{}\x00",
    "//",
    '{"a":1,}',
]


class Samples:
    """Draws from one chance."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)

    def schema(self, *, level: int = 0) -> Struct:
        names = self.chance.sample(NAMES, self.chance.randint(1, 3 if level else 5))
        unique = list({name.casefold(): name for name in names}.values())
        return Struct(tuple(Field(name, self.type(level + 1), self.chance.random() < 0.8) for name in unique), closed=self.chance.random() < 0.1)

    def type(self, level: int = 1) -> DataType:
        chance = self.chance
        plain: list[DataType] = [String(), Boolean(), Integer(chance.choice([8, 16, 32, 64])), Float(chance.choice([32, 64])), Date(), Timestamp(), Binary()]
        plain += [Decimal(chance.choice([1, 5, 10, 18, 38])), Decimal(10, 2), Decimal(38, 38), Decimal(20, 10), Timestamp(chance.choice(EPOCH_UNITS))]
        if level > 3 or chance.random() < 0.7:
            return chance.choice(plain)
        kind = chance.choice(["array", "map", "struct"])
        if kind == "struct":
            return self.schema(level=level)
        return (Array if kind == "array" else Map)(self.type(level + 1), chance.random() < 0.8)

    def record(self, schema: Struct, spoiled: float = 0.03) -> str:
        """An object by the schema; each value in it is of another kind with the chance `spoiled`."""
        return self.blank(self._object(schema, spoiled))

    def value(self, type_: DataType, spoiled: float) -> str:
        chance = self.chance
        if chance.random() < 0.08:
            return "null"
        if chance.random() < spoiled:
            return chance.choice([chance.choice(OTHERS), chance.choice(NUMBERS), '"' + chance.choice(TEXTS + BROKEN_TEXTS) + '"'])
        match type_:
            case String():
                return '"' + "".join(chance.choices(TEXTS, k=chance.randint(0, 3))) + '"'
            case Boolean():
                return chance.choice(["true", "false"])
            case Date():
                return f'"{self._mostly_first(DATES)}"'
            case Timestamp(None):
                return f'"{self._mostly_first(TIMES)}"'
            case Binary():
                return f'"{base64.b64encode(chance.randbytes(chance.randint(0, 5))).decode()}"' if chance.random() < 0.7 else f'"{chance.choice(BASE64)}"'
            case Array(element):
                return "[" + self.blank(",").join(self.blank(self.value(element, spoiled)) for _ in range(chance.randint(0, 3))) + "]"
            case Map(value):
                keys = [json.dumps(chance.choice(NAMES), ensure_ascii=chance.random() < 0.5) for _ in range(chance.randint(0, 3))]
                return "{" + ",".join(f"{key}{self.blank(':')}{self.value(value, spoiled)}" for key in keys) + "}"
            case Struct():
                return self._object(type_, spoiled)
        return self._number(type_)

    def _number(self, type_: DataType) -> str:
        chance = self.chance
        if chance.random() < 0.4:
            return chance.choice(NUMBERS)
        if isinstance(type_, Integer):
            return str(chance.randint(type_.lowest, type_.highest))
        if isinstance(type_, Decimal) and chance.random() < 0.7:
            whole = chance.randrange(10 ** chance.randint(0, type_.precision - type_.scale))
            return f"{chance.choice(['', '-'])}{whole}" + (f".{chance.randrange(10**type_.scale):0{type_.scale}d}" if type_.scale else "")
        if isinstance(type_, Timestamp) and chance.random() < 0.7:
            return str(chance.randint(-(10**17), 10**18) // 10 ** chance.randint(0, 18))
        digits = "".join(chance.choices("0123456789", k=chance.randint(1, 40)))
        whole, fraction = digits[: chance.randint(0, 20)].lstrip("0") or "0", digits[20:]
        exponent = chance.choice(["", "", f"e{chance.randint(-60, 60)}", f"E+{chance.randint(0, 330)}", f"e-{chance.randint(0, 350)}"])
        return chance.choice(["", "-"]) + whole + (f".{fraction}" if fraction else "") + exponent

    def _mostly_first(self, choices: list[str]) -> str:
        return choices[min(self.chance.randrange(len(choices)), self.chance.randrange(len(choices)))]

    def _object(self, schema: Struct, spoiled: float) -> str:
        chance = self.chance
        parts = [(field.name, self.value(field.type, spoiled)) for field in schema.fields if chance.random() < (0.85 if field.nullable else 0.99)]
        if chance.random() < 0.15:
            parts.append((chance.choice([*NAMES, "unknown"]), chance.choice([*OTHERS[:11], self.value(String(), 0), "[" * 20 + "]" * 20])))
        if parts and chance.random() < 0.1:
            parts.insert(chance.randrange(len(parts)), (chance.choice(parts)[0], chance.choice([*OTHERS[:11], *NUMBERS[:5]])))
        if chance.random() < 0.3:
            chance.shuffle(parts)
        return "{" + ",".join(f"{self.blank(self._key(name))}:{self.blank(value)}" for name, value in parts) + "}"

    def _key(self, name: str) -> str:
        if self.chance.random() < 0.05:
            return '"' + "".join(f"\\u{ord(sign):04x}" for sign in name) + '"'
        return json.dumps(name, ensure_ascii=self.chance.random() < 0.5)

    def blank(self, text: str) -> str:
        return self.chance.choice([" ", "\n", "\r\n\t", "  "]) + text if self.chance.random() < 0.05 else text

    def mutated(self, value: bytes) -> bytes:
        """The value after one accident: cut, doubled, a sign lost, changed or put in."""
        chance = self.chance
        at, until = sorted(chance.randint(0, len(value)) for _ in range(2))
        piece = chance.choice(PIECES + BROKEN_TEXTS[:-1]).encode()
        return chance.choice(
            [
                value[:at],
                value[at:],
                value + value,
                value + chance.choice([b",", b" ", b"\n", b"],["]) + value,
                value[:at] + value[until:],
                value[:at] + piece + value[at:],
                value[:at] + bytes([chance.randrange(256)]) + value[at + 1 :],
                value[:at] + value[at : at + 1] * 2 + value[at + 1 :],
            ]
        )

    def any_record(self, schema: Struct) -> bytes:
        """Good, spoiled, broken by accident or a piece of an attack."""
        chance = self.chance
        kind = chance.random()
        if kind < 0.07:
            return "".join(chance.choices(PIECES, k=chance.randint(0, 3))).encode()
        value = self.record(schema, 0.0 if kind < 0.5 else 0.06).encode("utf-8", "surrogatepass")
        return self.mutated(value) if kind > 0.9 else value
