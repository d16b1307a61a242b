"""Spark's streaming query around `run_batch`: Spark plans and logs the offsets, this room moves the records."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.kinds import Kinds
from penstock.ledger.book import LedgerWriter
from penstock.ledger.entry import LedgerEntry
from penstock.plan.steps import Continuously, Every, ReadKafka, RunPlan, Start, StartAtOffsets, StartAtTime, UntilCaughtUp
from penstock.run.assembly import Assembly, assemble, versions
from penstock.run.batch import run_batch
from penstock.run.batch_plan import FORMAT, BatchPlan, begin_batch, revisions
from penstock.run.culprit import culprit
from penstock.run.pending import governing
from penstock.run.state import State
from penstock.run.watcher import Watcher
from penstock.source.cluster import Cluster
from penstock.source.offset_log import batch_ranges
from penstock.source.spark_reader import COLUMNS
from penstock.values import BatchId


class BatchWork:
    """What Spark calls with every batch. It keeps the error that ended a batch, because Spark hands it back wrapped four times."""

    def __init__(self, assembly: Assembly, cluster: Cluster, watcher: Watcher, *, accept_new_generation: bool = False) -> None:
        self._assembly, self._cluster, self._watcher = assembly, cluster, watcher
        self._accept = accept_new_generation
        self._adopted: Assembly | None = None
        self._ledger = LedgerWriter(assembly.state.ledger)
        self.error: BaseException | None = None
        self.running = False

    def __call__(self, frame: DataFrame, batch: int) -> None:
        self.running = True
        try:
            self._watcher.committed(self._run(frame, batch))
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.running = False

    def _run(self, frame: DataFrame, number: int) -> LedgerEntry:
        state, mine = self._assembly.state, self._assembly
        self._adopt(mine)  # before the batch is begun: what is refused here must not bind the file that mends it
        begun = revisions(state.plans, state.generation(), BatchId(number))
        if begun:
            found = governing(begun, mine.plan, mine.kinds, state)
            plan = found.batch
            if found.plan is not mine.plan:
                mine = assemble(frame.sparkSession, found.plan, mine.kinds, state)
                self._adopt(mine)
        else:
            plan = self._fresh_plan(number)
            if not begin_batch(state.plans, plan):
                return self._run(frame, number)
        self._watcher.began(plan)
        return carry_out(mine, frame, plan, self._ledger, is_new=not begun)

    def _fresh_plan(self, batch: int) -> BatchPlan:
        state, plan = self._assembly.state, self._assembly.plan
        ranges = batch_ranges(state.checkpoint, batch, topic_ids=self._cluster.topic_ids(plan.source.topics), earliest=self._cluster.earliest)
        return BatchPlan(FORMAT, state.generation(), BatchId(batch), ranges, plan.source.reader, plan.spec, versions())

    def _adopt(self, assembly: Assembly) -> None:
        """Once an assembly: tables that another generation of this pipeline wrote to are refused."""
        if self._adopted is assembly:
            return
        for sink in assembly.sinks.values():
            sink.adopt(assembly.state.format.pipeline, assembly.state.generation(), accept=self._accept)
        self._adopted = assembly


def carry_out(assembly: Assembly, frame: DataFrame, plan: BatchPlan, ledger: LedgerWriter, *, is_new: bool) -> LedgerEntry:
    """One batch of this flow over the records of `frame`; a record that makes a transform fail is named, and nothing stays in memory."""
    batch = assembly.batch(frame, plan, is_new=is_new)
    try:
        return run_batch(batch, ledger)
    except PySparkException as error:
        raise culprit(error, assembly, frame, plan) from error
    finally:
        if batch.held is not None:
            batch.held.unpersist()


def start_query(session: SparkSession, plan: RunPlan, work: BatchWork, state: State) -> StreamingQuery:
    """Start reading; batches begin to arrive at `work`."""
    writer = records(session, plan).writeStream.queryName(plan.name).option("checkpointLocation", state.checkpoint.uri).trigger(**trigger_options(plan))
    return writer.foreachBatch(work).start()


def records(session: SparkSession, plan: RunPlan) -> DataFrame:
    """Spark's own Kafka source over the plan's topics: the control plane, and the data of the `spark` reader."""
    source = plan.source
    reader = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", source.servers)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", ",".join(source.topics))
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "true")
        .option("maxOffsetsPerTrigger", plan.rate.records_per_batch)
    )
    for key, value in start_options(source).items():
        reader = reader.option(key, value)
    return reader.load().selectExpr(*COLUMNS)


def start_options(source: ReadKafka) -> dict[str, str]:
    """Where the first batch of a new checkpoint starts, in the words of Spark's Kafka source."""
    start: Start = source.start
    match start:
        case StartAtTime(epoch_millis):
            return {"startingTimestamp": str(epoch_millis), "startingOffsetsByTimestampStrategy": "latest"}
        case StartAtOffsets():
            named = {"earliest": -2, "latest": -1}
            offsets = {topic: {str(part): at if isinstance(at, int) else named[at] for part, at in parts.items()} for topic, parts in start.offsets.items()}
            return {"startingOffsets": json.dumps(offsets)}
        case _:
            return {"startingOffsets": start}


def complete_start(source: ReadKafka, cluster: Cluster) -> ReadKafka:
    """The source with every partition named, which Spark demands of a start at offsets."""
    if not isinstance(source.start, StartAtOffsets):
        return source
    offsets = {topic: dict(parts) for topic, parts in source.start.offsets.items()}
    for place in cluster.partitions(source.topics):
        offsets.setdefault(place.topic, {}).setdefault(place.partition, source.start.otherwise)
    return dataclasses.replace(source, start=StartAtOffsets(offsets, source.start.otherwise))


def trigger_options(plan: RunPlan) -> dict[str, Any]:
    match plan.trigger:
        case Every(seconds):
            return {"processingTime": f"{seconds} seconds"}
        case Continuously():
            return {"processingTime": "0 seconds"}
        case UntilCaughtUp():
            return {"availableNow": True}


def ready(session: SparkSession, plan: RunPlan, kinds: Kinds, state: State) -> tuple[Assembly, Cluster]:
    """The topics are there and the sinks take what will come; nothing has been read yet."""
    cluster = Cluster(plan.source.servers)
    cluster.topic_ids(plan.source.topics)
    plan = dataclasses.replace(plan, source=complete_start(plan.source, cluster))
    return assemble(session, plan, kinds, state), cluster
