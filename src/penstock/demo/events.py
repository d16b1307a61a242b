"""What the demo tells while it happens, as values; how it looks is for the command to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.demo.figures import Figures
from penstock.demo.place import Place
from penstock.demo.victim import Kill
from penstock.observe.gather import Audit


@dataclass(frozen=True, slots=True)
class Opened:
    """The demo begins."""

    records: int
    partitions: int
    seed: int


@dataclass(frozen=True, slots=True)
class StepBegun:
    what: str


@dataclass(frozen=True, slots=True)
class StepMoved:
    """How far the step is that has begun last."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class StepDone:
    """The step that has begun last is over."""

    what: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Fetched:
    """Something is being fetched from the network: bytes so far, bytes in all."""

    label: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class PipelineShown:
    """The file that the pipeline is, as the user could have written it."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class RunBegun:
    """The pipeline is started, the first time or again after a kill."""

    attempt: int
    command: str
    pending: int | None
    """The batch that the last kill interrupted."""


@dataclass(frozen=True, slots=True)
class RunMoved:
    """How many records are committed, of how many; the batch that is being worked on, if one has begun."""

    records: int
    total: int
    batch: int | None


@dataclass(frozen=True, slots=True)
class BatchFinished:
    """A batch that a kill had interrupted is in the tables."""

    batch: int
    version: int
    seconds: float
    """Since the pipeline was started again."""


@dataclass(frozen=True, slots=True)
class Killed:
    kill: Kill
    number: int


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The pipeline has caught up and ended by itself."""

    place: Place
    batches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Audited:
    audit: Audit
    seconds: float


@dataclass(frozen=True, slots=True)
class Closed:
    """The end, right or wrong."""

    figures: Figures
    place: Place
    servers: str


Event: TypeAlias = (
    Opened | StepBegun | StepMoved | StepDone | Fetched | PipelineShown | RunBegun | RunMoved | BatchFinished | Killed | RunEnded | Audited | Closed
)
