"""The dev stack that outlives the command that starts it: up, status, down, over one folder with one state file."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from penstock.devstack.jars import jars_for
from penstock.devstack.java import find_java
from penstock.devstack.kraft import Node, demand_free, free_ports
from penstock.devstack.launch import answers, launch, wait_until_ready
from penstock.devstack.places import state_directory, write_atomically
from penstock.devstack.processes import Process
from penstock.devstack.progress import Progress, silent
from penstock.errors import PlanRefused

DEFAULT_PORT = 9092
GRACE_SECONDS = 20.0
ANSWER_SECONDS = 3.0

Change = Literal["started", "stopped", "none"]


@dataclass(frozen=True, slots=True)
class StackStatus:
    """How the stack in `directory` stands, and what the call that says so has changed. Of a stack that is down only the folder is known."""

    directory: Path
    running: bool
    answering: bool
    change: Change
    servers: str = ""
    pid: int | None = None
    since: str = ""
    log_file: Path | None = None


@dataclass(frozen=True, slots=True)
class _State:
    """What the state file holds: the broker's process by identity, and how to reach it."""

    pid: int
    started: str
    servers: str
    since: str
    log_file: str

    @property
    def process(self) -> Process:
        return Process(self.pid, self.started)


def up(directory: Path | None = None, *, port: int = DEFAULT_PORT, heap_megabytes: int = 512, progress: Progress = silent) -> StackStatus:
    """Start a broker that stays until `down`, on the data of `directory`; one that runs there already is reported as it is.

    `port` 0 takes a free one. A port that another program has is refused.
    """
    home = _home(directory)
    with _alone(home):
        state = _running(home)
        if state is not None:
            return _described(home, state, "none")
        free, controller_port = free_ports(2)
        demand_free(port or free)
        node = Node(home, port or free, controller_port, find_java(), jars_for("broker", progress=progress), heap_megabytes=heap_megabytes)
        node.prepare()
        return _described(home, _start(node), "started")


def status(directory: Path | None = None) -> StackStatus:
    """How the stack stands; changes nothing. A state file left by a reboot or a kill is seen to be stale."""
    home = _home(directory)
    return _described(home, _running(home), "none")


def down(directory: Path | None = None, *, delete_data: bool = False) -> StackStatus:
    """Stop the stack, and nothing else: a process that merely has its old pid is let alone. `delete_data` forgets all topics too."""
    home = _home(directory)
    if not home.is_dir():
        return _described(home, None, "none")
    with _alone(home):
        state = _running(home)
        if state is not None:
            state.process.end(grace_seconds=GRACE_SECONDS)
        _state_file(home).unlink(missing_ok=True)
        if delete_data:
            shutil.rmtree(home / "data", ignore_errors=True)
        return _described(home, None, "stopped" if state is not None else "none")


def _start(node: Node) -> _State:
    process, _ = launch(node.command(), node.log_file, watched=False)
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    state = _State(process.pid, process.started, node.servers, since, str(node.log_file))
    try:
        # Before it answers, so that `down` finds it should this process be killed meanwhile.
        write_atomically(_state_file(node.folder), json.dumps({"format": 1, "broker": asdict(state)}, indent=1) + "\n")
        wait_until_ready(node, process)
    except BaseException:  # Ctrl-C as well: what did not come up is not left behind
        process.end(grace_seconds=0)
        _state_file(node.folder).unlink(missing_ok=True)
        raise
    return state


def _running(home: Path) -> _State | None:
    """The stack that the state file tells of, if its process still runs."""
    try:
        state = _State(**json.loads(_state_file(home).read_text(encoding="utf-8"))["broker"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return state if state.process.alive() else None


def _described(home: Path, state: _State | None, change: Change) -> StackStatus:
    if state is None:
        return StackStatus(home, running=False, answering=False, change=change)
    answering = change == "started" or answers(state.servers, seconds=ANSWER_SECONDS)
    return StackStatus(home, True, answering, change, state.servers, state.pid, state.since, Path(state.log_file))


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Hold the folder for this call; `PlanRefused` when another `up` or `down` is at it. The system lets go if we die."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            what, step = "another command is starting or stopping this stack", "wait for it, then run this one again"
            raise PlanRefused(what, code="stack_busy", where=str(home), next_step=step) from None
        yield


def _home(directory: Path | None) -> Path:
    return (directory or state_directory()).expanduser().absolute()


def _state_file(home: Path) -> Path:
    return home / "stack.json"
