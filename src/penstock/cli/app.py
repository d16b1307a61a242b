"""The list of commands, each loaded when it is called, so that none pays for what another one imports."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import penstock
from penstock.cli.border import INTERRUPTED, bordered

COMMANDS = {
    "demo": "See it: a million payments, two kills -9, every offset counted.",
    "validate": "Check a pipeline, show every fault; changes nothing.",
    "plan": "Show what a pipeline will do and promises; changes nothing.",
    "run": "Run a pipeline: reads Kafka, writes its tables and its state.",
    "audit": "Prove that every offset is in one place; changes nothing.",
    "dev": "Start, look at or stop a local Kafka broker.",
}
"""Every command with its line of help. The function (or Typer, for one with sub-commands) of that name in
`penstock.cli.<name>` carries it out."""


FOR_ALL = ("--debug", "--offline")


class LazyCommands(TyperGroup):
    """A group whose commands are imported one at a time; help comes from the list above."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        found = getattr(importlib.import_module(f"penstock.cli.{name}"), name)
        if isinstance(found, typer.Typer):
            return get_command(found)
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(cmd_name)(found)
        return get_command(single)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            ctx.fail(f"There is no command `{args[0]}`." + (f" Did you mean `{near[0]}`?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: Any) -> Any:
        return bordered(lambda: super(LazyCommands, self).invoke(ctx), debug=bool(ctx.params.get("debug")), as_json="--json" in ctx.args)


app = typer.Typer(cls=LazyCommands, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback()
def penstock_command(
    version: Annotated[bool, typer.Option("--version", help="Show the version, and end.", callback=_version, is_eager=True)] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of what went wrong, and all that Spark says.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Fetch nothing: what is missing is named. PENSTOCK_OFFLINE=1 is the same.")] = False,
) -> None:
    """Run pipelines between Apache Kafka and the lakehouse, each described by one small file."""
    if offline:
        os.environ["PENSTOCK_OFFLINE"] = "1"  # for the processes that this one starts, too


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # People add `--debug` at the end of the line that went wrong; it belongs to no command, but to all.
    given.sort(key=lambda argument: argument not in FOR_ALL)
    try:
        app(given, prog_name="penstock")
    except KeyboardInterrupt:  # before a command began
        sys.exit(INTERRUPTED)
