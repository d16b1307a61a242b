"""Times as the file writes them."""

from __future__ import annotations

import pytest

from penstock.spec.moments import epoch_millis, every_seconds, lacks_offset


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-11-01T00:00:00Z", 1_793_491_200_000),
        ("2026-11-01T02:00:00+02:00", 1_793_491_200_000),
        ("2026-11-01 00:00Z", 1_793_491_200_000),
        ("2026-11-01t00:00:00.5z", 1_793_491_200_500),
        ("2026-11-01T00:00:00.123456789Z", 1_793_491_200_123),
        ("1969-12-31T23:59:59Z", -1_000),
        ("2026-11-01T00:00:00", None),
        ("2026-11-01", None),
        ("2026-13-01T00:00:00Z", None),
        ("latest", None),
    ],
)
def test_an_instant_needs_its_offset(text: str, millis: int | None) -> None:
    assert epoch_millis(text) == millis


def test_a_time_that_lacks_only_its_offset_is_recognised() -> None:
    assert lacks_offset("2026-11-01T00:00:00")
    assert not lacks_offset("2026-11-01T00:00:00Z")
    assert not lacks_offset("noon")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("every 10 seconds", 10.0),
        ("every second", 1.0),
        ("every 500 milliseconds", 0.5),
        ("every 1.5 minutes", 90.0),
        ("every 2 hours", 7_200.0),
        ("every 0 seconds", None),
        ("every -1 seconds", None),
        ("10 seconds", None),
        ("every 10 days", None),
    ],
)
def test_an_interval_is_every_so_many_of_a_unit(text: str, seconds: float | None) -> None:
    assert every_seconds(text) == seconds
