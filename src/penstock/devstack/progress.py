"""Showing how far a download is: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told (label, bytes done, bytes in all) several times a second, from the thread that fetches."""

LINE_EVERY_SECONDS = 3.0


def silent(label: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def shown_progress(stream: TextIO | None = None) -> Iterator[Progress]:
    """Show progress on `stream`, else on standard error, for as long as the block runs; nothing appears where nothing is fetched."""
    stream = stream or sys.stderr
    if stream.isatty():
        with _bar(stream) as progress:
            yield progress
    else:
        yield lines(stream)


def lines(stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> Progress:
    """A line at the start, one every few seconds and one at the end: fit for a log."""
    last: dict[str, float] = {}

    def show(label: str, done: int, total: int) -> None:
        now = clock()
        if done < total and now - last.get(label, -LINE_EVERY_SECONDS) < LINE_EVERY_SECONDS:
            return
        last[label] = now
        print(f"{label}: {done / 1e6:.1f} of {total / 1e6:.1f} MB", file=stream, flush=True)

    return show


@contextmanager
def _bar(stream: TextIO) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(file=stream)) as bars:
        tasks: dict[str, TaskID] = {}

        def show(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done)

        yield show
