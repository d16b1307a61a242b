"""What will happen, as data: the closed set of steps that a pipeline is made of.

`plan.build` makes them from the spec, `plan.explain` prints them, `run` carries them out; all three walk the same list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.kinds import Options

SINK, DEAD_LETTERS = "sink", "dead_letters"
"""The branches of a flow, by name."""

Position = Literal["earliest", "latest"] | int
"""Where one partition starts: at an end of its log or at an offset."""


@dataclass(frozen=True, slots=True)
class StartAtTime:
    """Start every partition at its first record at or after this time, in milliseconds since 1970 UTC."""

    epoch_millis: int


@dataclass(frozen=True, slots=True)
class StartAtOffsets:
    """Start the named partitions where each says; every partition that is not named starts at `otherwise`."""

    offsets: Mapping[str, Mapping[int, Position]]
    otherwise: Literal["earliest", "latest"] = "earliest"


Start = Literal["earliest", "latest"] | StartAtTime | StartAtOffsets


@dataclass(frozen=True, slots=True)
class ReadKafka:
    """Read these topics; `reader` says which data plane does it."""

    servers: str
    topics: tuple[str, ...]
    start: Start
    on_gap: Literal["stop", "record"]
    reader: Literal["spark"]


@dataclass(frozen=True, slots=True)
class Decode:
    """Bytes become rows and faults, by the decoder of this kind."""

    kind: str
    options: Options


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep the rows for which this Spark SQL expression is true."""

    where: str


@dataclass(frozen=True, slots=True)
class Select:
    """Make these columns, Spark SQL expressions over the row; coordinates are kept by themselves."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """Run this whole Spark SQL query over the view `input`."""

    sql: str


Transform = Filter | Select | Query


@dataclass(frozen=True, slots=True)
class Write:
    """Rows (or dead letters) go to the sink of this kind, under this promise."""

    kind: str
    options: Options
    promise: str


@dataclass(frozen=True, slots=True)
class Every:
    """Begin a batch at this interval."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Continuously:
    """Begin a batch as soon as there is data and the last one has ended."""


@dataclass(frozen=True, slots=True)
class UntilCaughtUp:
    """Read what there is now, in batches, then end."""


Trigger = Every | Continuously | UntilCaughtUp


@dataclass(frozen=True, slots=True)
class FixedRate:
    """At most this many records a batch."""

    records_per_batch: int = 500_000


@dataclass(frozen=True, slots=True)
class Flow:
    """One way that records take: decoded, transformed, written; what cannot be decoded goes to the dead letters."""

    name: str
    decode: Decode
    transforms: tuple[Transform, ...]
    sink: Write
    dead_letters: Write | None

    @property
    def writes(self) -> Mapping[str, Write]:
        """Everything that it writes, by branch, in the order of the commits."""
        branches = {SINK: self.sink, DEAD_LETTERS: self.dead_letters}
        return {name: write for name, write in branches.items() if write is not None}


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything that `run` needs to know of a pipeline.

    `spec` is the file as resolved (schemas inlined, secrets as references): building a plan from it again gives this
    plan, whatever became of the files in the meantime. A batch's plan file carries it, so that a pending batch ends as
    it was begun.
    """

    name: str
    source: ReadKafka
    flow: Flow
    trigger: Trigger
    rate: FixedRate
    state: str
    spec: str
