"""Which steps run together: neighbours that run in Python become one pass over the rows, and SQL stands between passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.plan.steps import Decode, Flow, ReadKafka, RunPlan, Transform, Write

Step = ReadKafka | Decode | Transform | Write
Engine = Literal["kafka_source", "python", "sql"]


@dataclass(frozen=True, slots=True)
class Pass:
    """Steps that one engine carries out without handing rows on in between.

    `kafka_source` is Spark's own reader, `python` one Arrow function inside the Spark tasks, `sql` Spark SQL.
    """

    engine: Engine
    steps: tuple[Step, ...]


def passes(plan: RunPlan) -> tuple[Pass, ...]:
    """The passes of a batch, in order; joining their steps gives the steps of the plan."""
    flow = plan.flow
    read = Pass("kafka_source", (plan.source,))
    writes = tuple(flow.writes.values())
    if not flow.transforms:
        return read, Pass("python", (flow.decode, *writes))
    return read, Pass("python", (flow.decode,)), Pass("sql", flow.transforms), Pass("python", writes)


def why(flow: Flow) -> str:
    """Why the passes are cut as they are, in one sentence."""
    if not flow.transforms:
        return "No SQL: a record is decoded and written in one pass inside the Spark tasks."
    return "The transform is SQL: rows cross to Spark SQL after decoding, and back to be written."
