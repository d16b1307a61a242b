"""The ledger's two doors: the writer, which `run` alone holds, and the reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from penstock.errors import Fatal
from penstock.ledger.entry import LedgerEntry
from penstock.ledger.fold import fold
from penstock.ledger.layout import Layout, LedgerFile, files
from penstock.ledger.lines import Damage, Gone, Line, lines
from penstock.storage import Storage
from penstock.values import ranges_digest

_LAYOUT = Layout()
_encoder, _decoder = msgspec.json.Encoder(), msgspec.json.Decoder(LedgerEntry)


class LedgerWriter:
    """Writes entries; `run` alone holds one."""

    def __init__(self, storage: Storage, layout: Layout = _LAYOUT) -> None:
        self._storage, self._layout = storage, layout

    def put(self, entry: LedgerEntry) -> None:
        """Write the batch's entry, or the same one again after a replay: one file, and at every hundredth batch a fold."""
        self._storage.replace(_single(entry).name, _encoder.encode(entry) + b"\n")
        done = entry.batch + 1
        if done % self._layout.folded_every == 0:
            fold(self._storage, entry.generation, self._layout.sizes, before=done - self._layout.kept)


class LedgerReader:
    """Reads entries, also while a pipeline writes them; `observe` and `operate` hold one."""

    def __init__(self, storage: Storage, layout: Layout = _LAYOUT) -> None:
        self._storage, self._layout = storage, layout

    def generations(self) -> tuple[str, ...]:
        """Every generation that wrote an entry."""
        return tuple(self._storage.names())

    def last(self, generation: str) -> LedgerEntry | None:
        """The entry of the latest batch; it alone is read, however long the history is. None where there is none."""
        newest = max(self._files(generation), key=lambda file: file.last, default=None)
        latest = deque(self.entries(generation, since=newest.first) if newest else (), maxlen=1)
        return latest[0] if latest else None

    def entries(self, generation: str, since: int = 0) -> Iterator[LedgerEntry]:
        """The entries from batch `since` on, in order; raises `Fatal` at the first that is missing or does not read."""
        for item in self.scan(generation, since):
            if isinstance(item, Damage):
                raise Fatal(
                    f"the ledger is damaged: {item}",
                    code="ledger_corrupt",
                    where=self._storage.uri,
                    next_step="restore it from a backup; `penstock audit` names everything that is damaged or missing",
                )
            yield item

    def scan(self, generation: str, since: int = 0) -> Iterator[LedgerEntry | Damage]:
        """The entries from batch `since` on, in order, and in its place whatever is missing or does not read."""
        due, folded = since, set[LedgerFile]()
        while True:
            try:
                for item in self._scan_once(generation, due, folded):
                    due = (item.last if isinstance(item, Damage) else item.batch) + 1
                    yield item
                return
            except Gone as gone:  # its lines are in a larger file by now
                folded.add(gone.file)

    def _scan_once(self, generation: str, since: int, folded: set[LedgerFile]) -> Iterator[LedgerEntry | Damage]:
        found = [file for file in self._files(generation) if file.last >= since and file not in folded]
        due = since
        for item in lines(self._storage, found, self._layout.sizes):
            if item.last < since:
                continue
            if item.batch > due:
                yield _missing(generation, due, item.batch - 1)
            due = max(due, item.last + 1)
            yield item if isinstance(item, Damage) else _entry(item)

    def _files(self, generation: str) -> Iterator[LedgerFile]:
        """The small files first: what the writer folds while we list is then seen twice, not missed."""
        return (file for size in self._layout.sizes for file in files(self._storage, generation, size))


def _single(entry: LedgerEntry) -> LedgerFile:
    return LedgerFile(entry.generation, 1, entry.batch)


def _missing(generation: str, first: int, last: int) -> Damage:
    there_is_none = f"there is no entry of batch {first}" if first == last else f"there are no entries of the batches {first} to {last}"
    return Damage(first, last, generation, there_is_none)


def _entry(line: Line) -> LedgerEntry | Damage:
    """The entry of a line, if it is one and its ranges are those that its digest was made of."""
    try:
        entry = _decoder.decode(line.raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Damage(line.batch, line.last, line.where, f"the entry of batch {line.batch} does not parse")
    if ranges_digest(entry.ranges, entry.revision) != entry.digest:
        return Damage(line.batch, line.last, line.where, f"the ranges of batch {line.batch} are not those that it was written with")
    return entry
