"""The ledger as a history: puts in any order, replays and deaths at any write; each batch reads back as it was put last.

Operations: put a batch (a new one, or any earlier one again), or put it and die at the n-th write, before or after it.
Properties: 1. a batch whose put ended reads back as that put, whatever happened to others. 2. a batch whose put died reads
back as that put or as the one before it. 3. no batch reads back twice, and in order. 4. no bytes make the reader fail unnamed.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.ledger import Crash, DyingStorage, Fuse, entry
from penstock.ledger.book import LedgerReader, LedgerWriter
from penstock.ledger.entry import LedgerEntry
from penstock.ledger.layout import Layout
from penstock.storage import LocalStorage

SMALL = Layout(sizes=(1, 3, 9), kept=4)


@dataclass(frozen=True)
class Put:
    """`steps` back from the next new batch; the process dies at the write `dies_at`, if it gets there."""

    back: int
    dies_at: int | None
    after: bool


puts = st.builds(Put, st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, 5, 9, 14]), st.none() | st.integers(0, 9), st.booleans())


def read(folder: Path) -> list[LedgerEntry]:
    return [item for item in LedgerReader(LocalStorage(folder), SMALL).scan("g") if isinstance(item, LedgerEntry)]


@settings(max_examples=150, deadline=None)
@given(st.lists(puts, min_size=1, max_size=60))
def test_each_batch_reads_back_as_it_was_put_last(history: list[Put]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, written, following = Path(name), dict[int, LedgerEntry](), 0
        for attempt, put in enumerate(history):
            batch = max(following - put.back, 0)
            fresh, older = entry(batch, written_at=attempt + 1), written.get(batch)
            try:
                LedgerWriter(DyingStorage(folder, Fuse(put.dies_at, put.after)), SMALL).put(fresh)
                written[batch] = fresh
            except Crash:
                (held,) = [item for item in read(folder) if item.batch == batch] or [None]
                assert held in (fresh, older)
                if held is not None:
                    written[batch] = held
            following = max(following, batch + 1 if batch in written else 0)
            assert read(folder) == [written[key] for key in sorted(written)]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_bytes_make_the_reader_fail_unnamed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = LedgerWriter(LocalStorage(folder), SMALL)
        for batch in range(21):
            writer.put(entry(batch))
        path = data.draw(st.sampled_from(sorted(folder.rglob("*.json*"))))
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
        last = 0
        for item in LedgerReader(LocalStorage(folder), SMALL).scan("g"):
            assert item.batch >= last
            last = item.batch
        writer.put(entry(23))
