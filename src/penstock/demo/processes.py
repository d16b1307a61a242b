"""A process and everything it started, as the system shows them: who they are, and how much memory they hold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

PROC = Path("/proc")
SAMPLE_EVERY_SECONDS = 0.1
ASK_SECONDS = 10


def tree(root: int) -> list[int]:
    """The process `root` and all its descendants that run now, parents first; nothing where it has gone."""
    children = defaultdict(list)
    alive = set()
    for pid, parent in _parents():
        children[parent].append(pid)
        alive.add(pid)
    found = [root] if root in alive else []
    for pid in found:  # grows while it is walked
        found += children[pid]
    return found


def kill(pids: list[int]) -> None:
    """SIGKILL to each, one right after the other; those that have gone are none the worse for it."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def resident_bytes(pids: list[int]) -> int | None:
    """The memory that the processes hold, pages they share counted for each; None where the system does not show it."""
    if not measurable():
        return None
    return sum(map(_resident, pids))


def measurable() -> bool:
    """Whether this system shows the memory of processes."""
    return (PROC / "self/statm").exists()


class Memory:
    """Samples how much memory processes hold, ten times a second in a thread of its own, and keeps the highest sums."""

    def __init__(self, watched: Callable[[], int | None]) -> None:
        """`watched` names the root of the tree that is measured now, if there is one."""
        self._watched = watched
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="memory", daemon=True)
        self.tree_bytes = 0
        """The most that the watched tree ever held at once."""
        self.own_bytes = 0
        """The most that this process ever held."""

    def __enter__(self) -> Memory:
        if measurable():
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_EVERY_SECONDS):
            root = self._watched()
            if root is not None:
                self.tree_bytes = max(self.tree_bytes, resident_bytes(tree(root)) or 0)
            self.own_bytes = max(self.own_bytes, resident_bytes([os.getpid()]) or 0)


def _resident(pid: int) -> int:
    try:
        pages = (PROC / str(pid) / "statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):  # it went while we looked
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _parents() -> list[tuple[int, int]]:
    """Every process of this machine with its parent; those that have ended and were not waited for are left out."""
    if not sys.platform.startswith("linux"):
        return _parents_by_ps()
    found = []
    for entry in os.scandir(PROC):
        if not entry.name.isdigit():
            continue
        try:
            text = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        state, parent = text.rpartition(")")[2].split()[:2]  # the name in parentheses before may hold anything
        if state not in "ZX":
            found.append((int(entry.name), int(parent)))
    return found


def _parents_by_ps() -> list[tuple[int, int]]:
    answer = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, timeout=ASK_SECONDS, check=True)
    lines = (line.split() for line in answer.stdout.splitlines())
    return [(int(pid), int(parent)) for pid, parent, state in lines if not state.startswith("Z")]
