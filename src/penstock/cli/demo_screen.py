"""How the demo looks: with bars and colours on a terminal, in plain lines elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from penstock.cli.demo_text import Line, closing, lines_of, looking_around
from penstock.demo.events import Closed, Event, Fetched, RunBegun, RunMoved, StepBegun, StepMoved
from penstock.demo.story import Listener

LINE_EVERY_SECONDS = 5.0
WIDTH = 80  # of the box at the end; wider would be harder to read
COLOURS = {"title": "bold", "plain": "", "quiet": "dim", "good": "green", "bad": "red", "command": "bold cyan"}


@contextmanager
def telling(stream: TextIO, *, keep: bool) -> Iterator[Listener]:
    """A listener that shows on `stream` what it hears, for as long as the block runs."""
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        with _screen(stream, keep=keep) as listen:
            yield listen
    else:
        yield plain(stream, keep=keep)


def plain(stream: TextIO, *, keep: bool = False, clock: Callable[[], float] = time.monotonic) -> Listener:
    """Every line as it comes, and one now and then of what moves: fit for a log."""
    moving, said_at = Moving(), clock()

    def show(event: Event) -> None:
        nonlocal said_at
        lines = [text for _, text in everything(event, keep=keep)]
        if moving.hear(event) and clock() - said_at >= LINE_EVERY_SECONDS:
            lines.append(f"  {moving.what}: {moving.amount}".removesuffix(": "))
        if lines:
            said_at = clock()
            print("\n".join(lines), file=stream, flush=True)

    return show


def everything(event: Event, *, keep: bool) -> list[Line]:
    """All lines of an event, the closing ones too."""
    if isinstance(event, Closed):
        return [("plain", ""), *closing(event.figures), *(looking_around(event) if keep else [])]
    return lines_of(event)


@dataclass(slots=True)
class Moving:
    """What is going on now, and how much of it is done."""

    what: str = ""
    done: int = 0
    total: int = 0
    unit: str = ""
    _pending: int | None = None

    def hear(self, event: Event) -> bool:
        """Take in what the event says of it; False where it says nothing."""
        match event:
            case StepBegun(what):
                self.what, self.done, self.total, self.unit = what, 0, 0, ""
            case RunBegun(_, _, pending):
                self.what = "Spark starts" if pending is None else f"Spark starts, batch {pending} waits"
                self.done, self.total, self.unit, self._pending = 0, 0, " committed", pending
            case StepMoved(done, total):
                self.done, self.total = done, total
            case Fetched(label, done, total):
                self.what, self.done, self.total, self.unit = label, done // 1_000_000, total // 1_000_000, " MB"
            case RunMoved(records, total, batch):
                self.done, self.total = records, total
                if records == total:
                    self.what = "Spark ends"
                elif batch is not None and batch != self._pending:
                    self.what = f"batch {batch}"
            case _:
                return False
        return True

    @property
    def amount(self) -> str:
        return f"{self.done:,} of {self.total:,}{self.unit}" if self.total else ""


@contextmanager
def _screen(stream: TextIO, *, keep: bool) -> Iterator[Listener]:
    from rich.console import Console
    from rich.panel import Panel
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
    from rich.text import Text

    columns = (SpinnerColumn(style="cyan"), TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[amount]}"))

    def styled(lines: list[Line]) -> Text:
        return Text("\n").join(Text(text, COLOURS[style]) for style, text in lines)

    console = Console(file=stream, highlight=False)
    moving = Moving()
    with Progress(*columns, console=console, transient=True, expand=True) as bars:
        task = bars.add_task("", visible=False, total=None, amount="")

        def show(event: Event) -> None:
            lines = everything(event, keep=keep)
            if isinstance(event, Closed):
                bars.update(task, visible=False)
                colour, width = "red" if event.figures.wrongs else "green", min(console.width, WIDTH)
                console.print(Panel(styled(closing(event.figures)), border_style=colour, title="counted", width=width))
                lines = lines[len(closing(event.figures)) + 1 :]
            if lines:  # one print: each draws the bar anew; a command is never broken, it is there for copying
                console.print(styled(lines), soft_wrap=True)
            if moving.hear(event):
                bars.update(task, visible=True, description=moving.what, completed=moving.done, total=moving.total or None, amount=moving.amount)
            elif lines:
                bars.update(task, visible=False)

        yield show
