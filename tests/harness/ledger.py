"""Made-up ledger entries, and a storage that dies at a chosen write."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path

from penstock.ledger.entry import LedgerEntry, SinkEntry
from penstock.storage import LocalStorage
from penstock.values import BatchCounts, OffsetRange, ranges_digest


def entry(batch: int, *, generation: str = "g", written_at: int = 0, partitions: int = 1) -> LedgerEntry:
    """A batch of ten records a partition, all of them rows; `written_at` tells one attempt from the next."""
    ranges = tuple(OffsetRange("numbers", "id", partition, batch * 10, batch * 10 + 10) for partition in range(partitions))
    read = 10 * partitions
    return LedgerEntry(
        format=1,
        generation=generation,
        batch=batch,
        ranges=ranges,
        digest=ranges_digest(ranges),
        counts=BatchCounts(read, read, 0, 0),
        absent=0,
        sinks={"sink": SinkEntry(f"penstock:p:f:s:{generation}:{batch}", "delta lake/numbers", batch + 1, True)},
        reader="spark",
        seconds={"ask": 0.01, "work": 0.2, "commit": 0.02},
        written_at_millis=written_at,
    )


class Crash(Exception):
    """The process is gone."""


@dataclasses.dataclass
class Fuse:
    """Burns down by one with every write and every removal: at zero the process dies before it, or right after it."""

    steps: int | None = None
    after: bool = False

    def burn(self, effect: Callable[[], None]) -> None:
        if self.steps is None:
            return effect()
        self.steps -= 1
        if self.steps >= 0:
            return effect()
        self.steps = None
        if self.after:
            effect()
        raise Crash


class DyingStorage(LocalStorage):
    """A real folder whose user dies when the fuse has burnt down."""

    def __init__(self, root: Path, fuse: Fuse) -> None:
        super().__init__(root)
        self._fuse = fuse

    def replace(self, name: str, content: bytes) -> None:
        self._fuse.burn(lambda: super(DyingStorage, self).replace(name, content))

    def archive(self, name: str, parts: Iterable[bytes]) -> None:
        self._fuse.burn(lambda: super(DyingStorage, self).archive(name, parts))

    def delete(self, name: str) -> None:
        self._fuse.burn(lambda: super(DyingStorage, self).delete(name))
