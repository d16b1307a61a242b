"""YAML text to plain values with their lines: safe scalars only, bounded in size, depth and aliases, no key twice.

Read by YAML 1.2: `yes` and dates are text. The events of the parser are walked here, and not composed by the library,
so that a hostile file meets the limits before it is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent, SequenceStartEvent

from penstock.spec.document import Block, Finding, Path, Value

MAX_BYTES = 1 << 20
MAX_DEPTH = 20  # the deepest block that is meant has five levels
MAX_VALUES = 10_000  # with every alias counted as often as it is used

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]{1,30}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?")


class Unreadable(Exception):
    """The text is not YAML that may be read; `line` counts from 1."""

    def __init__(self, line: int | None, what: str, remedy: str) -> None:
        super().__init__(what)
        self.line, self.what, self.remedy = line, what, remedy


def read_text(path: FilePath) -> str:
    """The text of a file that the user named; `Unreadable` says what keeps it from being read."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Unreadable(None, "there is no such file", f"looked for {path.absolute()}") from None
    except IsADirectoryError:
        raise Unreadable(None, "this is a directory", "name a file in it") from None
    except PermissionError:
        raise Unreadable(None, "the file may not be read", f"give this user the right to read it: chmod u+r {path}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not valid"
        raise Unreadable(None, f"the file cannot be read: {reason.lower()}", "check the path and the disk") from None
    if len(content) > MAX_BYTES:
        raise Unreadable(None, "the file is larger than 1 MiB", "a pipeline's file has a few dozen lines: check the name")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unreadable(line, "the file is not UTF-8 text", "save it as UTF-8") from None


def plain(text: str) -> bool | int | float | str | None:
    """What unquoted text means in YAML 1.2: null, true, false, a decimal number, or itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return text


def parse(text: str) -> tuple[Block, dict[Path, int], list[Finding]]:
    """The values of the one document in `text`, their lines, and the keys that stand twice; `Unreadable` if it is no YAML block."""
    try:
        return _parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = f"{error.problem or error.context}".rstrip(".")
        raise Unreadable(mark.line + 1 if mark else None, f"this is not YAML: {what}", _remedy(what)) from None
    except YAMLError as error:
        what = str(error).splitlines()[0] if str(error) else "it cannot be read"
        raise Unreadable(None, f"this is not YAML: {what}", "save the file as plain UTF-8 text") from None


def _parse(text: str) -> tuple[Block, dict[Path, int], list[Finding]]:
    events: Iterator[Any] = iter(YAML(typ="safe", pure=True).parse(text))
    reading = _Reading(events)
    first = reading.next_content()
    if first is None:
        raise Unreadable(None, "the file is empty", "start with `name: payments`")
    values = reading.value(first, ())
    if not isinstance(values, dict):
        raise Unreadable(reading.line_of(first), "the file does not hold `key: value` lines", "start with `name: payments`")
    extra = reading.next_content()
    if extra is not None:
        raise Unreadable(reading.line_of(extra), "a second document starts here", "keep one pipeline in a file: remove the `---`")
    return values, reading.lines, reading.twice


class _Reading:
    """One pass over the parser's events."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, tuple[Value, int]] = {}
        self._values = 0
        self.lines: dict[Path, int] = {}
        self.twice: list[Finding] = []

    def line_of(self, event: Any) -> int:
        return int(event.start_mark.line) + 1

    def next_content(self) -> Any:
        """The next event that begins a value, or None at the end of the text."""
        content = (AliasEvent, ScalarEvent, SequenceStartEvent, MappingStartEvent)
        return next((event for event in self._events if isinstance(event, content)), None)

    def value(self, event: Any, path: Path) -> Value:
        """The value that begins with this event."""
        line = self.line_of(event)
        self._count(1, line)
        if len(path) > MAX_DEPTH:
            raise Unreadable(line, f"blocks are nested deeper than {MAX_DEPTH} levels", "a pipeline needs five at most")
        self.lines.setdefault(path, line)
        if isinstance(event, AliasEvent):
            return self._alias(event, line)
        if event.tag is not None and event.tag != "!":
            raise Unreadable(line, f"the tag {event.tag!r} is not accepted", "remove it: values are plain text, numbers, lists and blocks")
        before = self._values
        value = self._built(event, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._values - before + 1
        return value

    def _built(self, event: Any, path: Path) -> Value:
        if isinstance(event, ScalarEvent):
            return plain(event.value) if event.implicit[0] else str(event.value)
        if isinstance(event, SequenceStartEvent):
            return self._list(path)
        return self._block(path)

    def _alias(self, event: Any, line: int) -> Value:
        if event.anchor not in self._anchors:
            raise Unreadable(line, f"`*{event.anchor}` refers to nothing above it", f"mark the value with `&{event.anchor}` before it is used")
        value, count = self._anchors[event.anchor]
        self._count(count, line)
        return value

    def _count(self, more: int, line: int) -> None:
        self._values += more
        if self._values > MAX_VALUES:
            raise Unreadable(line, f"the file holds more than {MAX_VALUES:,} values", "a pipeline needs a few dozen: look at its aliases (`*name`)")

    def _list(self, path: Path) -> Value:
        items: list[Value] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            items.append(self.value(event, (*path, len(items))))
        return tuple(items)

    def _block(self, path: Path) -> Value:
        block: Block = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            key = self._key(event)
            line, here = self.line_of(event), (*path, key)
            if key in block:
                self.twice.append(Finding(here, f"`{key}` stands here and again on line {line}", "keep one of the two"))
                self.value(next(self._events), here)
                continue
            self.lines[here] = line
            block[key] = self.value(next(self._events), here)
        return block

    def _key(self, event: Any) -> str | int:
        if not isinstance(event, ScalarEvent):
            raise Unreadable(self.line_of(event), "a key must be plain text", "write `key: value`")
        self._count(1, self.line_of(event))
        key = plain(event.value) if event.implicit[0] else str(event.value)
        return key if isinstance(key, int) and not isinstance(key, bool) else str(event.value)


def _remedy(what: str) -> str:
    if "mapping values are not allowed" in what:
        return "a text with `: ` in it needs quotes, and every key of a block the same indentation"
    if "\\t" in what or "tab" in what:
        return "indent with spaces, not with tabs"
    if "expected ',' or" in what or "expected <block end>" in what:
        return "look for a missing comma, bracket or quote, or an indentation that changes, on this line and the one before"
    return "look for a missing quote, bracket or colon on this line and the one before"
