"""From a plan to what a batch needs: sinks that are ready, a chain for the tasks, tokens."""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from penstock.errors import PlanRefused
from penstock.kinds import Kinds
from penstock.plan.steps import DEAD_LETTERS, SINK, Filter, Flow, Query, RunPlan, Select
from penstock.plan.steps import Write as WriteStep
from penstock.records import DEAD_LETTERS as DEAD_LETTER_SCHEMA
from penstock.records import SOURCE, SOURCE_COLUMN, Decoder
from penstock.run.batch import Batch, Branch
from penstock.run.batch_plan import BatchPlan
from penstock.run.chain import ReadDecode, ReadDecodeWrite, Write
from penstock.run.report import SPARK_SCHEMA
from penstock.run.sorting import Origin, travelling
from penstock.run.state import State
from penstock.sink.port import Sink
from penstock.transform.rows import CARRIED, keep_where, select_columns
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
    columns: pa.Schema
    """What the decoder yields."""

    def batch(self, frame: DataFrame, plan: BatchPlan, *, is_new: bool) -> Batch:
        """What `run_batch` takes: this flow, applied to the records of one batch."""
        ids = self.state.format.flows[self.plan.flow.name]
        branches = [Branch(name, in_words(write), self.sinks[name], self._token(ids["id"], ids[name], plan)) for name, write in self.plan.flow.writes.items()]
        return Batch(self._reports(frame, plan), plan, is_new, branches)

    def _reports(self, frame: DataFrame, plan: BatchPlan) -> DataFrame:
        """The one Spark job of the batch, not run yet: neighbours in Python are one pass, Spark SQL stands between two."""
        flow = self.plan.flow
        read = ReadDecode({item.topic: item.topic_id for item in plan.ranges}, decoder_of(flow, self.kinds))
        origin = Origin(self.plan.name, flow.name, plan.generation, plan.batch)
        write = Write(origin, {name: sink.stage() for name, sink in self.sinks.items()})
        if not flow.transforms:
            return frame.mapInArrow(ReadDecodeWrite(read, write), SPARK_SCHEMA)
        decoded = frame.mapInArrow(read, from_arrow_schema(travelling(self.columns)))
        return transformed(decoded, flow).mapInArrow(write, SPARK_SCHEMA)

    def _token(self, flow: str, sink: str, plan: BatchPlan) -> CommitToken:
        return CommitToken(self.state.format.pipeline, flow, sink, Generation(plan.generation), plan.batch, plan.digest)


def assemble(session: SparkSession, plan: RunPlan, kinds: Kinds, state: State) -> Assembly:
    """Make the flow's sinks ready for what it yields; every refusal comes from here, before the first batch."""
    flow = plan.flow
    columns = decoder_of(flow, kinds)().schema
    refuse_taken_names(columns)
    schemas = {SINK: output_schema(session, columns, flow), DEAD_LETTERS: DEAD_LETTER_SCHEMA}
    sinks: dict[str, Sink] = {}
    for name, write in flow.writes.items():
        sinks[name] = kinds.sinks[write.kind].build(write.options, owner=f"{plan.name}:{flow.name}:{name}")
        sinks[name].prepare(schemas[name])
    return Assembly(plan, kinds, state, sinks, columns)


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


def output_schema(session: SparkSession, columns: pa.Schema, flow: Flow) -> pa.Schema:
    """The columns that reach the sink, as Spark analyses the flow's expressions over an empty frame."""
    if not flow.transforms:
        return columns.append(pa.field(SOURCE_COLUMN, SOURCE))
    empty = session.createDataFrame([], from_arrow_schema(travelling(columns)))
    found = to_arrow_schema(transformed(empty, flow).schema)
    return pa.schema([*(item for item in found if item.name not in CARRIED), pa.field(SOURCE_COLUMN, SOURCE)])


def transformed(frame: DataFrame, flow: Flow) -> DataFrame:
    """The flow's transforms, in order."""
    for step in flow.transforms:
        match step:
            case Filter(where):
                frame = keep_where(frame, where)
            case Select(columns):
                frame = select_columns(frame, columns)
            case Query():
                raise PlanRefused(
                    "this version of Penstock does not have the transform `sql` yet",
                    code="transform_missing",
                    next_step="write it as `filter` and `select` steps",
                )
    return frame


def in_words(write: WriteStep) -> str:
    """A target for people and the ledger."""
    return " ".join([write.kind, str(getattr(write.options, "path", ""))]).strip()
