"""Spark's DDL text to the schema model: `id STRING NOT NULL, amount DECIMAL(12,2), tags ARRAY<STRING>`.

The part of Spark's language that JSON can fill; what lies outside is named with what to write instead. Words may be in any
case, names in backquotes, `COMMENT 'text'` is taken and dropped. After a fault reading goes on behind the next comma at the
same level, so that one look tells all that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from penstock.decode.model import (
    DEEPEST_SCHEMA,
    Array,
    Binary,
    Boolean,
    DataType,
    Date,
    Decimal,
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

T = TypeVar("T")

_TOKEN = re.compile(r"""\s*(?:(?P<quoted>`(?:[^`]|``)*`)|(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<word>\w+)|(?P<sign>\S)|(?P<end>$))""", re.DOTALL)

_PLAIN: dict[str, DataType] = {
    "STRING": String(),
    "BOOLEAN": Boolean(),
    "TINYINT": Integer(8),
    "BYTE": Integer(8),
    "SMALLINT": Integer(16),
    "SHORT": Integer(16),
    "INT": Integer(32),
    "INTEGER": Integer(32),
    "BIGINT": Integer(64),
    "LONG": Integer(64),
    "FLOAT": Float(32),
    "REAL": Float(32),
    "DOUBLE": Float(64),
    "DATE": Date(),
    "TIMESTAMP": Timestamp(),
    "TIMESTAMP_LTZ": Timestamp(),
    "BINARY": Binary(),
}
_OTHERWISE = {
    "TIMESTAMP_NTZ": "TIMESTAMP: an instant; JSON text must carry its offset",
    "CHAR": "STRING",
    "VARCHAR": "STRING",
    "INTERVAL": "BIGINT, with the unit in the field's name",
    "VARIANT": "STRING, or the fields it holds",
    "VOID": "leave the field out",
    "NULL": "leave the field out",
}
_KNOWN = "STRING, BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), DATE, TIMESTAMP, BINARY, ARRAY<…>, MAP<STRING, …> or STRUCT<…>"


def parse_ddl(text: str, *, path: str = "schema", file: str = "") -> Struct:
    """The schema that the text declares; a `SpecError` carries every fault with `path` and the line in the text."""
    reader = _Reader(text, path)
    schema = reader.columns()
    if reader.faults:
        raise SpecError(reader.faults, file=file)
    return schema


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int

    @property
    def upper(self) -> str:
        """The word in capitals; empty for anything else, so that a quoted `array` is never the type."""
        return self.text.upper() if self.kind == "word" else ""


class _Lost(Exception):
    """The column cannot be read any further; its fault is recorded."""


class _Reader:
    def __init__(self, text: str, path: str) -> None:
        self._text, self._path = text, path
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0
        self._found: list[tuple[int, Fault]] = []

    def columns(self) -> Struct:
        if self._token.kind == "end":
            self._fault("the schema declares no field", "give at least one: `name TYPE`")
            return Struct(())
        return Struct(self._fields(""))

    @property
    def faults(self) -> list[Fault]:
        """What was found so far, in the order of the text."""
        return [fault for _, fault in sorted(self._found, key=lambda found: found[0])]

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._token
        self._next += token.kind != "end"
        return token

    def _taken(self, *words: str) -> bool:
        """Whether the next tokens are these words or signs; if so they are behind us."""
        coming = self._tokens[self._next : self._next + len(words)]
        if [token.upper or token.text for token in coming if token.kind in ("word", "sign")] != list(words):
            return False
        self._next += len(words)
        return True

    def _fault(self, what: str, remedy: str, token: _Token | None = None) -> None:
        token = token or self._token
        if token.kind == "end" and self._found:
            return  # what is missing at the end is most likely a consequence
        line = self._text.count("\n", 0, token.at) + 1
        column = token.at - self._text.rfind("\n", 0, token.at)
        self._found.append((token.at, Fault(self._path, line, f"column {column}: {what}", remedy)))

    def _lost(self, what: str, remedy: str, token: _Token | None = None) -> NoReturn:
        self._fault(what, remedy, token)
        raise _Lost

    def _fields(self, closer: str) -> tuple[Field, ...]:
        """Fields up to the closing sign, which stays; up to the end of the text without one."""
        fields: list[Field] = []
        names: list[_Token] = []
        while True:
            name = self._token
            try:
                fields.append(self._field())
                names.append(name)
                if self._token.kind != "end" and self._token.text not in (",", closer):
                    self._lost(f"{self._token.text!r} does not belong here", "after a type come NOT NULL, COMMENT 'text', then a comma and the next field")
            except _Lost:
                self._skip(closer)
            if not self._taken(","):
                break
        for position, twin in twins(tuple(field.name for field in fields)):
            self._fault(f"the field {fields[position].name!r} is there twice, as {twin!r}", "columns differ in more than case: rename one", names[position])
        return tuple(fields)

    def _skip(self, closer: str) -> None:
        """Go on to the comma or closing sign of this level, or to the end."""
        level = 0
        while self._token.kind != "end":
            sign = self._token.text if self._token.kind == "sign" else ""
            if level == 0 and sign and sign in ("," + closer):
                return
            level = max(level + (sign in ("<", "(")) - (sign in (">", ")")), 0) if sign else level
            self._next += 1

    def _field(self) -> Field:
        token = self._take()
        if token.kind not in ("word", "quoted"):
            found = repr(token.text) if token.text else "the end"
            self._lost(f"expected a field's name, found {found}", "write `name TYPE`, an unusual name in backquotes", token)
        name = token.text[1:-1].replace("``", "`") if token.kind == "quoted" else token.text
        if wrong := name_fault(name):
            self._fault(*wrong, token)
        self._taken(":")
        type_ = self._type()
        nullable = not self._taken("NOT", "NULL")
        if self._taken("COMMENT") and self._take().kind != "text":
            self._lost("COMMENT wants a text", "put it in quotes: COMMENT 'what it means'", self._tokens[self._next - 1])
        return Field(name, type_, nullable)

    def _type(self) -> DataType:
        token = self._take()
        self._depth += 1
        try:
            if self._depth > DEEPEST_SCHEMA:
                self._lost(f"types are nested more than {DEEPEST_SCHEMA} deep", "declare the inner part as STRING", token)
            if token.upper in _PLAIN:
                return _PLAIN[token.upper]
            match token.upper:
                case "DECIMAL" | "DEC" | "NUMERIC":
                    return self._decimal(token)
                case "ARRAY":
                    return Array(self._bracketed(self._type))
                case "MAP":
                    return self._bracketed(self._map)
                case "STRUCT":
                    return Struct(self._bracketed(lambda: self._fields(">")))
            found = repr(token.text) if token.text else "the end"
            remedy = "a name with such a sign in it stands in backquotes" if token.kind == "sign" else f"one of {_KNOWN}"
            self._lost(f"expected a type, found {found}", _OTHERWISE.get(token.upper, remedy), token)
        finally:
            self._depth -= 1

    def _bracketed(self, inner: Callable[[], T]) -> T:
        if not self._taken("<"):
            self._lost("expected <", "ARRAY<type>, MAP<STRING, type>, STRUCT<name: type, …>")
        value = inner()
        if not self._taken(">"):
            self._lost("expected >", "close what was opened")
        return value

    def _map(self) -> Map:
        key = self._token
        if not isinstance(self._type(), String):
            self._fault("the keys of a JSON object are text", "MAP<STRING, type>", key)
        if not self._taken(","):
            self._lost("expected a comma", "MAP<STRING, type>")
        return Map(self._type())

    def _decimal(self, token: _Token) -> Decimal:
        if not self._taken("("):
            return Decimal()
        numbers = [self._digits()]
        if self._taken(","):
            numbers.append(self._digits())
        if not self._taken(")"):
            self._lost("expected )", "DECIMAL(precision, scale)")
        precision, scale = numbers[0], numbers[1] if len(numbers) > 1 else 0
        if not (1 <= precision <= 38 and scale <= precision):
            self._fault(f"DECIMAL({precision},{scale}) cannot be", "a precision of 1 to 38, a scale of 0 to the precision", token)
        return Decimal(precision, scale)

    def _digits(self) -> int:
        token = self._take()
        if not (token.kind == "word" and token.text.isascii() and token.text.isdigit() and len(token.text) < 4):
            self._lost("expected a number of digits", "DECIMAL(precision, scale)", token)
        return int(token.text)


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "end"
        yield _Token(kind, match[kind], match.start(kind))
        if kind == "end":
            return
