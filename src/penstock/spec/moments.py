"""How the file writes times: an instant with its offset from UTC, and a trigger."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_INSTANT = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d{1,9})?([Zz]|[-+]\d{2}:\d{2})?")
_EVERY = re.compile(r"every\s+(?:(\d+(?:\.\d+)?)\s+)?(milliseconds?|seconds?|minutes?|hours?)")
_SECONDS = {"millisecond": 0.001, "second": 1.0, "minute": 60.0, "hour": 3600.0}
CONTINUOUSLY = "continuously"
UNTIL_CAUGHT_UP = "until caught up"


def epoch_millis(text: str) -> int | None:
    """Milliseconds since 1970 of `2026-11-01T00:00:00Z`, or None where this is no instant with an offset."""
    found = _INSTANT.fullmatch(text)
    if found is None or found[5] is None:
        return None
    day, minute, second, fraction, offset = found.groups()
    try:
        instant = datetime.fromisoformat(f"{day}T{minute}{second or ':00'}{'+00:00' if offset in 'Zz' else offset}")
    except ValueError:
        return None
    millis = int((fraction or ".0")[1:].ljust(3, "0")[:3])
    return round((instant - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds()) * 1000 + millis


def lacks_offset(text: str) -> bool:
    """Whether this would be an instant if it said how far from UTC it is."""
    found = _INSTANT.fullmatch(text)
    return found is not None and found[5] is None


def every_seconds(text: str) -> float | None:
    """The seconds of `every 10 seconds`, or None where this is no interval above zero."""
    found = _EVERY.fullmatch(text.strip())
    if found is None:
        return None
    seconds = float(found[1] or "1") * _SECONDS[found[2].rstrip("s")]
    return seconds if seconds > 0 else None
