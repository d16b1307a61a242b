"""Processes by identity: a pid alone may be another process's by now."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ASK_SECONDS = 10
LOOK_EVERY_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Process:
    """One process of this machine: its pid and when it was started, in the system's own words."""

    pid: int
    started: str

    def alive(self) -> bool:
        """Whether this very process still runs; one that has ended but was not waited for is dead."""
        return _started(self.pid) == self.started

    def signal(self, number: int) -> bool:
        """Send a signal; False when the process is gone."""
        if not self.alive():
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def end(self, *, grace_seconds: float) -> None:
        """End it: SIGTERM, also when it is paused, and SIGKILL when it is still there after the grace."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        if not self.gone_within(grace_seconds):
            self.signal(signal.SIGKILL)
            self.gone_within(ASK_SECONDS)

    def gone_within(self, seconds: float) -> bool:
        """Wait for its end; whether it came in time."""
        until = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > until:
                return False
            time.sleep(LOOK_EVERY_SECONDS)
        return True


def process(pid: int) -> Process | None:
    """The process that has `pid` now, if any."""
    started = _started(pid)
    return Process(pid, started) if started else None


def _started(pid: int) -> str:
    """When the process `pid` started, "" when there is none; on Linux with the boot's id, since times count from there."""
    if not sys.platform.startswith("linux"):
        return _started_by_ps(pid)
    try:
        # The name in parentheses may hold anything, so count from the last one: state is the first field, the start time the twentieth.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] in "ZX" else f"{boot} {fields[19]}"


def _started_by_ps(pid: int) -> str:
    answer = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=ASK_SECONDS, check=False)
    state, _, started = answer.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else started.strip()
