"""What delta-rs does not say clearly: which file of a log is torn."""

from __future__ import annotations

import json

from penstock.storage import Storage

LOOKED_THROUGH = 200  # the newest files of a log: older ones stand in a checkpoint of the log as a rule


def torn_file(table: Storage) -> str | None:
    """The newest file of the table's log that does not parse."""
    names = [name for name in table.names("_delta_log") if name.endswith(".json")]
    return next((name for name in reversed(names[-LOOKED_THROUGH:]) if not _parses(table.read(f"_delta_log/{name}") or b"")), None)


def _parses(commit: bytes) -> bool:
    try:
        return all(json.loads(line) is not None for line in commit.splitlines())
    except ValueError:
        return False
