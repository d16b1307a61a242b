"""The console sink: the first rows of each batch on standard output. At least once: a batch that is repeated is printed again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import pyarrow as pa

from penstock.sink.port import Evidence, Outcome, TaskPlace, Written
from penstock.values import BatchCounts, CommitToken, Generation


@dataclass(frozen=True, slots=True)
class ConsoleStage:
    """Carries the first rows of each task to the driver, as JSON."""

    rows: int

    def open(self, place: TaskPlace) -> ConsoleWriter:
        return ConsoleWriter(self.rows)


@dataclass(slots=True)
class ConsoleWriter:
    """Keeps the first rows of one task."""

    rows: int
    _kept: list[str] = field(default_factory=list)

    def write(self, rows: pa.RecordBatch) -> None:
        for row in rows.slice(0, self.rows - len(self._kept)).to_pylist():
            self._kept.append(msgspec.json.encode(row, enc_hook=str).decode())

    def close(self) -> Sequence[str]:
        return self._kept

    def abandon(self) -> None:
        self._kept.clear()


class ConsoleSink:
    """Prints; remembers nothing."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def check(self, schema: pa.Schema | None) -> None:
        """Any rows can be printed."""

    def prepare(self, schema: pa.Schema) -> None:
        """Any rows can be printed."""

    def adopt(self, pipeline: str, generation: Generation, *, accept: bool = False) -> None:
        """A terminal belongs to nobody."""

    def find(self, token: CommitToken) -> Evidence | None:
        return None

    def stage(self) -> ConsoleStage:
        return ConsoleStage(self._rows)

    def provenance(self) -> None:
        return None

    def discard(self, staged: Sequence[str]) -> None:
        """What was staged is gone with the task's report."""

    def commit(self, staged: Sequence[str], token: CommitToken, counts: BatchCounts) -> Outcome:
        shown = staged[: self._rows]
        left = f", the first {len(shown)}" if len(shown) < counts.rows else ""
        sys.stdout.write(f"-- batch {token.batch}: {counts.rows} rows{left}\n" + "".join(f"{row}\n" for row in shown))
        sys.stdout.flush()
        return Written(Evidence(None, counts))
