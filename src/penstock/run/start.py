"""From a plan to a running pipeline and back: what `penstock run` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from penstock.devstack.jars import jars_for
from penstock.devstack.java import find_java
from penstock.devstack.progress import Progress, silent
from penstock.kinds import Kinds
from penstock.plan.steps import RunPlan
from penstock.run.session import end_session, start_session
from penstock.run.state import open_state
from penstock.run.supervisor import Run, Stop, supervise
from penstock.source.cluster import Cluster
from penstock.storage import storage_at

JARS = "spark-4.1"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How this run differs from another one of the same pipeline."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    stop_grace_seconds: float = 30.0
    accept_new_generation: bool = False
    attempts: int | None = None


def run_pipeline(plan: RunPlan, kinds: Kinds, options: RunOptions, progress: Progress = silent) -> None:
    """Run until caught up, stopped by a signal, or failed. What can be refused without Spark is refused before it starts."""
    state = open_state(storage_at(plan.state), plan.name, plan.flow.name)
    Cluster(plan.source.servers).topic_ids(plan.source.topics)
    session = session_for(plan.name, options, progress)
    stop = Stop(grace_seconds=options.stop_grace_seconds)
    run = Run(plan, kinds, options.accept_new_generation, options.attempts)
    try:
        with stop.on_signals():
            supervise(run, state, session, stop)
    finally:
        end_session(session)


def session_for(name: str, options: RunOptions, progress: Progress = silent) -> SparkSession:
    """A Spark session with the jars and the Java it needs, fetched first where they are missing."""
    return start_session(
        name,
        jars=jars_for(JARS, progress=progress),
        java_home=find_java().home,
        master=options.master,
        conf=options.conf,
    )
