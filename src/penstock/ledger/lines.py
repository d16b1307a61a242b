"""Reads the files of the ledger as one stream of lines, in the order of their batches, with what cannot be read in its place.

A file is read once, from front to back, and at most one file of each level is open.
"""

from __future__ import annotations

import gzip
import heapq
import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import IO

import msgspec

from penstock.ledger.layout import LedgerFile
from penstock.storage import Storage, unreachable


class _Key(msgspec.Struct):
    generation: str
    batch: int


_decoder = msgspec.json.Decoder(_Key)


@dataclass(frozen=True, slots=True)
class Line:
    """The bytes of an entry, which end with the only newline in them. Whose entry it is has been looked at, the rest has not."""

    batch: int
    raw: bytes
    where: str

    @property
    def last(self) -> int:
        return self.batch


@dataclass(frozen=True, slots=True)
class Damage:
    """What does not read: the batches `batch` to `last`, where they should be, and what is wrong there."""

    batch: int
    last: int
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Gone(Exception):
    """A file that was listed is not there any more: the writer has folded it meanwhile."""

    def __init__(self, file: LedgerFile) -> None:
        super().__init__(file.name)
        self.file = file


class _Unread(Exception):
    """What is wrong with one line."""


def lines(storage: Storage, found: Sequence[LedgerFile], sizes: Sequence[int]) -> Iterator[Line | Damage]:
    """What these files hold, one item a batch: the line of the smaller file counts. `sizes` are theirs, from the smallest on."""
    if len(sizes) == 1:
        for file in found:
            yield from read(storage, file)
        return
    size = sizes[-1]
    for _, inside in itertools.groupby(sorted(found, key=attrgetter("first")), key=lambda file: file.first // size):
        group = list(inside)
        newer = lines(storage, [file for file in group if file.size < size], sizes[:-1])
        older = itertools.chain.from_iterable(read(storage, file) for file in group if file.size == size)
        for _, same in itertools.groupby(heapq.merge(newer, older, key=attrgetter("batch")), key=attrgetter("batch")):
            yield next(same)  # the merge is stable: of equals the newer one comes first


def read(storage: Storage, file: LedgerFile) -> Iterator[Line | Damage]:
    """What one file holds; raises `Gone` where it is not there."""
    content = storage.open(file.name)
    if content is None:
        raise Gone(file)
    try:
        with content:
            yield from _single(content, file) if file.is_single else _segment(content, file)
    except OSError as error:
        raise unreachable(Path(storage.uri, file.name), error) from error


def _single(content: IO[bytes], file: LedgerFile) -> Iterator[Line | Damage]:
    try:
        yield _line(content.read(), file)
    except _Unread as error:
        yield Damage(file.first, file.last, file.name, f"it {error}")


def _segment(content: IO[bytes], file: LedgerFile) -> Iterator[Line | Damage]:
    """Lines until the first that does not read: behind it no line can be trusted to be where it seems."""
    due = file.first
    try:
        for raw in gzip.GzipFile(fileobj=content):
            line = _line(raw, file)
            if line.batch < due:
                raise _Unread(f"has batch {line.batch} out of order")
            due = line.batch + 1
            yield line
        if due == file.first:
            raise _Unread("is empty")
    except (gzip.BadGzipFile, zlib.error, EOFError):
        yield _damage(file, due, "cannot be unpacked")
    except _Unread as error:
        yield _damage(file, due, str(error))


def _damage(file: LedgerFile, due: int, what: str) -> Damage:
    """The rest of a segment; behind its last batch there may be rubbish too."""
    return Damage(min(due, file.last), file.last, file.name, f"from batch {due} on it {what}" if due > file.first else f"it {what}")


def _line(raw: bytes, file: LedgerFile) -> Line:
    if not raw.strip():
        raise _Unread("is empty")
    try:
        key = _decoder.decode(raw)
        if raw.find(b"\n") != len(raw) - 1:  # laid out by hand
            raw = msgspec.json.format(raw, indent=-1) + b"\n"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _Unread("does not parse") from None
    if key.generation != file.generation or not file.first <= key.batch <= file.last:
        raise _Unread(f"holds batch {key.batch} of generation {key.generation}")
    return Line(key.batch, raw, file.name)
