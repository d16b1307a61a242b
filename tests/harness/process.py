"""A pipeline as a user runs it: the command in a process group of its own, killed at a kill point or from outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.history import HistoryVerdict, Watcher, delta_files, judge_history
from harness.load import SCHEMA, read_topic
from harness.oracle import Verdict, delta_rows, judge

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
KILLED = -signal.SIGKILL


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    output: str
    errors: str

    def events(self, name: str) -> list[dict[str, Any]]:
        """The structured log lines of this name."""
        return events(self.errors, name)


def events(log: str, name: str) -> list[dict[str, Any]]:
    """The structured lines of this name in a log; one that is being written is left out."""
    lines = [json.loads(line) for line in log.splitlines(keepends=True) if line.startswith("{") and line.endswith("}\n")]
    return [line for line in lines if line.get("event") == name]


@dataclass(frozen=True)
class Instance:
    """One run of the command, whose log can be read while it runs. It is killed when its `with` ends."""

    process: subprocess.Popen[str]
    log: Path

    def __enter__(self) -> Instance:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def errors(self) -> str:
        return self.log.read_text()

    def events(self, name: str) -> list[dict[str, Any]]:
        """The structured log lines of this name until now."""
        return events(self.errors, name)

    @property
    def java(self) -> int:
        """The pid of its JVM."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        (java,) = (int(child) for child in children if Path(f"/proc/{child}/comm").read_text().strip() == "java")
        return java

    def wait_until(self, true: Callable[[], bool], what: str, *, seconds: float = 90, pause: float = 0.05) -> None:
        """Wait until it is true, while this instance runs."""
        deadline = time.monotonic() + seconds
        while not true():
            assert self.process.poll() is None, f"it ended with {self.process.returncode} before {what}:\n{self.errors[-4000:]}"
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}\n{self.errors[-4000:]}"
            time.sleep(pause)

    def ended(self, seconds: float = 150) -> Ended:
        """How it ended, once it has."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running after {seconds} s:\n{self.errors[-4000:]}") from None
        return Ended(code, self.log.with_suffix(".out").read_text(), self.errors)

    def signal(self, number: signal.Signals) -> None:
        """Send it to the whole group."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """Kill -9 the whole group, where something of it is left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def is_alive(pid: int) -> bool:
    """True where a process of this id runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@dataclass(frozen=True)
class Pipeline:
    """One pipeline in a folder of its own: its file, its table, its dead letters, its state."""

    folder: Path
    servers: str
    topic: str

    @property
    def table(self) -> Path:
        return self.folder / "lake/rows"

    @property
    def dead(self) -> Path:
        return self.folder / "lake/dead"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def checkpoint(self) -> Path:
        return self.state / "queries/main/checkpoint"

    def write(self, **changes: Any) -> Pipeline:
        """(Re-)write the file; a change replaces a block, None removes it. JSON is YAML."""
        blocks: dict[str, Any] = {
            "name": "killed",
            "kafka": {"servers": self.servers},
            "source": {"topics": [self.topic], "start": "earliest"},
            "trigger": "until caught up",
            "rate": {"records_per_batch": 30_000},
            "decode": {"type": "json", "schema": SCHEMA},
            "sink": {"type": "delta", "path": str(self.table)},
            "dead_letters": {"type": "delta", "path": str(self.dead)},
            "state": str(self.state),
            **changes,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "pipeline.yaml").write_text(json.dumps({key: value for key, value in blocks.items() if value is not None}, indent=1))
        return self

    def start(self, *arguments: str, crash_at: str | None = None, debug: bool = True, **environment: str) -> Instance:
        """The command, running; it leads its own process group, so that a kill takes all of it."""
        variables = {**os.environ, **environment, **({"PENSTOCK_CRASH_AT": crash_at} if crash_at else {})}
        command = [PENSTOCK, *(["--debug"] if debug else []), "run", str(self.folder / "pipeline.yaml"), *arguments]
        log = self.folder / f"run-{uuid.uuid4().hex[:8]}.log"
        with log.with_suffix(".out").open("w") as output, log.open("w") as errors:
            return Instance(subprocess.Popen(command, env=variables, cwd=self.folder, stdout=output, stderr=errors, text=True, start_new_session=True), log)

    def run(self, *arguments: str, crash_at: str | None = None, seconds: float = 150, **environment: str) -> Ended:
        """Run to the end, whichever that is."""
        with self.start(*arguments, crash_at=crash_at, **environment) as instance:
            return instance.ended(seconds)

    def watched(self, *tables: str) -> Watcher:
        """Readers of these tables (`rows`, `dead`; both if none is named) and of the checkpoint, from now on."""
        views = {"rows": lambda: delta_files(self.table), "dead": lambda: delta_files(self.dead)}
        return Watcher({name: views[name] for name in tables or views}, self.checkpoint)

    def history(self, watcher: Watcher) -> HistoryVerdict:
        """What the readers saw that no reader may see."""
        return judge_history(watcher.samples, read_topic(self.servers, self.topic), self.checkpoint)

    def verdict(self) -> Verdict:
        """What the oracle says now."""
        return judge(read_topic(self.servers, self.topic), delta_rows(self.table), delta_rows(self.dead))

    def done(self) -> int:
        """The last batch that Spark calls done; -1 where there is none."""
        return max((int(file.name) for file in (self.checkpoint / "commits").glob("*") if file.name.isdigit()), default=-1)

    def versions(self) -> tuple[int, int]:
        """The versions of table and dead letters; -1 where there is none."""
        return delta_files(self.table)[0], delta_files(self.dead)[0]
