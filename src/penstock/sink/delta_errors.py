"""What delta-rs and the file system say about a table, translated once into our tree.

Leans on delta-rs's texts, where its classes do not tell an outage from a table that will never open; an unknown text is an outage.
"""

from __future__ import annotations

import re

from penstock.errors import Fatal, PenstockError, PlanRefused, Retryable

TOO_LONG = 300
UNSUPPORTED = r"Unsupported table features required|Table features must be specified"
NOT_OURS = rf"{UNSUPPORTED}|Kernel error: Unsupported|Invalid protocol action|Kernel error: Schema error|minimum (reader|writer) version"
DAMAGED = r"No table metadata or protocol found|Kernel error: Json error|Expected contiguous commit files"


def translated(error: Exception, path: str) -> PenstockError:
    """The error of ours for what was said about the table at `path`."""
    text = str(error)
    if re.search(NOT_OURS, text):
        return PlanRefused(
            f"the table asks for something that our Delta library does not do: {_reason(text)}",
            code="table_unfit",
            where=path,
            next_step="drop the feature from the table where Spark can (ALTER TABLE … DROP FEATURE …), or write to another path",
        )
    if re.search(DAMAGED, text):
        return Fatal(
            f"the table's log cannot be read: {_reason(text)}",
            code="table_damaged",
            where=f"{path}/_delta_log",
            next_step="restore the folder `_delta_log` from a backup; nothing was written",
        )
    return Retryable(
        f"the Delta table cannot be reached: {_reason(text)}",
        code="table_unreachable",
        where=path,
        next_step="see that the place exists and may be read and written; running again is safe",
    )


def _reason(text: str) -> str:
    """The first line without delta-rs's own names for things, and what the operating system said, where it did."""
    first = (text.splitlines() or [""])[0]
    for prefix in ("Kernel error: ", "Generic delta kernel error: "):
        first = first.removeprefix(prefix)
    system = re.search(r'Os \{[^}]*message: "([^"]*)"', text)
    short = first.partition("{")[0].rstrip(" :")
    return (short + (f": {system[1]}" if system else ""))[:TOO_LONG]
