"""Kill points: labels in the path of a batch where a test can have the process killed, so that a crash is deterministic.

`PENSTOCK_CRASH_AT=label` or `label@batch`, for instance `files_written@3`. In the driver, in order: planned,
asked, files_written, sink_committed, dead_letters_committed, ledger_written; in a task: task_writing. Without the variable a point costs a look-up.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "PENSTOCK_CRASH_AT"


def crash_point(label: str, batch: int) -> None:
    """Kill -9 this process (its whole group, if it leads one) where the variable names this label and batch."""
    if VARIABLE not in os.environ:
        return
    wanted, _, at = os.environ[VARIABLE].partition("@")
    if wanted == label and (not at or int(at) == batch):
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
