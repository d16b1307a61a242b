"""What readers saw while a fault went on: the tables and the checkpoint, sampled every 200 ms and judged afterwards.

A sample notes which files each table shows, which is cheap; the files never change, so what was in them is read when all is
over. Verdicts: `torn` (a part of a batch was visible, or more than the batch), `backwards` (a version, a row or the committed
batch went back), `missing` (Spark called a batch done whose records were not all visible).
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from deltalake import DeltaTable

from harness.load import Coordinates, Record, is_good

EVERY_SECONDS = 0.2
Seen = tuple[int, frozenset[str]]
"""A table's version (-1: there is none yet) and its files."""


def delta_files(path: Path) -> Seen:
    """What a reader of a Delta table sees who opens it now."""
    if not DeltaTable.is_deltatable(str(path)):
        return -1, frozenset()
    table = DeltaTable(str(path))
    return table.version(), frozenset(table.file_uris())


def parquet_files(path: Path) -> Seen:
    """What a reader of a plain Parquet folder sees."""
    return 0, frozenset(str(file) for file in path.glob("*.parquet"))


@dataclass(frozen=True)
class Sample:
    """One look. The checkpoint is looked at before the tables: what it calls done must be in them."""

    done: int
    tables: Mapping[str, Seen]


class Watcher:
    """Samples in a thread of its own while its `with` lasts, once at the beginning and once at the end at least."""

    def __init__(self, tables: Mapping[str, Callable[[], Seen]], checkpoint: Path) -> None:
        self._tables, self._checkpoint = tables, checkpoint
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher")
        self._error: BaseException | None = None
        self.samples: list[Sample] = []

    def __enter__(self) -> Watcher:
        self.look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        self.look()

    def look(self) -> None:
        """Take a sample now."""
        done = max(_numbers(self._checkpoint / "commits"), default=-1)
        self.samples.append(Sample(done, {name: look() for name, look in self._tables.items()}))

    def _watch(self) -> None:
        try:
            while not self._over.wait(EVERY_SECONDS):
                self.look()
        except BaseException as error:  # raised where the `with` ends
            self._error = error


@dataclass
class HistoryVerdict:
    """What was seen that no reader may see; all empty where nothing was. `samples` says how much was looked at."""

    samples: int
    torn: list[str] = field(default_factory=list)
    backwards: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """True where all is well."""
        return not (self.torn or self.backwards or self.missing)


def judge_history(samples: Sequence[Sample], kafka: Mapping[Coordinates, Record], checkpoint: Path) -> HistoryVerdict:
    """Compare each sample with what Kafka holds, batch by batch as Spark's offset log divides it, and with the sample before."""
    ends = {batch: _ends(checkpoint / f"offsets/{batch}") for batch in sorted(_numbers(checkpoint / "offsets"))}
    whole = {"rows": Counter[int](), "dead": Counter[int]()}
    for (_, partition, offset), record in kafka.items():
        whole["rows" if is_good(record.value) else "dead"][_batch_of(partition, offset, ends)] += 1
    contents, verdict, before = _Contents(ends), HistoryVerdict(len(samples)), None
    for number, sample in enumerate(samples):
        if before is not None:
            verdict.backwards += (f"sample {number}: {what}" for what in _went_back(before, sample))
        for name, (_, files) in sample.tables.items():
            seen = contents.of(files)
            parts = {batch: (seen[batch], whole[name][batch]) for batch in ends}
            verdict.torn += (f"sample {number}: {name} of batch {b}: {n} of {of}" for b, (n, of) in parts.items() if n not in (0, of))
            verdict.missing += (f"sample {number}: {name} of batch {b}: {n} of {of}" for b, (n, of) in parts.items() if b <= sample.done and n < of)
        before = sample
    return verdict


def _went_back(before: Sample, after: Sample) -> Iterator[str]:
    if after.done < before.done:
        yield f"batch {before.done} was done, now {after.done}"
    for name, (version, files) in after.tables.items():
        if version < before.tables[name][0]:
            yield f"{name}: version {version} after {before.tables[name][0]}"
        if lost := before.tables[name][1] - files:
            yield f"{name}: {len(lost)} files are gone"


class _Contents:
    """How many records of each batch a set of files holds; each file is read once."""

    def __init__(self, ends: Mapping[int, Mapping[int, int]]) -> None:
        self._ends, self._known = ends, dict[str, Counter[int]]()

    def of(self, files: frozenset[str]) -> Counter[int]:
        total: Counter[int] = Counter()
        for file in files:
            if file not in self._known:
                self._known[file] = self._count(file)
            total.update(self._known[file])
        return total

    def _count(self, file: str) -> Counter[int]:
        source = pq.read_table(file, columns=["_source"]).column("_source").combine_chunks()
        places = zip(source.field("partition").to_pylist(), source.field("offset").to_pylist(), strict=True)
        return Counter(_batch_of(partition, offset, self._ends) for partition, offset in places)


def _batch_of(partition: int, offset: int, ends: Mapping[int, Mapping[int, int]]) -> int:
    """The batch that an offset belongs to; -1 for one that no batch has reached."""
    return next((batch for batch, until in ends.items() if offset < until.get(partition, 0)), -1)


def _ends(log: Path) -> Mapping[int, int]:
    (parts,) = json.loads(log.read_text().splitlines()[2]).values()
    return {int(partition): int(offset) for partition, offset in parts.items()}


def _numbers(folder: Path) -> list[int]:
    return [int(file.name) for file in folder.glob("*") if file.name.isdigit()]
