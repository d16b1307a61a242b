"""The live line: the sums behind it over a clock of our own, and its words."""

from __future__ import annotations

import pytest

from penstock.cli.live import duration, line, short
from penstock.observe.pace import Pace
from penstock.run.supervisor import offsets_behind


class Clock:
    """Time that passes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_line_tells_one_drain_from_start_to_end() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert line(pace) == "starting"
    pace.began(0, 500_000)
    clock.now += 4
    assert line(pace) == "batch 0: 500 k, 4 s"
    pace.committed(500_000)
    assert line(pace) == "waiting for records · 500 k done · 125 k/s"
    pace.behind = 1_500_000
    pace.began(1, 500_000)
    clock.now += 1
    assert line(pace) == "batch 1: 500 k, 1 s · 500 k done · 125 k/s · 1.5 M behind · 11 s left"
    clock.now += 1
    pace.committed(500_000)
    assert (pace.behind, pace.rate) == (1_000_000, pytest.approx(1_000_000 / 6))
    pace.behind = 0
    assert line(pace) == "waiting for records · 1.0 M done · 167 k/s · 0 behind"


def test_pauses_between_batches_do_not_slow_the_rate_and_old_batches_are_forgotten() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(50):
        pace.began(0, 1000)
        clock.now += 1
        pace.committed(1000)
        clock.now += 100
    assert pace.rate == pytest.approx(1000)
    assert len(pace._ends) <= 2


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0"), (999, "999"), (999.7, "1.0 k"), (1_500, "1.5 k"), (182_000, "182 k"), (99_960, "100 k"), (3.5e9, "3.5 G")]
)
def test_numbers_are_short(number: float, words: str) -> None:
    assert short(number) == words


@pytest.mark.parametrize(("seconds", "words"), [(7.4, "7 s"), (150, "2 min"), (7_200, "2 h")])
def test_times_are_short(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_lag_is_what_lies_between_a_batch_and_the_end_of_the_topics() -> None:
    source = {"endOffset": {"a": {"0": 10, "1": 20}}, "latestOffset": {"a": {"0": 15, "1": 20, "2": 7}}}
    assert offsets_behind({"sources": [source]}) == 5
    assert offsets_behind({"sources": [{"endOffset": None, "latestOffset": None}]}) == 0


def test_the_longest_line_fits_into_80_columns() -> None:
    clock = Clock()
    pace = Pace(clock, records=888_888_888, behind=888_888_888)
    pace.began(888_888, 888_888)
    clock.now += 99
    pace.committed(999_999)
    pace.began(888_888, 888_888)
    assert len(line(pace)) <= 77, "the spinner takes two, the cursor one"
