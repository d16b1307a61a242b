"""From a plan to what a batch needs: sinks that are ready, a chain for the tasks, tokens."""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import PlanRefused
from penstock.internals import spark_schema
from penstock.kinds import Kinds
from penstock.plan.steps import DEAD_LETTERS, SINK, Flow, RunPlan
from penstock.plan.steps import Write as WriteStep
from penstock.records import DEAD_LETTERS as DEAD_LETTER_SCHEMA
from penstock.records import SOURCE, SOURCE_COLUMN, Decoder
from penstock.run.batch import Batch, Branch
from penstock.run.batch_plan import BatchPlan
from penstock.run.chain import ReadDecode, ReadDecodeWrite, Write
from penstock.run.report import SPARK_SCHEMA
from penstock.run.sorting import Origin, travelling
from penstock.run.state import State
from penstock.run.transforming import Shape, shape_of, transformed
from penstock.sink.port import Sink
from penstock.transform.rows import CARRIED
from penstock.values import CommitToken, Generation

PARTS = ("penstock", "pyspark", "pyarrow", "deltalake", "msgspec", "arro3-io", "confluent-kafka")


@functools.lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """The versions of everything that shapes a batch."""
    return {"python": platform.python_version(), **{part: version(part) for part in PARTS}}


@dataclass(frozen=True, slots=True)
class Assembly:
    """One flow made ready: its sinks prepared, its decoder known to fit them. Made once a run, used for every batch."""

    plan: RunPlan
    kinds: Kinds
    state: State
    sinks: Mapping[str, Sink]
    decoded: pa.Schema
    """What the decoder yields."""
    shape: Shape
    """What the transforms make of it."""

    def batch(self, frame: DataFrame, plan: BatchPlan, *, is_new: bool) -> Batch:
        """What `run_batch` takes: this flow, applied to the records of one batch. One Spark job, not run yet."""
        flow = self.plan.flow
        read = ReadDecode({item.topic: item.topic_id for item in plan.ranges}, decoder_of(flow, self.kinds))
        origin = Origin(self.plan.name, flow.name, plan.generation, plan.batch)
        write = Write(origin, {name: sink.stage() for name, sink in self.sinks.items()}, self.shape.columns.names, self.shape.way)
        branches = branches_of(self.plan, self.sinks, self.state, plan)
        if not flow.transforms:  # neighbours in Python are one pass
            return Batch(frame.mapInArrow(ReadDecodeWrite(read, write), SPARK_SCHEMA), plan, is_new, branches)
        through = transformed(self.decoding(frame, read), flow.transforms)
        return Batch(through.records.mapInArrow(write, SPARK_SCHEMA), plan, is_new, branches, through.held)

    def decoding(self, frame: DataFrame, read: ReadDecode) -> DataFrame:
        """The batch's records as they travel through Spark SQL."""
        return frame.mapInArrow(read, spark_schema(travelling(self.decoded)))


def assemble(session: SparkSession, plan: RunPlan, kinds: Kinds, state: State) -> Assembly:
    """Make the flow's sinks ready for what it yields; every refusal comes from here, before the first batch."""
    decoded, shape = analysed(session, plan, kinds)
    schemas = {SINK: shape.columns, DEAD_LETTERS: DEAD_LETTER_SCHEMA}
    sinks = sinks_of(plan, kinds)
    for name, sink in sinks.items():
        sink.prepare(schemas[name])
    return Assembly(plan, kinds, state, sinks, decoded, shape)


def analysed(session: SparkSession, plan: RunPlan, kinds: Kinds) -> tuple[pa.Schema, Shape]:
    """What the flow's decoder yields and what its transforms make of that; nothing but Spark's analysis is asked."""
    decoded = decoder_of(plan.flow, kinds)().schema
    refuse_taken_names(decoded)
    if not plan.flow.transforms:
        return decoded, Shape(decoded.append(pa.field(SOURCE_COLUMN, SOURCE)))
    return decoded, shape_of(session, decoded, plan.flow.transforms)


def sinks_of(plan: RunPlan, kinds: Kinds) -> dict[str, Sink]:
    """The sinks that the plan names, by branch; none is touched yet."""
    return {name: kinds.sinks[write.kind].build(write.options, owner=f"{plan.name}:{plan.flow.name}:{name}") for name, write in plan.flow.writes.items()}


def branches_of(plan: RunPlan, sinks: Mapping[str, Sink], state: State, batch: BatchPlan) -> list[Branch]:
    """Each sink with the token under which it commits this batch."""
    ids = state.format.flows[plan.flow.name]
    return [
        Branch(
            name,
            in_words(write),
            sinks[name],
            CommitToken(state.format.pipeline, ids["id"], ids[name], Generation(batch.generation), batch.batch, batch.digest),
        )
        for name, write in plan.flow.writes.items()
    ]


def refuse_taken_names(columns: pa.Schema) -> None:
    """Every record carries columns of ours at its end; the schema may not use their names."""
    if taken := sorted(set(columns.names) & set(CARRIED)):
        raise PlanRefused(
            f"the schema names the field {', '.join(f'`{name}`' for name in taken)}, which Penstock keeps for where a record came from",
            code="name_taken",
            where="decode.schema",
            next_step="leave the field out of the schema",
        )


def decoder_of(flow: Flow, kinds: Kinds) -> Callable[[], Decoder]:
    """How a task makes the flow's decoder; picklable."""
    return functools.partial(kinds.decoders[flow.decode.kind].build, flow.decode.options)


def in_words(write: WriteStep) -> str:
    """A target for people and the ledger."""
    return " ".join([write.kind, str(getattr(write.options, "path", ""))]).strip()
