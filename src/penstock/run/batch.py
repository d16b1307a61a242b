"""The heart: one micro-batch moves through the house. The order of the commits is on this screen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from penstock.errors import Fatal, OutcomeUnknown, PenstockError
from penstock.ledger.book import LedgerWriter
from penstock.ledger.entry import LedgerEntry, SinkEntry
from penstock.plan.steps import DEAD_LETTERS, SINK
from penstock.run.batch_plan import BatchPlan
from penstock.run.chain import raise_first
from penstock.run.crash import crash_point
from penstock.run.report import TaskReport, check_spans, decode
from penstock.sink.port import AlreadyWritten, Evidence, Outcome, Sink, Written
from penstock.values import BatchCounts, CommitToken

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Branch:
    """One sink of the batch, with the token under which it commits."""

    name: str
    target: str
    sink: Sink
    token: CommitToken


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch: its frame of task reports, not run yet; the plan file it obeys; its sinks.

    The first branch takes the rows and commits every batch; its commit carries the counts, so that dead letters need
    a commit of their own only where there are any.
    """

    reports: DataFrame
    plan: BatchPlan
    plan_is_new: bool
    branches: Sequence[Branch]
    held: DataFrame | None = None
    """What the job holds in memory, to be let go when the batch has ended."""


@dataclass(slots=True)
class Clock:
    """How long each part of a batch took."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def lap(self, part: str) -> None:
        now = time.monotonic()
        self.seconds[part] = round(now - self._since, 4)
        self._since = now


def run_batch(batch: Batch, ledger: LedgerWriter) -> LedgerEntry:
    """Move one micro-batch through the house; calling it again with the same batch adds nothing."""
    clock, number = Clock(), batch.plan.batch
    crash_point("planned", number)
    found = {branch.name: branch.sink.find(branch.token) for branch in batch.branches}
    refuse_unplanned(batch, found)
    clock.lap("ask")
    crash_point("asked", number)
    rows = found[SINK]
    counts: BatchCounts | None
    if rows is not None and everything_is_in(rows, found):
        outcomes: Mapping[str, Outcome] = {name: AlreadyWritten(evidence) for name, evidence in found.items() if evidence}
        counts = rows.counts
    else:
        counts, outcomes = work(batch, clock)
    clock.lap("commit")
    entry = entry_of(batch, counts, outcomes, clock)
    ledger.put(entry)
    crash_point("ledger_written", number)
    return entry


def refuse_unplanned(batch: Batch, found: Mapping[str, Evidence | None]) -> None:
    """A sink that holds the token of a batch which no plan file knows: the state folder is not the one that wrote it."""
    holders = [branch.target for branch in batch.branches if found[branch.name] is not None]
    if batch.plan_is_new and holders:
        raise Fatal(
            f"batch {batch.plan.batch} is in {', '.join(holders)} already, but its plan file is gone",
            code="plan_missing",
            where=f"batch {batch.plan.batch}",
            next_step="the state folder lost files: restore it from a backup; nothing was read or written",
        )


def everything_is_in(rows: Evidence, found: Mapping[str, Evidence | None]) -> bool:
    """True where nothing is left to do: besides the rows, the dead letters are in too, or there were none."""
    none_dead = rows.counts is not None and rows.counts.dead == 0
    return all(evidence is not None or (name == DEAD_LETTERS and none_dead) for name, evidence in found.items())


def work(batch: Batch, clock: Clock) -> tuple[BatchCounts, Mapping[str, Outcome]]:
    """The one Spark job of the batch, the check of its books, the commits; what is not committed in the end is removed."""
    reports = [decode(row[0]) for row in batch.reports.collect()]
    clock.lap("work")
    outcomes: dict[str, Outcome] = {}
    try:
        raise_first(reports)
        counts = checked(reports, batch)
        crash_point("files_written", batch.plan.batch)
        commit(batch, reports, counts, outcomes)
    except OutcomeUnknown:
        raise  # the files may be part of a table
    except PenstockError:
        discard(batch, reports, outcomes)
        raise
    discard(batch, reports, outcomes)
    return counts, outcomes


def checked(reports: Sequence[TaskReport], batch: Batch) -> BatchCounts:
    """The counts of the batch, refused before any commit where they do not add up."""
    check_spans(reports, batch.plan.ranges)
    counts = sum((report.counts for report in reports), BatchCounts(0, 0, 0, 0))
    if not counts.balanced or len({report.task for report in reports}) != len(reports):
        raise Fatal(
            f"the books of batch {batch.plan.batch} do not balance: {counts}",
            code="identity_broken",
            where=f"batch {batch.plan.batch}",
            next_step="nothing was committed; this is a fault of ours, please report it",
        )
    return counts


def commit(batch: Batch, reports: Sequence[TaskReport], counts: BatchCounts, outcomes: dict[str, Outcome]) -> None:
    """Each branch in turn, rows first. A crash in between is mended by the replay: it commits what is missing."""
    for branch in batch.branches:
        if branch.name == DEAD_LETTERS and not counts.dead:
            continue
        outcomes[branch.name] = branch.sink.commit(staged_for(branch, reports), branch.token, counts)
        crash_point(f"{branch.name}_committed", batch.plan.batch)


def discard(batch: Batch, reports: Sequence[TaskReport], outcomes: Mapping[str, Outcome]) -> None:
    """Remove the staged files of every branch that this attempt did not commit."""
    for branch in batch.branches:
        if not isinstance(outcomes.get(branch.name), Written) and (staged := staged_for(branch, reports)):
            with contextlib.suppress(PenstockError):  # a target that cannot be reached is the error that is being reported
                branch.sink.discard(staged)


def staged_for(branch: Branch, reports: Sequence[TaskReport]) -> list[str]:
    return [item for report in reports for item in report.staged.get(branch.name, ())]


def entry_of(batch: Batch, counts: BatchCounts | None, outcomes: Mapping[str, Outcome], clock: Clock) -> LedgerEntry:
    plan = batch.plan
    offsets = sum(item.offsets for item in plan.ranges)
    return LedgerEntry(
        format=FORMAT,
        generation=plan.generation,
        batch=plan.batch,
        ranges=plan.ranges,
        digest=plan.digest,
        counts=counts,
        absent=None if counts is None else offsets - counts.read,
        sinks={
            branch.name: SinkEntry(
                str(branch.token), branch.target, outcomes[branch.name].evidence.version, not isinstance(outcomes[branch.name], AlreadyWritten)
            )
            for branch in batch.branches
            if branch.name in outcomes
        },
        reader=plan.reader,
        seconds=clock.seconds,
        written_at_millis=int(time.time() * 1000),
        revision=plan.revision,
    )
