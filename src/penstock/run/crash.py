"""Kill points: labels in the path of a batch where a test can have the process killed, so that a crash is deterministic.

`PENSTOCK_CRASH_AT=label` or `label@batch`, for instance `files_written@3`. In the driver, in order: planned,
asked, files_written, sink_committed, dead_letters_committed, ledger_written; in a task: task_writing. Without the variable a point costs a look-up.
`PENSTOCK_CRASH_ONCE=file` makes the file and crashes only where it is not there yet, across all processes.
`PENSTOCK_CRASH_SIGNAL=SIGSTOP` sends that signal instead of SIGKILL.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

VARIABLE, ONCE, SIGNAL = "PENSTOCK_CRASH_AT", "PENSTOCK_CRASH_ONCE", "PENSTOCK_CRASH_SIGNAL"


def crash_point(label: str, batch: int) -> None:
    """Kill -9 this process (its whole group, if it leads one) where the variable names this label and batch."""
    if VARIABLE not in os.environ:
        return
    wanted, _, at = os.environ[VARIABLE].partition("@")
    if wanted == label and (not at or int(at) == batch) and _is_first():
        number = signal.Signals[os.environ.get(SIGNAL, "SIGKILL")]
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpgrp(), number)
        else:
            os.kill(os.getpid(), number)


def _is_first() -> bool:
    """True where no crash was noted before, or nobody asked for one only; the note is made before the crash, by one process alone."""
    if ONCE not in os.environ:
        return True
    try:
        Path(os.environ[ONCE]).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
