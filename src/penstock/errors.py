"""Every error of Penstock, as one tree ordered by what the caller does next.

    PenstockError              1  a bug of ours, unless a branch below says otherwise
    ├── SpecError              2  fix the file: carries every fault at once
    ├── PlanRefused            3  the plan is refused; the next step says which flag accepts it, if one does
    ├── StoppedByData          4  the data, not the system, stopped the pipeline
    ├── Fatal                  5  a person has to look
    └── Retryable              6  outside trouble; running again is safe
        └── OutcomeUnknown     6  the reply was lost: look for the token before anything else

The number is the exit code of the command. An error says what happened, where, and the next step; it never quotes a
record's payload nor a secret. Foreign errors are translated once, at the port where they enter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class PenstockError(Exception):
    """What went wrong (`what`), where (`where`) and what to do next (`next_step`), under a stable `code`."""

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, code: str, where: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what, self.code, self.where, self.next_step = what, code, where, next_step

    def __reduce__(self) -> tuple[Callable[..., PenstockError], tuple[Any, ...]]:
        return _restore, (type(self), self.what, self.code, self.where, self.next_step)

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"where: {self.where}")
        if self.next_step:
            lines.append(f"next:  {self.next_step}")
        return "\n".join(lines)


def _restore(kind: type[PenstockError], what: str, code: str, where: str, next_step: str) -> PenstockError:
    return kind(what, code=code, where=where, next_step=next_step)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with what the user wrote: its path in the file, its line, what is wrong and the remedy."""

    path: str
    line: int | None
    what: str
    remedy: str


class SpecError(PenstockError):
    """The file must be mended; `faults` holds everything found, in the order of the file."""

    exit_code = 2

    def __init__(self, faults: Sequence[Fault], *, file: str = "", code: str = "spec_invalid") -> None:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(count, code=code, where=file, next_step="mend the file, then run `penstock validate` again")
        self.faults, self.file = tuple(faults), file

    def __reduce__(self) -> tuple[Callable[..., PenstockError], tuple[Any, ...]]:
        return _restore_spec, (self.faults, self.file, self.code)

    def __str__(self) -> str:
        lines = [f"{self.file or 'pipeline'}: {self.what}"]
        for fault in self.faults:
            line = f"line {fault.line}: " if fault.line is not None else ""
            lines += [f"  {line}{fault.path}: {fault.what}", f"      {fault.remedy}"]
        return "\n".join(lines)


def _restore_spec(faults: Sequence[Fault], file: str, code: str) -> SpecError:
    return SpecError(faults, file=file, code=code)


class PlanRefused(PenstockError):
    """What was asked for would break a promise; the next step names the flag that accepts it, or another way."""

    exit_code = 3


class StoppedByData(PenstockError):
    """The data calls for a decision: a gap, a record that a transform cannot take, too many dead letters."""

    exit_code = 4


class Fatal(PenstockError):
    """Going on could lose or double records; a person has to look first."""

    exit_code = 5


class Retryable(PenstockError):
    """Something outside failed for now; the supervisor tries again, and so may a scheduler."""

    exit_code = 6


class OutcomeUnknown(Retryable):
    """A commit was sent and its answer lost; whoever retries must look for the token first."""
