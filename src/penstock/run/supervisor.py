"""Keeps a pipeline running: starts it, tries again what is retryable, stops it on a signal, ends with one error or none."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import structlog
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.errors import Retryable
from penstock.internals import is_stopped
from penstock.kinds import Kinds
from penstock.ledger.entry import LedgerEntry
from penstock.plan.steps import RunPlan
from penstock.run.batch_plan import BatchPlan
from penstock.run.query import BatchWork, ready, start_query
from penstock.run.session import SPARK_SAYS
from penstock.run.spark_errors import spark_gone, translated
from penstock.run.state import State
from penstock.run.watcher import Watcher

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
POLL_SECONDS = 0.2
log = structlog.get_logger("penstock")


@dataclass(slots=True)
class Stop:
    """The wish to stop, set by a signal or by whoever runs the pipeline."""

    wished: threading.Event = field(default_factory=threading.Event)
    grace_seconds: float = 30.0

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT are the wish to stop, as long as this lasts."""

        def wish(number: int, frame: FrameType | None) -> None:
            self.wished.set()

        before = {number: signal.signal(number, wish) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class Run:
    """One pipeline and how it is to be run."""

    plan: RunPlan
    kinds: Kinds
    watcher: Watcher
    accept_new_generation: bool = False
    attempts: int | None = None
    """How often a retryable failure in a row is tried; None: until somebody stops it."""


class Told(Watcher):
    """Logs each batch, and tells the run's own watcher."""

    def __init__(self, other: Watcher) -> None:
        self._other = other
        self.committed_batches = 0

    def began(self, batch: BatchPlan) -> None:
        self._other.began(batch)

    def committed(self, entry: LedgerEntry) -> None:
        self.committed_batches += 1
        log.info("batch committed", batch=entry.batch, counts=entry.counts, seconds=entry.seconds)
        self._other.committed(entry)


def supervise(run: Run, state: State, session: SparkSession, stop: Stop) -> None:
    """Run until caught up, stopped or failed for good; the error that ended it is raised."""
    failures = 0
    while not stop.wished.is_set():
        told = Told(run.watcher)
        try:
            assembly, cluster = ready(session, run.plan, run.kinds, state)
            work = BatchWork(assembly, cluster, told, accept_new_generation=run.accept_new_generation)
            attend(start_query(session, assembly.plan, work, state), work, stop, run.watcher)
            return
        except (Retryable, *SPARK_SAYS) as said:
            if is_stopped(session):
                raise spark_gone() from said
            error = said if isinstance(said, Retryable) else translated(said)
            if not isinstance(error, Retryable):
                raise error from said  # the query did not even start
            failures = 1 if told.committed_batches else failures + 1
            if run.attempts is not None and failures >= run.attempts:
                raise error from said
            pause = min(FIRST_PAUSE_SECONDS * 2 ** (failures - 1), LONGEST_PAUSE_SECONDS)
            log.warning("trying again", error=error.what, code=error.code, where=error.where, pause_seconds=pause)
            stop.wished.wait(pause)


def attend(query: StreamingQuery, work: BatchWork, stop: Stop, watcher: Watcher) -> None:
    """Wait until the query ends by itself, or end it between two batches; its error is raised as one of ours."""
    deadline: float | None = None
    try:
        while not query.awaitTermination(POLL_SECONDS):
            if (progress := query.lastProgress) is not None:
                watcher.behind(offsets_behind(json.loads(progress.json)))
            if not stop.wished.is_set():
                continue
            deadline = deadline or time.monotonic() + stop.grace_seconds
            if not work.running or time.monotonic() > deadline:
                break
    except SPARK_SAYS as error:
        raise _cause(work, error) from error
    finally:
        with contextlib.suppress(*SPARK_SAYS):  # a query whose JVM has died cannot be stopped, and what killed it is being reported
            query.stop()


def offsets_behind(progress: Mapping[str, Any]) -> int:
    """How far the batch that Spark reports on ended before the end of the topics."""
    ends, latest = (progress["sources"][0].get(key) or {} for key in ("endOffset", "latestOffset"))
    return sum(max(int(offset) - int(ends.get(topic, {}).get(partition, offset)), 0) for topic, parts in latest.items() for partition, offset in parts.items())


def _cause(work: BatchWork, error: Exception) -> BaseException:
    """What truly ended the query: the batch's own error where there is one, it comes back from Spark wrapped four times."""
    cause = work.error or error
    return translated(cause) if isinstance(cause, SPARK_SAYS) else cause
