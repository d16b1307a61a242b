"""The border of the command: every error becomes one short report and an exit code here, and nowhere else."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import typer

from penstock.errors import Fault, PenstockError, SpecError

INTERRUPTED = 130  # what a shell reports for SIGINT
BUG = 1
_BOLD, _RED, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[0m"


def bordered(command: Callable[[], Any], *, debug: bool, as_json: bool) -> Any:
    """The command's answer; an error is reported and leaves as `typer.Exit` with its code."""
    try:
        answer = command()
        sys.stdout.flush()  # here, where a reader that has gone is no error; Python would flush when nobody can catch it any more
        return answer
    except PenstockError as error:
        _show_traceback(debug)
        _say(_as_json(error) if as_json else report(error), as_json=as_json)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except Exception as error:  # the broad border: whatever arrives here is a mistake of ours
        if hasattr(error, "exit_code"):  # the command line's own: a usage error, `--help`
            raise
        _show_traceback(debug)
        bug = PenstockError(f"{type(error).__name__}: {error}", code="bug", next_step=_BUG_STEP)
        _say(_as_json(bug) if as_json else report(bug), as_json=as_json)
        raise typer.Exit(BUG) from None


_BUG_STEP = "this is a mistake in Penstock: run it again with `penstock --debug …` and report the traceback"


def report(error: PenstockError) -> str:
    """What went wrong, where, and the next step, as the user reads it."""
    if isinstance(error, SpecError):
        return "\n".join([_marked(f"{error.file or 'pipeline'}: {error.what}"), *map(_fault, error.faults), f"next: {error.next_step}"])
    lines = [_marked(f"error: {error.what}")]
    if error.where:
        lines.append(f"where: {error.where}")
    if error.next_step:
        lines.append(f"next:  {error.next_step}")
    return "\n".join(lines)


def _fault(fault: Fault) -> str:
    line = f"line {fault.line}: " if fault.line is not None else ""
    path = f"{_BOLD}{fault.path}{_PLAIN}" if _colours() else fault.path
    return f"  {line}{path}: {fault.what}\n      {fault.remedy}"


def _marked(text: str) -> str:
    return f"{_BOLD}{_RED}{text}{_PLAIN}" if _colours() else text


def _colours() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _as_json(error: PenstockError) -> str:
    values: dict[str, Any] = {"code": error.code, "exit_code": error.exit_code, "what": error.what, "where": error.where, "next_step": error.next_step}
    if isinstance(error, SpecError):
        values["faults"] = [{"path": each.path, "line": each.line, "what": each.what, "remedy": each.remedy} for each in error.faults]
    return json.dumps({"error": values}, ensure_ascii=False, indent=2)


def _say(text: str, *, as_json: bool) -> None:
    """Programs read the answer from standard output; people read errors apart from it."""
    print(text, file=sys.stdout if as_json else sys.stderr, flush=True)


def _show_traceback(debug: bool) -> None:
    if debug:
        traceback.print_exc()
