"""`penstock dev`: the local Kafka broker."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.arguments import AsJson
from penstock.devstack.progress import shown_progress
from penstock.devstack.stack import DEFAULT_PORT, StackStatus
from penstock.devstack.stack import down as stack_down
from penstock.devstack.stack import status as stack_status
from penstock.devstack.stack import up as stack_up

dev = typer.Typer(
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True, help="Start, look at or stop a local Kafka broker."
)

Folder = Annotated[Path | None, typer.Option("--directory", help="Where its data and log lie; a folder of your user's state by default.")]


@dev.command()
def up(
    directory: Folder = None,
    port: Annotated[int, typer.Option(help="The port it listens on, at 127.0.0.1; 0 takes a free one.")] = DEFAULT_PORT,
    as_json: AsJson = False,
) -> None:
    """Start a local Kafka broker that stays until `dev down`; the first time fetches it (40 MB)."""
    with shown_progress() as progress:
        found = stack_up(directory, port=port, progress=progress)
    _say(found, "Kafka runs" if found.change == "started" else "Kafka was running already", as_json=as_json)


@dev.command()
def status(directory: Folder = None, as_json: AsJson = False) -> None:
    """Say whether the local broker runs; changes nothing."""
    found = stack_status(directory)
    _say(found, ("Kafka runs" if found.answering else "Kafka runs but does not answer") if found.running else "Kafka is down", as_json=as_json)


@dev.command()
def down(
    directory: Folder = None,
    delete_data: Annotated[bool, typer.Option("--delete-data", help="Forget all topics too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop the local broker; its topics stay unless --delete-data is given."""
    found = stack_down(directory, delete_data=delete_data)
    _say(found, "Kafka is stopped" if found.change == "stopped" else "Kafka was not running", as_json=as_json)


def _say(found: StackStatus, headline: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({key: str(value) if isinstance(value, Path) else value for key, value in dataclasses.asdict(found).items()}))
        return
    print(f"{headline} at {found.servers}" if found.servers else headline)
    if found.log_file:
        print(f"  pid {found.pid}, since {found.since}, log {found.log_file}")
