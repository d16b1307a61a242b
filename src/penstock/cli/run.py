"""`penstock run`."""

from __future__ import annotations

import dataclasses
import logging
import sys
from typing import Annotated

import structlog
import typer

from penstock.builtin import KINDS
from penstock.cli.arguments import Settings, Target
from penstock.cli.target import load_target
from penstock.devstack.progress import shown_progress
from penstock.plan.build import build
from penstock.plan.steps import UntilCaughtUp
from penstock.run.start import RunOptions, run_pipeline


def run(
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
    options = RunOptions(master, dict(_pair(item) for item in conf or ()), stop_grace_seconds, accept_new_generation, attempts)
    logging.getLogger().addHandler(logging.NullHandler())  # else Py4J prints every lost connection, with its traceback
    _log_for_people() if sys.stderr.isatty() else _log_for_programs()
    with shown_progress() as progress:
        run_pipeline(plan, KINDS, options, progress)


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign:
        raise typer.BadParameter(f"`{text}` is not KEY=VALUE")
    return key.strip(), value.strip()


def _log_for_people() -> None:
    structlog.configure(
        processors=[structlog.processors.TimeStamper("%H:%M:%S", utc=False), structlog.dev.ConsoleRenderer()],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _log_for_programs() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper("iso", utc=True),
            structlog.processors.JSONRenderer(default=dataclasses.asdict),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
