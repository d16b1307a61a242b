"""The audit: does every offset of every batch lie in exactly one place? Pure sums over evidence that others gather.

The ledger says which ranges were read and how many records were filtered; it is what is audited. The evidence is the
provenance in the tables and what Kafka shows of the ranges when it is read again by another client. An offset is counted in
three small numbers: how often it is in the table, how often among the dead letters, whether Kafka has a record there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from penstock.plan.steps import DEAD_LETTERS, SINK
from penstock.values import BatchCounts, OffsetRange

MANY = 250  # a count is kept in one byte and stops here

Place = tuple[str, int]
"""Topic id and partition."""


@dataclass(frozen=True, slots=True)
class BatchClaim:
    """What the ledger says of a batch."""

    generation: str
    batch: int
    ranges: tuple[OffsetRange, ...]
    counts: BatchCounts | None

    unread: frozenset[str] = frozenset()
    """Branches whose sink cannot be read back."""

    @property
    def rows_traced(self) -> bool:
        """Whether each row says which record it came from: not where a query made other rows, nor on a terminal."""
        return SINK not in self.unread and (self.counts is None or self.counts.written is None)

    @property
    def untraced(self) -> int:
        """How many records lie where their places cannot be counted."""
        if self.counts is None:
            return 0
        return (0 if self.rows_traced else self.counts.rows) + (self.counts.dead if DEAD_LETTERS in self.unread else 0)


@dataclass(slots=True)
class Findings:
    """What is wrong, as coordinates (the first few of each kind) and counts."""

    missing: int = 0
    doubled: int = 0
    strange: int = 0
    miscounted: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.missing or self.doubled or self.strange or self.miscounted)


@dataclass(slots=True)
class BatchVerdict:
    """One batch, judged."""

    claim: BatchClaim
    in_kafka: int = 0
    rows: int = 0
    dead: int = 0
    unverified: int = 0
    """Offsets that Kafka holds no longer, so that nobody can say any more what was there."""
    untraced: int = 0
    """Records whose rows do not tell where they came from: a query made other rows of them, or the sink cannot be read back."""
    findings: Findings = field(default_factory=Findings)


class Evidence:
    """What is known of each offset in the audited ranges."""

    def __init__(self, claims: Sequence[BatchClaim]) -> None:
        spans: dict[Place, tuple[int, int]] = {}
        for item in (item for claim in claims for item in claim.ranges):
            start, until = spans.get((item.topic_id, item.partition), (item.start, item.until))
            spans[item.topic_id, item.partition] = min(start, item.start), max(until, item.until)
        self._start = {place: span[0] for place, span in spans.items()}
        sizes = {place: until - start for place, (start, until) in spans.items()}
        self.rows = {place: np.zeros(size, np.uint8) for place, size in sizes.items()}
        self.dead = {place: np.zeros(size, np.uint8) for place, size in sizes.items()}
        self.kafka = {place: np.zeros(size, np.bool_) for place, size in sizes.items()}
        self.known = {place: np.zeros(size, np.bool_) for place, size in sizes.items()}
        self.outside = 0

    def add(self, counts: Mapping[Place, npt.NDArray[np.uint8]], place: Place, offsets: npt.NDArray[np.int64]) -> None:
        """Count these offsets of a table; what lies outside every audited range is strange."""
        if place not in counts:
            self.outside += len(offsets)
            return
        held = counts[place]
        inside = (offsets >= self._start[place]) & (offsets < self._start[place] + len(held))
        self.outside += int(len(offsets) - inside.sum())
        which, times = np.unique(offsets[inside] - self._start[place], return_counts=True)
        held[which] = np.minimum(held[which].astype(np.int64) + times, MANY).astype(np.uint8)

    def add_kafka(self, item: OffsetRange, kept_from: int, offsets: npt.NDArray[np.int64]) -> None:
        """Note where Kafka shows a record in this range, and from where on it still knows."""
        place = item.topic_id, item.partition
        start = self._start[place]
        self.kafka[place][offsets - start] = True
        self.known[place][kept_from - start : item.until - start] = True

    def slice_of(self, item: OffsetRange) -> tuple[Place, slice]:
        place = item.topic_id, item.partition
        return place, slice(item.start - self._start[place], item.until - self._start[place])


def judge(claims: Iterable[BatchClaim], evidence: Evidence) -> list[BatchVerdict]:
    """Each batch by itself: what it should hold against what is there."""
    return [_judge(claim, evidence) for claim in claims]


def _judge(claim: BatchClaim, evidence: Evidence) -> BatchVerdict:
    verdict, findings, absent_rows = BatchVerdict(claim), Findings(), 0
    for item in claim.ranges:
        place, part = evidence.slice_of(item)
        rows, dead = evidence.rows[place][part].astype(np.int64), evidence.dead[place][part].astype(np.int64)
        if not claim.rows_traced:
            rows[:] = 0
        kafka, known = evidence.kafka[place][part], evidence.known[place][part]
        times = rows + dead
        verdict.in_kafka += int(kafka.sum())
        verdict.rows += int(rows.sum())
        verdict.dead += int(dead.sum())
        verdict.unverified += int((~known).sum())
        findings.doubled += _note(findings, "doubled", item, times > 1)
        findings.strange += _note(findings, "not in Kafka", item, known & ~kafka & (times > 0))
        absent_rows += int((known & kafka & (times == 0)).sum())
        if claim.counts is not None and not claim.counts.filtered and not claim.untraced:
            _note(findings, "missing", item, known & kafka & (times == 0))
    _settle(claim, verdict, findings, absent_rows)
    verdict.findings = findings
    return verdict


def _settle(claim: BatchClaim, verdict: BatchVerdict, findings: Findings, absent_rows: int) -> None:
    """Compare the sums with what the ledger says: as many may be in no place as were filtered, no more and no fewer."""
    counts = claim.counts
    if counts is None:
        verdict.unverified += absent_rows
        return
    verdict.untraced = claim.untraced
    elsewhere = counts.filtered + claim.untraced
    if not verdict.unverified:
        findings.missing = max(absent_rows - elsewhere, 0)
        findings.miscounted = int(verdict.in_kafka != counts.read or absent_rows != elsewhere)
    elif verdict.rows + verdict.dead != counts.rows + counts.dead - claim.untraced:
        findings.miscounted = 1
    if findings.miscounted:
        findings.examples.append(
            f"batch {claim.batch}: the ledger says {counts.read} read, {counts.rows} rows, {counts.filtered} filtered, {counts.dead} dead;"
            f" found {verdict.in_kafka} in Kafka, {verdict.rows} rows, {verdict.dead} dead"
        )


def _note(findings: Findings, what: str, item: OffsetRange, where: npt.NDArray[np.bool_]) -> int:
    found = np.flatnonzero(where)
    for offset in found[: 3 if len(findings.examples) < 12 else 0].tolist():
        findings.examples.append(f"{what}: {item.topic}, partition {item.partition}, offset {item.start + offset}")
    return len(found)
