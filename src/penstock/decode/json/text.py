"""A block of JSON values as text: one buffer, a byte between each two values, and the values that no parser should meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.records import Values

DEEPEST = 256
"""Levels of nesting that a record may have. Parsers recurse, and where they give up depends on the interpreter and on who
calls; a limit of our own, far below theirs, gives the same verdict on every machine and in every replay."""

COMMA, NEWLINE, OPEN, CLOSE = b",\n[]"

_GROUP = 8
"""Values other than ASCII that are looked at together, where these are few or one of them is known to be bad."""

_STRIDE = 1 << 16
_QUOTE = ord('"')
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_UNSTRUCTURED = bytes(set(range(256)) - set(b'"[]{}'))


@dataclass(frozen=True, slots=True)
class Text:
    """The values that are not null, as `Values` lays them out: value *i* ends at `ends[i]`, before its separator."""

    data: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64] | None
    """Each value's number in the block; None where no value is null, and the numbers are 0, 1, 2, …"""

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def body(self) -> npt.NDArray[np.uint8]:
        """The bytes up to the end of the last value; the buffer may go on behind it."""
        return self.data[: int(self.ends[-1]) if len(self.ends) else 0]

    def before(self, index: int) -> int:
        """Where the byte in front of value `index` lies: the separator behind its neighbour, or the spare byte."""
        return int(self.ends[index - 1]) if index else 0

    def __getitem__(self, index: int) -> bytes:
        return self.data.data[self.before(index) + 1 : int(self.ends[index])].tobytes()

    def separate(self, separator: int) -> None:
        """Put `separator` behind each value and in front of the first."""
        self.data[self.ends] = separator
        self.data[0] = separator


def text_of(values: Values) -> Text:
    """The values of a block without its nulls, commas between them; the bytes are the block's own if it has none, else a copy."""
    data = values.data if values.data.flags.writeable else values.data.copy()
    if values.present is None or values.present.all():
        return _separated(Text(data, values.ends, None))
    absent = values.ends[~values.present]
    kept = np.ones(len(data), np.bool_)
    kept[absent] = False
    gone = np.cumsum(~values.present)
    return _separated(Text(data[kept], (values.ends - gone)[values.present], np.flatnonzero(values.present)))


def _separated(text: Text) -> Text:
    text.separate(COMMA)
    return text


def hostile(text: Text) -> Sequence[int]:
    """The values, ascending, that are not UTF-8 or nested too deep; the libraries would overlook or choke on them."""
    return sorted({*_not_utf8(text), *_too_deep(text)})


def _not_utf8(text: Text) -> list[int]:
    if not len(text) or int(text.body.max()) < 128:
        return []
    bounds = np.concatenate([[1], text.ends + 1])
    column = pa.Array.from_buffers(pa.large_string(), len(text), [None, pa.py_buffer(bounds), pa.py_buffer(text.data)])
    beyond_ascii = text.body >= 128
    if np.count_nonzero(beyond_ascii) > len(text) and _valid(column):
        return []
    mixed = np.unique(np.searchsorted(text.ends, np.flatnonzero(beyond_ascii))).tolist()
    groups = [mixed[first : first + _GROUP] for first in range(0, len(mixed), _GROUP)]
    bad = [group for group in groups if not _valid(column[group[0] : group[-1] + 1])]
    return [index for group in bad for index in group if not _valid(column[index : index + 1])]


def _valid(column: pa.Array) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _too_deep(text: Text) -> list[int]:
    """Values nested deeper than the limit; only those long enough, and with enough brackets, are looked at closely."""
    lengths = np.diff(text.ends, prepend=0)
    return [index for index in np.flatnonzero(lengths > 2 * DEEPEST).tolist() if too_deep(text[index])]


def too_deep(value: bytes) -> bool:
    """Whether objects and arrays lie in each other deeper than the limit; exact for JSON, a verdict of some kind for anything else."""
    if len(value) < 2 * DEEPEST or value.count(b"[") + value.count(b"{") <= DEEPEST:
        return False
    bare = value.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _UNSTRUCTURED).replace(b'""', b"")
    level = quotes = 0
    for start in range(0, len(bare), _STRIDE):
        signs = np.frombuffer(bare, np.uint8, min(_STRIDE, len(bare) - start), start)
        before = np.cumsum(signs == _QUOTE) + quotes
        levels = np.cumsum(np.where(before & 1, 0, _STEPS[signs])) + level
        if levels.max() > DEEPEST:
            return True
        level, quotes = int(levels[-1]), int(before[-1])
    return False
