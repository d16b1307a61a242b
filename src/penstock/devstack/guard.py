"""Run one command, and never let it outlive the process that asked for it, not even when that one is killed with SIGKILL.

Started by path in a Python of its own (`python -I -S guard.py PARENT LOG REMOVE COMMAND…`), so it imports nothing of ours and
is up in 20 ms. The command is this process's child: its pid cannot be reused behind our back. The parent is watched by
asking who it is: a pipe's end would be inherited by whatever the parent forks, and a death signal (prctl) of the parent fires
when the *thread* that started us ends. From here to the command that signal is safe, for this process has one thread.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

LOOK_EVERY_SECONDS = 0.1
GRACE_SECONDS = 3.0  # Kafka recovers from SIGKILL too; a parent that died has nothing to wait for
PR_SET_PDEATHSIG = 1


def main(parent: int, log: str, remove: str, command: Sequence[str]) -> int:
    """Say the command's pid on stdout, wait for its end, bring it about when `parent` is gone; then also remove the folder `remove`.

    With 0 for the parent there is nobody to watch: the command is left to itself, as init's child.
    """
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)
    before = _dies_with_us() if parent else None
    with Path(log).open("ab") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=before)  # noqa: PLW1509 - one thread only
    _say(child.pid)
    if not parent:
        child.returncode = 0  # left running on purpose: no warning about it
        return 0
    while child.poll() is None:
        if asked or os.getppid() != parent:
            _end(child)
        time.sleep(LOOK_EVERY_SECONDS)
    if remove and os.getppid() != parent:
        shutil.rmtree(remove, ignore_errors=True)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _say(pid: int) -> None:
    try:
        sys.stdout.write(f"{pid}\n")
        sys.stdout.close()
    except BrokenPipeError:  # the parent is gone already: the loop ends the command
        pass


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    child.send_signal(signal.SIGCONT)  # a stopped process would not see SIGTERM
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _dies_with_us() -> Callable[[], None] | None:
    """What makes the kernel kill the command should this process be killed; Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    kernel = ctypes.CDLL(None)
    return lambda: kernel.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]))
