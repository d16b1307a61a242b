"""Which values of a block are, beyond doubt, one JSON document each that fits the schema.

msgspec reads a run of values as one array `[v,v,…,v]` into typed rows. A run passes only if it gives as many rows as it
has values. That alone does not prove that each row is one value: `{},{}` makes up for a document that spans two values.
The column reader closes the gap (`columns`): it takes the same bytes with line ends for separators, and refuses a
comma between documents, the only way in which a run can hold more rows than values.

Runs are short, because the rows are objects made only to be dropped, and 256 of them stay in the processor's cache
(0.25 µs a record, against 0.46 with a whole block in one list). A run that fails names a place. What lies before the place
is read again as a run of its own and must pass by itself, the record at the place is left to the law, and the next run
begins behind it. Runs shrink where faults are dense, so that neither re-reading nor runs of one ever dominate.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isqrt
from operator import attrgetter
from typing import Any

import msgspec

from penstock.decode.json.text import CLOSE, COMMA, OPEN, Text
from penstock.decode.json.types import attribute, row_type
from penstock.decode.model import Struct

LONGEST = 256

_ENDINGS = b"} \t\r\n"
"""How an object ends."""

_BYTE = re.compile(r"\(byte (\d+)\)$")
_ELEMENT = re.compile(r" - at `\$\[(\d+)\][^`]*`$")


@dataclass(slots=True)
class Checked:
    """What the check made of a block: who passed, who is left to the law, and the objects that some columns are built of."""

    spans: list[tuple[int, int]] = field(default_factory=list)
    doubtful: list[int] = field(default_factory=list)
    kept: list[list[Any]] = field(default_factory=list)

    @property
    def passed(self) -> int:
        return sum(last - first for first, last in self.spans)

    def accept(self, first: int, last: int) -> None:
        if self.spans and self.spans[-1][1] == first:
            first = self.spans.pop()[0]
        self.spans.append((first, last))


class Check:
    """Sorts the values of a block into passed and doubtful; keeps the objects of the fields at the positions in `keep`."""

    def __init__(self, schema: Struct, *, raw: frozenset[int], keep: Sequence[int]) -> None:
        self._decode: Callable[[memoryview], list[Any]] = msgspec.json.Decoder(list[row_type(schema, raw)]).decode  # type: ignore[misc]
        self._kept = [attrgetter(attribute(position)) for position in keep]

    def __call__(self, text: Text, hostile: Sequence[int], *, longest: int = LONGEST) -> Checked:
        """Every value of `text`, commas between them, once and in order; the `hostile` ones meet no parser and are doubtful at once."""
        reading = _Reading(text, self._decode, self._kept, longest)
        first = 0
        for stop in hostile:
            reading.span(first, stop)
            reading.checked.doubtful.append(stop)
            first = stop + 1
        reading.span(first, len(text))
        return reading.checked


class _Reading:
    """One pass over one block."""

    def __init__(self, text: Text, decode: Callable[[memoryview], list[Any]], kept: list[attrgetter[Any]], longest: int) -> None:
        self._data, self._ends, self._decode = text.data.data, text.ends.data, decode
        self._longest = longest
        self.checked = Checked(kept=[[] for _ in kept])
        self._kept = list(zip(self.checked.kept, kept, strict=True))

    def span(self, first: int, until: int) -> None:
        """Check the values from `first` to before `until`."""
        length = self._longest
        while first < until:
            last = min(first + length, until)
            place = self._run(first, last)
            if place is None:
                first, length = last, min(length + (length >> 4) + 1, self._longest)
            elif last == first + 1:
                self.checked.doubtful.append(first)
                first = last
            elif place < last and (place == first or self._run(first, place) is None):
                self.checked.doubtful.append(place)
                first, length = place + 1, min(length, self._best(place))
            else:
                length = (place - first >> 2) + 1

    def _best(self, behind: int) -> int:
        """The length of run that costs least where one fault comes in so many records: each run costs about as much as
        reading five records, and a fault means to read half a run again."""
        return 3 * isqrt(behind // len(self.checked.doubtful)) + 1

    def _run(self, first: int, last: int) -> int | None:
        """None if the values from `first` to before `last` pass together, else where it failed, or `last` if nobody knows."""
        data, start, end = self._data, self._ends[first - 1] if first else 0, self._ends[last - 1]
        data[start], data[end] = OPEN, CLOSE
        try:
            rows = self._decode(data[start : end + 1])
        except RecursionError:
            return last  # documents left open by one value swallow the next, and so on: shorter runs will tell
        except (msgspec.DecodeError, ValueError) as error:
            return self._place(str(error), first, last)
        finally:
            data[start] = data[end] = COMMA
        if len(rows) != last - first:
            return last
        for column, getter in self._kept:
            column.extend(map(getter, rows))
        self.checked.accept(first, last)
        return None

    def _place(self, message: str, first: int, last: int) -> int:
        """The record that the message points at; only a hint, for a document may have begun in an earlier value."""
        place = last
        if found := _ELEMENT.search(message):
            place = min(first + int(found[1]), last)
        elif found := _BYTE.search(message):
            at = (self._ends[first - 1] if first else 0) + int(found[1])
            place = bisect_left(self._ends, at, first, last)
        if place > first and self._data[self._ends[place - 1] - 1] not in _ENDINGS:
            return place - 1  # the value before was cut off, and what comes next only shows it
        return place
