"""`penstock demo`."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
from typing import Annotated, Any

import typer

from penstock.cli.arguments import AsJson
from penstock.cli.demo_screen import telling
from penstock.demo.events import Closed, Event
from penstock.demo.story import FEWEST_RECORDS, Listener, Wishes, tell

SEEDS = 10_000


def demo(
    records: Annotated[int, typer.Option(min=FEWEST_RECORDS, help="How many payments are produced.")] = 1_000_000,
    seed: Annotated[int | None, typer.Option(min=0, help="Draws the payments and the moments of the kills; another one each time by default.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the demo's folder, and say how to look around in it.")] = False,
    as_json: AsJson = False,
) -> None:
    """See it: a million payments, two kills -9, every offset counted.

    Starts a Kafka broker of its own, runs a pipeline, kills it twice in the middle of a batch, starts it again, counts. All of it in a
    temporary folder; nothing stays."""
    wishes = Wishes(records, random.randrange(SEEDS) if seed is None else seed, keep)
    # Programs read the figures from standard output, so the story is told beside it.
    with telling(sys.stderr if as_json else sys.stdout, keep=keep) as listen:
        tell(wishes, _with_figures(listen, keep=keep) if as_json else listen)


def _with_figures(listen: Listener, *, keep: bool) -> Listener:
    """The listener, and the figures on standard output, also where they are wrong."""

    def hear(event: Event) -> None:
        listen(event)
        if isinstance(event, Closed):
            print(json.dumps(_values(event, keep=keep)), flush=True)

    return hear


def _values(closed: Closed, *, keep: bool) -> dict[str, Any]:
    figures = closed.figures
    rest = {"right": not figures.wrongs, "wrongs": figures.wrongs, "kills_in_flight": figures.in_flight_kills}
    return {**dataclasses.asdict(figures), **rest, "folder": str(closed.place.folder) if keep else None}
