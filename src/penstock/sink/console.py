"""The kind `console`: rows on the terminal, for trying things out; with cheap imports only."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.kinds import Kind, Options


class ConsoleOptions(Options):
    """Rows printed by the driver."""

    rows: int = Field(default=20, ge=1, le=1_000, description="at most this many rows of a batch are printed")


def _build(options: ConsoleOptions, *, owner: str) -> Any:
    from penstock.sink.console_rows import ConsoleSink

    return ConsoleSink(options.rows)


CONSOLE = Kind(
    "console",
    ConsoleOptions,
    build=_build,
    promise="at-least-once: a batch that is repeated is printed again",
    summary="rows on the terminal, for trying things out",
)
