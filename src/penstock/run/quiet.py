"""Spark speaks at length, and into the terminal of whoever starts it. Here it speaks into a file, and the user reads one report."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KEPT_BYTES = 10_000_000


@contextmanager
def stderr_into(file: Path | None) -> Iterator[None]:
    """What processes that are started in here write to their standard error, now and later, is appended to the file."""
    if file is None:
        yield
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and file.stat().st_size > KEPT_BYTES:
        file.replace(file.with_suffix(".old.log"))
    sys.stderr.flush()
    mine = os.dup(2)
    with file.open("ab") as stream:
        os.dup2(stream.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(mine, 2)
        os.close(mine)
