"""The port of the sink room: what `run` asks of every sink, and what a sink may answer.

A sink has two halves. The *stage* travels to the tasks and takes rows there; what it staged is invisible until the
*committer*, on the driver, makes all of it visible in one compare-and-set on the token. Only descriptions travel back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from penstock.values import BatchCounts, CommitToken, Generation


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a sink still knows of a commit: the place in its history and, while that is kept, what the commit carried."""

    version: int | None
    counts: BatchCounts | None


@dataclass(frozen=True, slots=True)
class Written:
    """This call made the batch visible."""

    evidence: Evidence


@dataclass(frozen=True, slots=True)
class AlreadyWritten:
    """The same batch, by token and digest, was visible before; this call added nothing."""

    evidence: Evidence


Outcome = Written | AlreadyWritten


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """Which attempt of which task of which batch stages: names made from it are never used twice."""

    batch: int
    task: int
    attempt: int


class RowWriter(Protocol):
    """Takes the rows of one task; nothing of it can be seen by readers of the sink."""

    def write(self, rows: pa.RecordBatch) -> None:
        """Take some rows."""
        ...

    def close(self) -> Sequence[str]:
        """End the task's part; the answers describe what was staged, in the sink's own form."""
        ...

    def abandon(self) -> None:
        """The task failed: remove what was staged, as far as that is possible."""
        ...


class Stage(Protocol):
    """The half of a sink that travels to the tasks; picklable."""

    def open(self, place: TaskPlace) -> RowWriter:
        """A writer for one attempt of one task."""
        ...


class Sink(Protocol):
    """The half of a sink that stays on the driver."""

    def check(self, schema: pa.Schema | None) -> None:
        """Refuse a target that cannot take rows of this schema, by looking only; None where the schema is not known yet."""
        ...

    def prepare(self, schema: pa.Schema) -> None:
        """Make the target ready for rows of this schema, or refuse it by name; called once, before the first batch."""
        ...

    def adopt(self, pipeline: str, generation: Generation, *, accept: bool = False) -> None:
        """Refuse a target that holds batches of another generation of this pipeline, unless the user accepts that."""
        ...

    def find(self, token: CommitToken) -> Evidence | None:
        """What is known of this token's commit, or None where the batch is not in. Refuses a token that cannot be trusted."""
        ...

    def stage(self) -> Stage:
        """The half for the tasks."""
        ...

    def provenance(self) -> Iterator[pa.StructArray] | None:
        """The coordinates of every row that a reader sees now; None where the sink cannot be read back."""
        ...

    def discard(self, staged: Sequence[str]) -> None:
        """Remove what was staged and will not be committed, so that a batch that fails again and again fills no disk."""
        ...

    def commit(self, staged: Sequence[str], token: CommitToken, counts: BatchCounts) -> Outcome:
        """Make everything staged visible at once under this token, or find that it was; `counts` are kept with the commit."""
        ...
