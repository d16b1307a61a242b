"""The words of Penstock as values: frozen, without I/O, shared by every room."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType

BatchId = NewType("BatchId", int)
Generation = NewType("Generation", str)


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One partition of one topic, by name."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """The offsets `start` ≤ offset < `until` of one partition of the topic that had `topic_id` when it was planned."""

    topic: str
    topic_id: str
    partition: int
    start: int
    until: int

    @property
    def offsets(self) -> int:
        """How many offsets the range spans; how many records lie there only the reading tells."""
        return self.until - self.start


def ranges_digest(ranges: Iterable[OffsetRange], revision: int = 0) -> int:
    """Sixty-three bits that name a batch's ranges, however they were split over tasks or ordered, and the plan's revision.

    Splits of one partition are merged first, empty ranges left out. A Delta `txn` action holds it as a version, hence
    a non-negative 63-bit integer. Another revision of a batch's plan may sort its records differently: it is another batch.
    """
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    for item in ranges:
        if item.offsets <= 0:
            continue
        key = (item.topic_id, item.partition)
        start, until = spans.get(key, (item.start, item.until))
        spans[key] = min(start, item.start), max(until, item.until)
    text = "\n".join(f"{topic_id} {partition} {start} {until}" for (topic_id, partition), (start, until) in sorted(spans.items()))
    text += f"\nrevision {revision}" if revision else ""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


@dataclass(frozen=True, slots=True)
class CommitToken:
    """What makes a commit happen once: this sink of this flow of this pipeline, in this generation, for this batch.

    Pipeline, flow and sink are the ids given at first start and kept in the state, not the names in the file. `digest`
    is `ranges_digest` of the batch: equal tokens with unequal digests are two different batches.
    """

    pipeline: str
    flow: str
    sink: str
    generation: Generation
    batch: BatchId
    digest: int

    @property
    def application(self) -> str:
        """The token less its batch: what a table knows as the application whose latest batch it holds."""
        return f"penstock:{self.pipeline}:{self.flow}:{self.sink}:{self.generation}"

    def __str__(self) -> str:
        return f"{self.application}:{self.batch}"


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """Where the records of a batch went. `read = rows + filtered + dead` must hold before anything is committed.

    Where a query makes other rows than one a record, `rows` are the records that went into it, and `written` the rows
    that came out; else `written` is None.
    """

    read: int
    rows: int
    filtered: int
    dead: int
    written: int | None = None

    @property
    def balanced(self) -> bool:
        return self.read == self.rows + self.filtered + self.dead and self.filtered >= 0

    def __add__(self, other: BatchCounts) -> BatchCounts:
        written = None if self.written is None and other.written is None else (self.written or 0) + (other.written or 0)
        return BatchCounts(self.read + other.read, self.rows + other.rows, self.filtered + other.filtered, self.dead + other.dead, written)
