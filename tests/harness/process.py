"""A pipeline as a user runs it: the command in a process group of its own, killed at a kill point or from outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

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
        lines = [json.loads(line) for line in self.errors.splitlines() if line.startswith("{")]
        return [line for line in lines if line.get("event") == name]


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

    def start(self, *arguments: str, crash_at: str | None = None) -> subprocess.Popen[str]:
        """The command, running; it leads its own process group, so that a kill takes all of it."""
        environment = {**os.environ, **({"PENSTOCK_CRASH_AT": crash_at} if crash_at else {})}
        command = [PENSTOCK, "--debug", "run", str(self.folder / "pipeline.yaml"), *arguments]
        return subprocess.Popen(command, env=environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def run(self, *arguments: str, crash_at: str | None = None, seconds: float = 150) -> Ended:
        """Run to the end, whichever that is."""
        process = self.start(*arguments, crash_at=crash_at)
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            kill_group(process)
            output, errors = process.communicate()
            raise AssertionError(f"still running after {seconds} s:\n{errors[-4000:]}") from None
        return Ended(process.returncode, output, errors)

    def verdict(self) -> Verdict:
        """What the oracle says now."""
        return judge(read_topic(self.servers, self.topic), delta_rows(self.table), delta_rows(self.dead))

    def versions(self) -> tuple[int, int]:
        """The versions of table and dead letters."""
        return DeltaTable(str(self.table)).version(), DeltaTable(str(self.dead)).version()


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill -9 the whole group of a process that we started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
