"""The line at the bottom of a terminal while a pipeline runs: batch, records, rate, lag, time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

from penstock.ledger.entry import LedgerEntry
from penstock.observe.pace import Pace
from penstock.run.batch_plan import BatchPlan
from penstock.run.watcher import Watcher

ABOUT_TO_READ, WAITING = "starting", "waiting for records"


class LiveLine(Watcher):
    """Keeps the pace, and says it in one line of at most 80 columns."""

    def __init__(self) -> None:
        self.pace = Pace(time.monotonic)

    def began(self, batch: BatchPlan) -> None:
        self.pace.began(batch.batch, sum(item.offsets for item in batch.ranges))

    def committed(self, entry: LedgerEntry) -> None:
        self.pace.committed(entry.counts.read if entry.counts else 0)

    def behind(self, records: int) -> None:
        self.pace.behind = records

    def __str__(self) -> str:
        return line(self.pace)


def line(pace: Pace) -> str:
    """What the pace is, in words: `batch 7: 500 k, 3 s · 3.5 M done · 182 k/s · 1.2 M behind · 7 s left`."""
    if pace.batch is not None:
        parts = [f"batch {pace.batch}: {short(pace.batch_offsets)}, {pace.clock() - pace.batch_since:.0f} s"]
    else:
        parts = [WAITING if pace.rate is not None else ABOUT_TO_READ]
    if pace.rate is not None:
        parts += [f"{short(pace.records)} done", f"{short(pace.rate)}/s"]
    if pace.behind is not None:
        parts.append(f"{short(pace.behind)} behind")
    if pace.behind and pace.seconds_left is not None:
        parts.append(f"{duration(pace.seconds_left)} left")
    return " · ".join(parts)


def short(number: float) -> str:
    """A number as a person reads it: 999, 1.5 k, 182 k, 3.5 M."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size * 0.9995:
            return f"{number / size:.{0 if number >= size * 99.95 else 1}f}{unit}"
    return f"{number:.0f}"


def duration(seconds: float) -> str:
    """A time as a person reads it: 7 s, 3 min, 2 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.0f} h"


@contextmanager
def live_line() -> Iterator[Watcher]:
    """A watcher that is shown on standard error for as long as the block runs; what is logged meanwhile scrolls above it."""
    watcher = LiveLine()
    spinner = Spinner("dots")

    def shown() -> Spinner:
        spinner.update(text=str(watcher))
        return spinner

    with Live(console=Console(stderr=True), get_renderable=shown, refresh_per_second=5, transient=True, redirect_stdout=False):
        yield watcher


def is_terminal() -> bool:
    """Whether a person looks at standard error."""
    return sys.stderr.isatty()
