"""Remove a folder once the process that works in it is gone, however it went; nothing to do when that one removed it itself.

Started by path in a Python of its own (`python -I -S sweep.py PARENT FOLDER`), so it imports nothing of ours. What still dies
may write into the folder for some seconds: it is removed until it stays away.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

LOOK_EVERY_SECONDS = 0.2
SWEEP_SECONDS = 15.0
STAYS_AWAY_SECONDS = 4.0  # longer than the guards take to end what they guard


def main(parent: int, folder: Path) -> None:
    """Wait for the end of `parent`, then for that of what it left running, and leave no folder."""
    while os.getppid() == parent:
        if not folder.exists():
            return
        time.sleep(LOOK_EVERY_SECONDS)
    seen = begun = time.monotonic()
    while (now := time.monotonic()) - begun < SWEEP_SECONDS and now - seen < STAYS_AWAY_SECONDS:
        if folder.exists():
            seen = now
            shutil.rmtree(folder, ignore_errors=True)
        time.sleep(LOOK_EVERY_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
