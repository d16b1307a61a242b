"""The pipeline as a child process, started as its user starts it, and its end by SIGKILL.

It runs behind the broker's guard: should this process be killed, the guard ends the pipeline, and Spark's JVM goes when
the Python that started it has gone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.demo import processes
from penstock.demo.place import Place
from penstock.demo.watch import InFlight
from penstock.devstack.kraft import telling_lines
from penstock.devstack.launch import launch
from penstock.devstack.processes import Process, process
from penstock.errors import Fatal

COMMAND = ("penstock", "run", "pipeline.yaml")
GONE_SECONDS = 10.0

How = Literal["tree", "parent"]
"""Everything at once, as a power cut would; or the Python process alone, Spark's JVM left to notice."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One SIGKILL, and what it hit."""

    how: How
    batch: int
    """The batch it was meant for."""
    share: float
    """Drawn by lot: how much of a batch's usual time this one should have had."""
    after_seconds: float
    """How long that batch had been worked on."""
    processes: int
    """How many were killed."""
    survivors: int
    """How many were left to end by themselves."""
    survived_seconds: float
    in_flight: InFlight | None
    """None where the batch was done just before."""


class Victim:
    """One run of the pipeline."""

    def __init__(self, place: Place) -> None:
        self._place = place
        # Spark's folders lie where the demo's do: a JVM that is killed removes none, and they go with the demo's. The JVM has
        # a folder in /tmp for tools that watch it, whatever it is told, unless it is told to leave that be.
        options = f'{os.environ.get("JAVA_TOOL_OPTIONS", "")} "-Djava.io.tmpdir={place.temporary}" -XX:-UsePerfData'
        folders = {"TMPDIR": str(place.temporary), "SPARK_LOCAL_DIRS": str(place.temporary), "XDG_STATE_HOME": str(place.folder / "home")}
        settings = {**folders, "JAVA_TOOL_OPTIONS": options}
        command = [sys.executable, "-m", *COMMAND]
        self._main, self._guard = launch(command, place.log, watched=True, environment=settings)

    @property
    def pid(self) -> int:
        return self._main.pid

    @property
    def running(self) -> bool:
        return self._guard.poll() is None

    def kill(self, how: How) -> tuple[int, int, float]:
        """SIGKILL: how many processes were killed, how many outlived that, and for how long. Nothing of it runs afterwards."""
        found = processes.tree(self.pid)
        everyone = _identified(found)
        struck = found if how == "tree" else found[:1]
        processes.kill(struck)
        seconds = _gone(everyone)
        self._guard.wait(GONE_SECONDS)
        return len(struck), len(found) - len(struck), seconds

    def end(self) -> None:
        """Leave nothing of it running, whatever it does."""
        if not self.running:
            return
        processes.kill(processes.tree(self.pid))
        try:
            self._guard.wait(GONE_SECONDS)
        except subprocess.TimeoutExpired:
            self._guard.kill()

    def demand_success(self) -> None:
        """Pass where the run ended well; its own error otherwise, with what it said last."""
        code = self._guard.wait(GONE_SECONDS)
        if code == 0:
            return
        said = self._place.log.read_text(encoding="utf-8", errors="replace")
        raise Fatal(
            f"the pipeline ended with exit code {code}",
            code="demo_pipeline_failed",
            where="\n       ".join([str(self._place.log), *telling_lines(said)]),
            next_step="run the demo with --keep to have its folder for looking around",
        )


def _identified(pids: Sequence[int]) -> list[Process]:
    return [found for pid in pids if (found := process(pid))]


def _gone(everyone: Sequence[Process]) -> float:
    """Wait until none of them runs; the seconds it took."""
    begun = time.monotonic()
    for each in everyone:
        if not each.gone_within(max(GONE_SECONDS - (time.monotonic() - begun), 0)):
            processes.kill([one.pid for one in everyone if one.alive()])
            raise Fatal(
                f"a process of the pipeline outlived its end by {GONE_SECONDS:.0f} seconds",
                code="demo_survivor",
                where=f"process {each.pid}",
                next_step="it was killed; this is a fault of Penstock: please report it",
            )
    return time.monotonic() - begun
