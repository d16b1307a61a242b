"""What delta-rs does not say clearly: which file of a log is torn, and what went wrong in one line."""

from __future__ import annotations

import itertools
import json
import re

from penstock.storage import Storage

LOOKED_THROUGH = 200  # the newest files of a log: older ones stand in a checkpoint of the log as a rule
RUST_FRAME = re.compile(r"\d+: ")
ORNAMENT = re.compile(r"\x1b\[[0-9;]*m|↳")


def torn_file(table: Storage) -> str | None:
    """The newest file of the table's log that does not parse."""
    names = [name for name in table.names("_delta_log") if name.endswith(".json")]
    return next((name for name in reversed(names[-LOOKED_THROUGH:]) if not _parses(table.read(f"_delta_log/{name}") or b"")), None)


def in_one_line(error: Exception) -> str:
    """What delta-rs says, less its colours and the Rust stack below."""
    lines = (line.strip() for line in ORNAMENT.sub("", str(error)).splitlines())
    return ": ".join(itertools.takewhile(lambda line: not RUST_FRAME.match(line), filter(None, lines))) or type(error).__name__


def _parses(commit: bytes) -> bool:
    try:
        return all(json.loads(line) is not None for line in commit.splitlines())
    except ValueError:
        return False
