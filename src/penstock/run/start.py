"""From a plan to a running pipeline and back: what `penstock run` does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog
from pyspark.sql import SparkSession

from penstock.devstack.jars import jars_for
from penstock.devstack.java import find_java
from penstock.devstack.progress import Progress, silent
from penstock.kinds import Kinds
from penstock.plan.steps import RunPlan
from penstock.run.assembly import analysed, versions
from penstock.run.session import SparkOptions, start_session
from penstock.run.state import State, open_state
from penstock.run.supervisor import Run, Stop, supervise
from penstock.run.transforming import Shape
from penstock.run.watcher import Watcher
from penstock.source.cluster import Cluster
from penstock.storage import storage_at

JARS = "spark-4.1"

log = structlog.get_logger("penstock")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How this run differs from another one of the same pipeline."""

    spark: SparkOptions = field(default_factory=SparkOptions)
    stop_grace_seconds: float = 30.0
    accept_new_generation: bool = False
    attempts: int | None = None


def run_pipeline(plan: RunPlan, kinds: Kinds, options: RunOptions, *, progress: Progress = silent, watcher: Watcher | None = None) -> None:
    """Run until caught up, stopped by a signal, or failed. What can be refused without Spark is refused before it starts."""
    state = open_state(storage_at(plan.state), plan.name, plan.flow.name)
    Cluster(plan.source.servers).topic_ids(plan.source.topics)
    stop = Stop(grace_seconds=options.stop_grace_seconds)
    run = Run(plan, kinds, watcher or Watcher(), options.accept_new_generation, options.attempts)
    with stop.on_signals(), session_for(plan.name, options.spark, progress) as session:
        announce(plan, state, session, options.spark)
        supervise(run, state, session, stop)


def announce(plan: RunPlan, state: State, session: SparkSession, options: SparkOptions) -> None:
    """One event that says what runs here: enough to tell, months later, which code and which file made a table."""
    log.info(
        "pipeline started",
        pipeline=plan.name,
        pipeline_id=state.format.pipeline,
        spec=hashlib.sha256(plan.spec.encode()).hexdigest()[:16],
        state=plan.state,
        master=session.sparkContext.master,
        spark=session.version,
        spark_log=None if options.log is None else str(options.log),
        **versions(),
    )


def columns_of(plan: RunPlan, kinds: Kinds, options: SparkOptions, progress: Progress = silent) -> tuple[Shape, str]:
    """What reaches the sink, as Spark analyses it over an empty frame, and which Spark says so; nothing is read or written."""
    with session_for(plan.name, options, progress) as session:
        return analysed(session, plan, kinds)[1], session.version


@contextmanager
def session_for(name: str, options: SparkOptions, progress: Progress = silent) -> Iterator[SparkSession]:
    """A Spark session with the jars and the Java it needs, fetched first where they are missing."""
    session = start_session(name, options, jars=jars_for(JARS, progress=progress), java_home=find_java().home)
    try:
        yield session
    finally:
        session.stop()
