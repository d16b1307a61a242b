"""What delta-rs and the file system say about a table, translated once into our tree.

Leans on delta-rs's texts, where its classes do not tell an outage from a table that will never open; an unknown text is an outage.
"""

from __future__ import annotations

import itertools
import re

from penstock.errors import Fatal, PenstockError, PlanRefused, Retryable
from penstock.sink.delta_log import torn_file
from penstock.storage import storage_at

TOO_LONG = 300
_RUST_FRAME = re.compile(r"\d+: ")
_ORNAMENT = re.compile(r"\x1b\[[0-9;]*m|↳")
UNSUPPORTED = r"Unsupported table features required|Table features must be specified"
NOT_OURS = rf"{UNSUPPORTED}|Kernel error: Unsupported|Invalid protocol action|Kernel error: Schema error|minimum (reader|writer) version"
DAMAGED = r"No table metadata or protocol found|Kernel error: Json error|Expected contiguous commit files"


def translated(error: Exception, path: str) -> PenstockError:
    """The error of ours for what was said about the table at `path`."""
    text = str(error)
    if (name := torn_file(storage_at(path))) is not None:
        return Fatal(
            f"the table's log cannot be read: {name} does not parse",
            code="table_damaged",
            where=f"{path}/_delta_log",
            next_step="restore this file from a backup; where there is none, remove it and let `penstock audit` say what is missing",
        )
    if re.search(NOT_OURS, text):
        return PlanRefused(
            f"the table asks for something that our Delta library does not do: {reason(error)}",
            code="table_unfit",
            where=path,
            next_step="drop the feature from the table where Spark can (ALTER TABLE … DROP FEATURE …), or write to another path",
        )
    if re.search(DAMAGED, text):
        return Fatal(
            f"the table's log cannot be read: {reason(error)}",
            code="table_damaged",
            where=f"{path}/_delta_log",
            next_step="restore the folder `_delta_log` from a backup; nothing was written",
        )
    return Retryable(
        f"the Delta table cannot be reached: {reason(error)}",
        code="table_unreachable",
        where=path,
        next_step="see that the place exists and may be read and written; running again is safe",
    )


def reason(error: Exception) -> str:
    """What delta-rs says in one line, less its colours, its own names for things and its Rust stack."""
    text = _ORNAMENT.sub("", str(error))
    lines = itertools.takewhile(lambda line: not _RUST_FRAME.match(line), filter(None, (line.strip() for line in text.splitlines())))
    whole = ": ".join(lines) or type(error).__name__
    for prefix in ("Kernel error: ", "Generic delta kernel error: "):
        whole = whole.removeprefix(prefix)
    system = re.search(r'Os \{[^}]*message: "([^"]*)"', text)
    short = whole.partition("{")[0].rstrip(" :")
    return (short + (f": {system[1]}" if system else ""))[:TOO_LONG]
