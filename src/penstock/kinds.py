"""What a kind is: a name that the file may use after `type:`, the options that follow it, and how it is built.

A room describes its kinds with cheap imports only (`penstock validate` loads them all); `build` imports what is heavy.
`builtin.py` is the one list of those shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

O = TypeVar("O", bound="Options")  # noqa: E741 - the options type of a kind


class Options(BaseModel):
    """The base of every block in the file: frozen, unknown keys are faults, nothing is converted silently.

    A list of the file arrives as a tuple. Each field has a `description`: the reference is made of them. `not_yet` names
    keys that users may expect and that this version lacks, each with what to write instead.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    not_yet: ClassVar[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Location:
    """Marks a field that holds a path or a URI: a relative path is meant from the pipeline's file."""


@dataclass(frozen=True, slots=True)
class FileText:
    """Marks a field whose text may stand in a file: a value with one of these endings names the file, and its text is taken."""

    endings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing that an options model's own validator found wrong, and the remedy; `at` leads on from the field."""

    what: str
    remedy: str
    at: tuple[str | int, ...] = ()


def wrong(what: str, remedy: str) -> PydanticCustomError:
    """The exception that a validator raises: the user reads these very words."""
    return all_wrong([Wrong(what, remedy)])


def all_wrong(found: Sequence[Wrong]) -> PydanticCustomError:
    """The exception that a validator raises for everything it found at once."""
    return PydanticCustomError("wrong", "wrong", {"found": tuple(found)})


@dataclass(frozen=True, slots=True)
class Kind(Generic[O]):
    """One decoder, transform or sink that the file may name.

    `summary` is what it is for, in one line. `promise` is the guarantee of a sink, as one line for `plan` and the
    documentation. `build` makes the port's implementation from the options and what the room's builder passes besides.
    """

    name: str
    options: type[O]
    build: Callable[..., Any]
    promise: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Every kind there is, by room and name: a value that is handed down, never a global that is looked up."""

    decoders: Mapping[str, Kind[Any]]
    transforms: Mapping[str, Kind[Any]]
    sinks: Mapping[str, Kind[Any]]

    @staticmethod
    def of(*, decoders: Iterable[Kind[Any]], transforms: Iterable[Kind[Any]], sinks: Iterable[Kind[Any]]) -> Kinds:
        """The registry over these kinds; two of one name in a room are a mistake of ours."""
        return Kinds(_by_name(decoders), _by_name(transforms), _by_name(sinks))


def _by_name(kinds: Iterable[Kind[Any]]) -> Mapping[str, Kind[Any]]:
    named: dict[str, Kind[Any]] = {}
    for kind in kinds:
        if kind.name in named:
            raise ValueError(f"two kinds are named {kind.name!r}")
        named[kind.name] = kind
    return named
