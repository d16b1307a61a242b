"""What a person reads of a run's events on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.cli.run import in_words
from penstock.values import BatchCounts

SECONDS = {"ask": 0.1, "work": 3.0, "commit": 0.4}
EVENTS: list[tuple[dict[str, Any], str]] = [
    (
        {"event": "pipeline started", "pipeline": "payments", "spark": "4.1.4", "master": "local[2,4]", "spark_log": str(Path.home() / "x/payments.log")},
        "payments runs on Spark 4.1.4, local[2,4]; its log: ~/x/payments.log",
    ),
    (
        {"event": "batch committed", "batch": 7, "counts": BatchCounts(150_000, 147_679, 1_557, 764), "seconds": SECONDS},
        "batch 7: 150,000 read, 147,679 rows, 1,557 filtered, 764 dead, 3.5 s",
    ),
    (
        {"event": "batch committed", "batch": 7, "counts": BatchCounts(1000, 990, 6, 4, 12), "seconds": SECONDS},
        "batch 7: 1,000 read, 990 into 12 rows, 6 filtered, 4 dead, 3.5 s",
    ),
    ({"event": "batch committed", "batch": 7, "counts": None, "seconds": SECONDS}, "batch 7: was in already, 3.5 s"),
    (
        {"event": "trying again", "error": "Kafka cannot be reached", "where": "127.0.0.1:9092", "code": "kafka_unreachable", "pause_seconds": 4.0},
        "Kafka cannot be reached (127.0.0.1:9092); trying again in 4 s",
    ),
]


@pytest.mark.parametrize(("event", "words"), EVENTS)
def test_an_event_is_one_line(event: dict[str, Any], words: str) -> None:
    assert in_words(None, "info", {**event, "timestamp": "12:00:00", "level": "info"}) == f"12:00:00  {words}"
