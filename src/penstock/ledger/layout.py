"""Where the entries of a generation lie: fresh ones alone, older ones in segments of a hundred, then of ten thousand.

    <generation>/000000010299.json                                     one entry, one line
    <generation>/by-100/000000010000-000000010099.json.gz              up to a hundred lines
    <generation>/by-10000/000000000000-000000009999.json.gz            up to ten thousand lines

Of two lines for one batch the one in the smaller file is newer and counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.storage import Storage

_NAME = re.compile(r"(\d{12})(?:-\d{12})?\.json(?:\.gz)?")


@dataclass(frozen=True, slots=True)
class Layout:
    """How many batches a file of each level spans, and how many of the latest batches lie alone in any case.

    Spark can replay what it keeps, which are 100 batches; the rest of `kept` is margin.
    """

    sizes: tuple[int, ...] = (1, 100, 10_000)
    kept: int = 200

    @property
    def folded_every(self) -> int:
        return self.sizes[1]


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """One file of the ledger: the entries of the batches `first` to `last`, as far as they are there."""

    generation: str
    size: int
    window: int

    @property
    def is_single(self) -> bool:
        return self.size == 1

    @property
    def first(self) -> int:
        return self.window * self.size

    @property
    def last(self) -> int:
        return self.first + self.size - 1

    @property
    def name(self) -> str:
        """The file's name below the ledger's folder."""
        folder = _folder(self.generation, self.size)
        return f"{folder}/{self.first:012d}.json" if self.is_single else f"{folder}/{self.first:012d}-{self.last:012d}.json.gz"


def files(storage: Storage, generation: str, size: int) -> Iterator[LedgerFile]:
    """The files of one level, in the order of their batches; what else lies there is no concern of ours."""
    for name in storage.names(_folder(generation, size)):
        if found := _NAME.fullmatch(name):
            file = LedgerFile(generation, size, int(found[1]) // size)
            if file.name.endswith(f"/{name}"):
                yield file


def _folder(generation: str, size: int) -> str:
    return generation if size == 1 else f"{generation}/by-{size}"
