"""From a plan to a running pipeline and back: what `penstock run` does."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyspark
import structlog
from pyspark.sql import SparkSession

from penstock.devstack.jars import jars_for
from penstock.devstack.java import find_java
from penstock.devstack.lock import locked_sets
from penstock.devstack.progress import Progress, silent
from penstock.errors import PlanRefused
from penstock.kinds import Kinds
from penstock.plan.steps import DEAD_LETTERS, SINK, ReadKafka, RunPlan, StartAtOffsets
from penstock.records import DEAD_LETTERS as DEAD_LETTER_SCHEMA
from penstock.records import SOURCE, SOURCE_COLUMN
from penstock.run.assembly import analysed, decoder_of, refuse_taken_names, versions
from penstock.run.fit import INSTALL, major_minor
from penstock.run.session import end_session, start_session
from penstock.run.settings import refuse_unreachable, session_settings
from penstock.run.state import State, find_state, open_state
from penstock.run.supervisor import Run, Stop, supervise
from penstock.run.transforming import Shape
from penstock.run.watcher import Watcher
from penstock.source.cluster import Cluster
from penstock.storage import demand_writable, storage_at
from penstock.values import TopicPartition

log = structlog.get_logger("penstock")


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where Spark runs and how; `log` is the file that takes what it says, None leaves it on the terminal."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How this run differs from another one of the same pipeline."""

    spark: SparkOptions = field(default_factory=SparkOptions)
    stop_grace_seconds: float = 30.0
    accept_new_generation: bool = False
    attempts: int | None = None


def run_pipeline(plan: RunPlan, kinds: Kinds, options: RunOptions, *, progress: Progress = silent, watcher: Watcher | None = None) -> None:
    """Run until caught up, stopped by a signal, or failed. What can be refused without Spark is refused before it starts, and before anything is written."""
    root = storage_at(plan.state)
    settings = session_settings(options.spark.master, options.spark.conf)
    find_java()
    known = find_state(root, plan.name)
    demand_writable(plan.state, what="the state folder")
    refuse_unfit_targets(plan, kinds)
    refuse_unreachable(settings["spark.master"])
    cluster = Cluster(plan.source.servers)
    cluster.topic_ids(plan.source.topics)
    if known is None or not known.checkpoint.names("offsets"):
        refuse_unreadable_start(plan.source, cluster)
    stop = Stop(grace_seconds=options.stop_grace_seconds)
    run = Run(plan, kinds, watcher or Watcher(), options.accept_new_generation, options.attempts)
    with stop.on_signals(), session_for(plan.name, options.spark, progress) as session:
        state = open_state(root, plan.name, plan.flow.name)
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


@contextlib.contextmanager
def session_for(name: str, options: SparkOptions, progress: Progress = silent) -> Iterator[SparkSession]:
    """A Spark session with the jars and the Java it needs, fetched first where they are missing."""
    settings = session_settings(options.master, options.conf)
    session = start_session(name, settings, jars=jars_for(connector(), progress=progress), java_home=find_java().home, log=options.log)
    try:
        yield session
    finally:
        end_session(session)


def refuse_unfit_targets(plan: RunPlan, kinds: Kinds) -> None:
    """Look at every sink before any is touched; which columns a flow with Spark SQL yields, only Spark can tell, later."""
    flow = plan.flow
    columns = decoder_of(flow, kinds)().schema
    refuse_taken_names(columns)
    schemas = {SINK: None if flow.transforms else columns.append(pa.field(SOURCE_COLUMN, SOURCE)), DEAD_LETTERS: DEAD_LETTER_SCHEMA}
    for name, write in flow.writes.items():
        kinds.sinks[write.kind].build(write.options, owner=plan.name).check(schemas[name])


def refuse_unreadable_start(source: ReadKafka, cluster: Cluster) -> None:
    """Refuse a first start at offsets that Kafka does not hold; Spark would take them for lost data, or for a bug of its caller."""
    if not isinstance(source.start, StartAtOffsets):
        return
    asked = {TopicPartition(topic, part): at for topic, parts in source.start.offsets.items() for part, at in parts.items()}
    there = cluster.partitions(source.topics)
    wrong = [f"topic {place.topic} has no partition {place.partition}" for place in asked if place not in there]
    numbered = {place: at for place, at in asked.items() if place in there and isinstance(at, int)}
    earliest, latest = cluster.earliest(numbered), cluster.latest(numbered)
    for place, at in numbered.items():
        if not earliest[place] <= at <= latest[place]:
            wrong.append(f"topic {place.topic}, partition {place.partition} holds offsets {earliest[place]} to {latest[place]}, not {at}")
    if wrong:
        raise PlanRefused(
            "the pipeline cannot start where the file says:\n" + "\n".join(f"  - {each}" for each in wrong),
            code="start_unreadable",
            where="source.start",
            next_step="name offsets that Kafka holds, or earliest or latest",
        )


def connector() -> str:
    """The set of archives that goes with the PySpark on this machine."""
    major, minor = major_minor(pyspark.__version__)
    name = f"spark-{major}.{minor}"
    if name not in locked_sets():
        raise PlanRefused(
            f"this is Spark {pyspark.__version__}: this version of Penstock has no Kafka connector for it",
            code="spark_without_connector",
            where=sys.prefix,
            next_step=INSTALL,
        )
    return name
