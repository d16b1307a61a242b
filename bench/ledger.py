"""What the ledger costs a batch: at the beginning of a history and far into it, with few partitions and with many.

    python bench/ledger.py        about two minutes; prints a Markdown table

Written on the local disk, in a temporary folder. "a batch" is the mean over a thousand batches, folding included; "a fold"
is the longest single batch, which wrote its entry and folded a hundred; "a large fold" joined a hundred segments besides.
The last column is how long `LedgerReader.last` takes.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from penstock.ledger.book import LedgerReader, LedgerWriter
from penstock.ledger.entry import LedgerEntry, SinkEntry
from penstock.storage import LocalStorage
from penstock.values import BatchCounts, OffsetRange, ranges_digest

GENERATION = "0f9b1d6e-6f43-4c8e-9d59-0a1b2c3d4e5f"
MEASURED = 1_000
PLACES = ((8, 10, 20_000), (1_000, 10, 20_000))


def entries(partitions: int) -> Iterator[LedgerEntry]:
    """A history as a busy topic makes it; offsets and counts differ from batch to batch."""
    rng, batch = random.Random(7), 0
    at = [5_000_000 + rng.randrange(1_000_000) for _ in range(partitions)]
    token = f"penstock:1234567890abcdef:fedcba0987654321:{{}}:{GENERATION}:{{}}"
    while True:
        ranges = []
        for partition in range(partitions):
            until = at[partition] + rng.randrange(10, 2_000)
            ranges.append(OffsetRange("payments", "mZ1k3xPqT0mJ9vYw8sQ2bA", partition, at[partition], until))
            at[partition] = until
        read = sum(item.offsets for item in ranges)
        sinks = {name: SinkEntry(token.format(name, batch), f"delta /data/lake/{name}", batch + 1, True) for name in ("sink", "dead_letters")}
        seconds = {part: round(rng.random() / 10, 4) for part in ("ask", "work", "commit")}
        yield LedgerEntry(
            1, GENERATION, batch, tuple(ranges), ranges_digest(ranges), BatchCounts(read, read - 3, 0, 3), 0, sinks, "spark", seconds, 1_790_000_000_000 + batch
        )
        batch += 1


def measure(partitions: int, places: tuple[int, ...]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer, reader, taken, asked = LedgerWriter(LocalStorage(folder)), LedgerReader(LocalStorage(folder)), list[float](), dict[int, float]()
        for entry in entries(partitions):
            began = time.perf_counter()
            writer.put(entry)
            taken.append((time.perf_counter() - began) * 1_000)
            if entry.batch in places:
                began = time.perf_counter()
                assert reader.last(GENERATION) == entry
                asked[entry.batch] = (time.perf_counter() - began) * 1_000
            if entry.batch >= places[-1] + MEASURED:
                break
        for place in places:
            some = taken[place : place + MEASURED]
            alone = [one for batch, one in enumerate(some, place) if (batch + 1) % 100]
            yield f"| {partitions:,} | {place:,} | {statistics.mean(some):.2f} | {statistics.median(alone):.2f} | {max(some):.0f} | {asked[place]:.1f} |"
        found = [path for path in folder.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in found) / 1e6
        yield f"| {partitions:,} | all | {statistics.mean(taken):.2f} | | {max(taken):.0f} | {len(found)} files, {size:.0f} MB |"


def main() -> None:
    print("| partitions | from batch | ms a batch | the ordinary batch (median) | the longest | `last` |\n|---|---|---|---|---|---|")
    for partitions, *places in PLACES:
        for line in measure(partitions, tuple(places)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
