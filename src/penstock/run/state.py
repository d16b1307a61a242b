"""The state folder of a pipeline: whose it is, in which format, and where its parts lie.

    state/format                          format version, writer, the ids of pipeline, flow and sinks
    state/ledger/                         one entry a batch
    state/queries/main/checkpoint/        Spark's own checkpoint
    state/queries/main/plans/             one plan file a batch, by generation

Ids are made at first start and never change; the names in the file are labels.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

import msgspec

from penstock.errors import Fatal, PlanRefused
from penstock.storage import Storage
from penstock.values import Generation

FORMAT = 1
NAME = "format"


class StateFormat(msgspec.Struct, frozen=True):
    """What `state/format` says."""

    format: int
    written_by: str
    pipeline: str
    name: str
    flows: Mapping[str, Mapping[str, str]]
    """For each flow its own id under `id`, and the id of each of its sinks."""


@dataclass(frozen=True, slots=True)
class State:
    """The opened state folder of one pipeline."""

    root: Storage
    format: StateFormat

    @property
    def ledger(self) -> Storage:
        return self.root.at("ledger")

    @property
    def checkpoint(self) -> Storage:
        return self.root.at("queries/main/checkpoint")

    @property
    def plans(self) -> Storage:
        return self.root.at("queries/main/plans")

    def generation(self) -> Generation:
        """The id of the checkpoint's query, which Spark writes at its first start."""
        try:
            return Generation(json.loads(self.checkpoint.read("metadata") or b"")["id"])
        except (ValueError, KeyError, TypeError) as error:
            raise Fatal(
                "the checkpoint cannot be trusted: `metadata` is not there or does not parse",
                code="checkpoint_corrupt",
                where=self.checkpoint.uri,
                next_step="nothing was read or written; restore the checkpoint from a backup, the tables hold what was committed",
            ) from error


def find_state(root: Storage, name: str) -> State | None:
    """The state of the pipeline `name` if there is one; a folder that is not its own is refused. Writes nothing."""
    content = root.read(NAME)
    if content is None:
        if root.names():
            raise PlanRefused(
                "the state folder holds files, but not the state of a pipeline",
                code="state_foreign",
                where=root.uri,
                next_step="name an empty or new folder as `state`",
            )
        return None
    state = State(root, _parse(content, root))
    if state.format.name != name:
        raise PlanRefused(
            f"the state folder is that of the pipeline `{state.format.name}`, this file describes `{name}`",
            code="state_of_another",
            where=root.uri,
            next_step="give each pipeline a `state` folder of its own",
        )
    return state


def open_state(root: Storage, name: str, flow: str) -> State:
    """The state of the pipeline `name`, made if there is none; a folder that is not its own is refused."""
    found = find_state(root, name)
    if found is not None:
        return found
    fresh = StateFormat(FORMAT, f"penstock {version('penstock')}", _id(), name, {flow: {"id": _id(), "sink": _id(), "dead_letters": _id()}})
    root.create(NAME, msgspec.json.format(msgspec.json.encode(fresh)) + b"\n")
    return open_state(root, name, flow)  # what lies there now: another start may have been first


def _parse(content: bytes, root: Storage) -> StateFormat:
    try:
        number = json.loads(content)["format"]
        if isinstance(number, int) and number > FORMAT:
            raise PlanRefused(
                f"the state was written in format {number}, this version of Penstock knows format {FORMAT}",
                code="state_newer",
                where=root.uri,
                next_step="run the newer version of Penstock that wrote it, or go back to a backup of the state",
            )
        return msgspec.json.decode(content, type=StateFormat)
    except (ValueError, KeyError, TypeError, msgspec.DecodeError) as error:
        raise Fatal(
            "the file `format` of the state folder does not parse",
            code="state_corrupt",
            where=root.uri,
            next_step="restore the state folder from a backup; nothing was read or written",
        ) from error


def _id() -> str:
    return uuid.uuid4().hex[:16]
