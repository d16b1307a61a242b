"""`penstock run`."""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import structlog
import typer

from penstock.builtin import KINDS
from penstock.cli.arguments import Settings, Target
from penstock.cli.live import is_terminal, live_line
from penstock.cli.target import in_file, load_target
from penstock.devstack.places import log_file
from penstock.devstack.progress import shown_progress
from penstock.plan.build import build
from penstock.plan.steps import UntilCaughtUp
from penstock.run.start import RunOptions, SparkOptions, run_pipeline
from penstock.run.watcher import Watcher
from penstock.values import BatchCounts


def run(
    context: typer.Context,
    target: Target,
    settings: Settings = None,
    until_caught_up: Annotated[bool, typer.Option("--until-caught-up", help="Read what there is now, then end (for schedulers).")] = False,
    master: Annotated[str | None, typer.Option(help="The Spark master, such as spark://host:7077; all cores of this machine by default.")] = None,
    conf: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A Spark setting. May be repeated.")] = None,
    stop_grace_seconds: Annotated[float, typer.Option(help="How long a running batch may go on after a signal to stop.")] = 30.0,
    attempts: Annotated[int | None, typer.Option(help="How often in a row a failure from outside is tried; without end by default.")] = None,
    accept_new_generation: Annotated[bool, typer.Option("--accept-new-generation", help="Write to a table that holds batches of an earlier state.")] = False,
) -> None:
    """Run a pipeline: reads Kafka, writes its tables and its state."""
    plan = build(load_target(target, KINDS, settings or ()), KINDS)
    if until_caught_up:
        plan = dataclasses.replace(plan, trigger=UntilCaughtUp())
    spark = SparkOptions(master, dict(_pair(item) for item in conf or ()), spark_log(context, plan.name))
    options = RunOptions(spark, stop_grace_seconds, accept_new_generation, attempts)
    logging.getLogger().addHandler(logging.NullHandler())  # else Py4J prints every lost connection, with its traceback
    with in_file(target), shown_progress() as progress, _watched() as watcher:
        run_pipeline(plan, KINDS, options, progress=progress, watcher=watcher)


def spark_log(context: typer.Context, name: str) -> Path | None:
    """Where Spark may say all it wants; `--debug` leaves it on the terminal."""
    return None if context.find_root().params.get("debug") else log_file(name)


@contextmanager
def _watched() -> Iterator[Watcher]:
    """On a terminal the events as text above a live line, elsewhere each as a line of JSON."""
    if not is_terminal():
        _log_for_programs(sys.stderr)
        yield Watcher()
        return
    with live_line() as watcher:
        _log_for_people(sys.stderr)
        yield watcher


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign:
        raise typer.BadParameter(f"`{text}` is not KEY=VALUE")
    return key.strip(), value.strip()


def _log_for_people(stream: TextIO) -> None:
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.TimeStamper("%H:%M:%S", utc=False), in_words],
        logger_factory=structlog.PrintLoggerFactory(stream),
    )


def in_words(logger: object, method: str, event: MutableMapping[str, Any]) -> str:
    """An event as one line for a person; what is not worth a look on a terminal is left to the log of programs."""
    at, what = event["timestamp"], event["event"]
    match what:
        case "pipeline started":
            what = f"{event['pipeline']} runs on Spark {event['spark']}, {event['master']}"
            what += f"; its log: {_from_home(event['spark_log'])}" if event["spark_log"] else ""
        case "batch committed":
            what = f"batch {event['batch']}: {_counts_in_words(event['counts'])}, {sum(event['seconds'].values()):.1f} s"
        case "trying again":
            what = f"{event['error']} ({event['where'] or event['code']}); trying again in {event['pause_seconds']:.0f} s"
    return f"{at}  {what}"


def _from_home(path: str) -> str:
    return f"~{path.removeprefix(str(Path.home()))}" if path.startswith(str(Path.home())) else path


def _counts_in_words(counts: BatchCounts | None) -> str:
    if counts is None:
        return "was in already"
    parts = [f"{counts.read:,} read", f"{counts.rows:,} rows", f"{counts.filtered:,} filtered", f"{counts.dead:,} dead"]
    if counts.written is not None:
        parts[1] = f"{counts.rows:,} into {counts.written:,} rows"
    return ", ".join(parts)


def _log_for_programs(stream: TextIO) -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper("iso", utc=True),
            structlog.processors.JSONRenderer(default=dataclasses.asdict),
        ],
        logger_factory=structlog.PrintLoggerFactory(stream),
    )
