"""What was written, as plain values that remember their lines: both YAML and Python come to this before anything is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.errors import Fault, SpecError

Value: TypeAlias = bool | int | float | str | tuple["Value", ...] | dict[str | int, "Value"] | None
Block: TypeAlias = dict[str | int, Value]
Path: TypeAlias = tuple[str | int, ...]


class Loose(str):
    """Text from a reference or from `--set`, where no quotes tell a number from text: the field that takes it decides."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong at one path, before it has its line."""

    path: Path
    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Document:
    """The values written, the file as the user named it, and the directory that relative paths in it start from."""

    values: Block
    file: str
    directory: str
    lines: Mapping[Path, int | None] = field(default_factory=dict)
    line: int | None = None

    def line_of(self, path: Path) -> int | None:
        """The line of the value at `path`, or of the nearest block around it; None for what stands in no file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return self.line

    def error(self, findings: Iterable[Finding]) -> SpecError:
        """Every finding as a fault with its line, in the order of the file."""
        keys = list(self.values)
        ordered = sorted(findings, key=lambda each: (self.line_of(each.path) or 0, keys.index(each.path[0]) if each.path[0] in keys else -1))
        faults = {Fault(self.dotted(each.path), self.line_of(each.path), each.what, each.remedy): None for each in ordered}
        return SpecError(tuple(faults), file=self.file)

    def dotted(self, path: Path) -> str:
        """A path as the user writes it: `transform[0].where`, and the same for `--set`."""
        text = ""
        value: Value = self.values
        for step in path:
            if isinstance(value, tuple):
                text += f"[{step}]"
            else:
                name = f'"{step}"' if "." in str(step) else str(step)
                text += f".{name}" if text else name
            value = at(value, (step,))
        return text or "pipeline"


def at(values: Value, path: Path) -> Value:
    """The value at `path`, or None where there is none."""
    here = values
    for step in path:
        if isinstance(here, dict):
            here = here.get(step)
        elif isinstance(here, tuple) and isinstance(step, int) and step < len(here):
            here = here[step]
        else:
            return None
    return here


def replaced(values: Value, path: Path, value: Value) -> Value:
    """The same values with `value` at `path`; blocks that are missing on the way are made."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(values, tuple) and isinstance(step, int):
        return (*values[:step], replaced(values[step], rest, value), *values[step + 1 :])
    block = values if isinstance(values, dict) else {}
    return {**block, step: replaced(block.get(step), rest, value)}


def leaves(values: Value, path: Path = ()) -> Iterable[tuple[Path, Value]]:
    """Every scalar with its path."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield from leaves(value, (*path, key))
    elif isinstance(values, tuple):
        for index, value in enumerate(values):
            yield from leaves(value, (*path, index))
    else:
        yield path, values
