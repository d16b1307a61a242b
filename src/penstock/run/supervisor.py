"""Keeps a pipeline running: starts it, tries again what is retryable, stops it on a signal, ends with one error or none."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

import structlog
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.errors import Retryable
from penstock.kinds import Kinds
from penstock.ledger.entry import LedgerEntry
from penstock.plan.steps import RunPlan
from penstock.run.assembly import versions
from penstock.run.query import BatchWork, ready, start_query
from penstock.run.session import SPARK_SAYS, is_gone
from penstock.run.spark_errors import spark_gone, translated
from penstock.run.state import State

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
    accept_new_generation: bool = False
    attempts: int | None = None
    """How often a retryable failure in a row is tried; None: until somebody stops it."""


def supervise(run: Run, state: State, session: SparkSession, stop: Stop) -> None:
    """Run until caught up, stopped or failed for good; the error that ended it is raised."""
    log.info("pipeline started", pipeline=run.plan.name, spark=session.version, **versions())
    failures = 0

    def heard(entry: LedgerEntry) -> None:
        nonlocal failures
        failures = 0
        log.info("batch committed", batch=entry.batch, counts=entry.counts, seconds=entry.seconds)

    while not stop.wished.is_set():
        try:
            assembly, cluster = ready(session, run.plan, run.kinds, state)
            work = BatchWork(assembly, cluster, heard, accept_new_generation=run.accept_new_generation)
            attend(start_query(session, assembly.plan, work, state), work, stop)
            return
        except (Retryable, *SPARK_SAYS) as error:
            if is_gone(session):
                raise spark_gone() from error
            if not isinstance(error, Retryable):
                raise
            failures += 1
            if run.attempts is not None and failures >= run.attempts:
                raise
            pause = min(FIRST_PAUSE_SECONDS * 2 ** (failures - 1), LONGEST_PAUSE_SECONDS)
            log.warning("trying again", error=error.what, code=error.code, where=error.where, pause_seconds=pause)
            stop.wished.wait(pause)


def attend(query: StreamingQuery, work: BatchWork, stop: Stop) -> None:
    """Wait until the query ends by itself, or end it between two batches; its error is raised as one of ours."""
    deadline: float | None = None
    try:
        while not query.awaitTermination(POLL_SECONDS):
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


def _cause(work: BatchWork, error: Exception) -> BaseException:
    """What truly ended the query: the batch's own error where there is one, it comes back from Spark wrapped four times."""
    cause = work.error or error
    return translated(cause) if isinstance(cause, SPARK_SAYS) else cause
