"""From a plan to what a batch needs: sinks that are ready, a chain for the tasks, tokens."""

from __future__ import annotations

import functools
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.kinds import Kinds
from penstock.plan.steps import RunPlan
from penstock.records import DEAD_LETTERS as DEAD_LETTER_SCHEMA
from penstock.records import SOURCE
from penstock.run.batch import Batch, Branch
from penstock.run.batch_plan import BatchPlan
from penstock.run.chain import DEAD_LETTERS, SINK, Chain
from penstock.run.sorting import SOURCE_COLUMN, Origin
from penstock.run.state import State
from penstock.sink.port import Sink
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

    def batch(self, frame: DataFrame, plan: BatchPlan, *, is_new: bool) -> Batch:
        """What `run_batch` takes: this flow, applied to the records of one batch."""
        flow = self.plan.flow
        ids = self.state.format.flows[flow.name]
        branches = [Branch(name, target_of(self.plan, name), sink, self._token(ids["id"], ids[name], plan)) for name, sink in self.sinks.items()]
        chain = Chain(
            origin=Origin(self.plan.name, flow.name, plan.generation, plan.batch),
            topic_ids={item.topic: item.topic_id for item in plan.ranges},
            decoder=functools.partial(self.kinds.decoders[flow.decode.kind].build, flow.decode.options),
            stages={name: sink.stage() for name, sink in self.sinks.items()},
        )
        return Batch(frame, plan, is_new, chain, branches)

    def _token(self, flow: str, sink: str, plan: BatchPlan) -> CommitToken:
        return CommitToken(self.state.format.pipeline, flow, sink, Generation(plan.generation), plan.batch, plan.digest)


def assemble(plan: RunPlan, kinds: Kinds, state: State) -> Assembly:
    """Make the flow's sinks ready for what its decoder yields; every refusal comes from here, before the first batch."""
    flow = plan.flow
    decoder = kinds.decoders[flow.decode.kind].build(flow.decode.options)
    rows = decoder.schema.append(pa.field(SOURCE_COLUMN, SOURCE))
    wanted = {SINK: (flow.sink, rows)}
    if flow.dead_letters is not None:
        wanted[DEAD_LETTERS] = (flow.dead_letters, DEAD_LETTER_SCHEMA)
    sinks: dict[str, Sink] = {}
    for name, (write, schema) in wanted.items():
        sinks[name] = kinds.sinks[write.kind].build(write.options, owner=f"{plan.name}:{flow.name}:{name}")
        sinks[name].prepare(schema)
    return Assembly(plan, kinds, state, sinks)


def target_of(plan: RunPlan, branch: str) -> str:
    """The branch's sink in words, for people and the ledger."""
    write = plan.flow.sink if branch == SINK else plan.flow.dead_letters
    assert write is not None
    return " ".join([write.kind, str(getattr(write.options, "path", ""))]).strip()
