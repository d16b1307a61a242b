"""What the demo says, word for word; at most 80 columns wide, but for commands with paths in them."""

from __future__ import annotations

import dataclasses
from io import StringIO
from pathlib import Path

import pytest

from penstock.cli.demo_screen import plain, telling
from penstock.cli.demo_text import closing, killed, lines_of, looking_around
from penstock.demo.count import Count
from penstock.demo.events import BatchFinished, Closed, Opened, RunBegun, RunMoved, StepBegun, StepDone, StepMoved
from penstock.demo.figures import Figures
from penstock.demo.place import Place
from penstock.demo.story import Listener, wrong
from penstock.demo.victim import Kill
from penstock.demo.watch import InFlight

TREE = Kill("tree", 3, 0.4, 0.512, 5, 0, 0.1, InFlight(3, 125_000, False, 2, 3))
PARENT = Kill("parent", 5, 0.71, 0.9, 1, 4, 0.66, InFlight(5, 125_000, False, 0, 5))
COUNTED = Count(1_000_000, 994_908, 5_092, 0, 0, 0, 0, 49_771_758_922, 49_771_758_922)
RIGHT = Figures(7, 1_000_000, COUNTED, True, 1_000_000, (TREE, PARENT), 8, 16, 0, 4, 1_400_000_000, 210_000_000, 87.4)


def text(lines: list[tuple[str, str]]) -> list[str]:
    assert not [line for _, line in lines if len(line) > 80]
    return [line for _, line in lines]


def test_a_kill_says_what_it_hit() -> None:
    assert text([*killed(TREE)]) == [
        "✗ kill -9 to the whole process tree, 0.51 s into batch 3",
        "    the moment was drawn by lot: 40% of the time that a batch takes",
        "    5 processes gone at once",
        "    in flight: batch 3, 125,000 records planned",
        "    2 files lie staged, part of no table",
        "    the table is at version 3, without a row of batch 3",
    ]
    assert text([*killed(PARENT)])[0] == "✗ kill -9 to the Python process alone, 0.90 s into batch 5"
    assert text([*killed(PARENT)])[2:5] == [
        "    4 processes of Spark noticed and ended in 0.7 s",
        "    in flight: batch 5, 125,000 records planned",
        "    no file was staged yet: it was reading and decoding",
    ]


def test_a_kill_between_two_commits_says_which_half_is_in() -> None:
    half = dataclasses.replace(TREE, in_flight=InFlight(3, 125_000, True, 1, 4))
    assert text([*killed(half)])[-2:] == [
        "    1 file lies staged, part of no table",
        "    the table is at version 4, with the rows of batch 3, its dead letters not",
    ]


def test_a_kill_that_came_too_late_says_so() -> None:
    assert text([*killed(dataclasses.replace(TREE, in_flight=None))])[-1] == "    nothing was in flight: batch 3 had committed just before; try again"


def test_the_figures_at_the_end() -> None:
    assert text([*closing(RIGHT)]) == [
        "produced                   1,000,000",
        "rows in the table            994,908",
        "dead letters                   5,092  malformed on purpose, bytes kept",
        "missing                            0",
        "duplicates                         0",
        "amounts produced      497,717,589.22  of the well-formed payments",
        "amounts in the table  497,717,589.22  read back row by row",
        "kills -9                           2  2 in the middle of a batch",
        "batches                            8  16 versions of both tables",
        "versions by recovery               0  added for batches that had committed",
        "files left by kills                4  staged, seen by no reader",
        "peak memory                  1.40 GB  of the pipeline, all its processes",
        "                             0.21 GB  of this demo; the broker apart",
        "",
        "✓ every payment is in exactly one place  (87 s)",
    ]


def test_without_a_proc_folder_memory_is_left_out() -> None:
    assert "memory" not in str(closing(dataclasses.replace(RIGHT, peak_pipeline_bytes=None, peak_demo_bytes=None)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"missing": 2}, "2 missing"),
        ({"duplicates": 1}, "1 duplicates"),
        ({"strange": 1}, "1 in the tables that are not in Kafka"),
        ({"altered": 1}, "1 altered"),
        ({"in_kafka": 9}, "9 records in Kafka of 1,000,000 produced"),
        ({"cents_found": 0}, "the amounts differ by 497,717,589.22"),
    ],
)
def test_whatever_is_wrong_is_named_and_an_error(change: dict[str, int], said: str) -> None:
    figures = dataclasses.replace(RIGHT, count=dataclasses.replace(RIGHT.count, **change))
    assert figures.wrongs == (said,)
    assert closing(figures)[-1] == ("bad", f"✗ {said}")
    error = wrong(figures)
    assert (error.what, error.exit_code, error.where) == (f"the counts are not right: {said}", 5, "1,000,000 payments, seed 7")


def test_the_audit_and_the_versions_count_as_well() -> None:
    assert dataclasses.replace(RIGHT, audit_clean=False).wrongs == ("the audit is not clean, or accounts for 1,000,000 records only",)
    assert dataclasses.replace(RIGHT, audit_records=5).wrongs == ("the audit is not clean, or accounts for 5 records only",)
    assert dataclasses.replace(RIGHT, versions_added_again=1).wrongs == ("1 table versions for batches that had been committed",)
    assert not RIGHT.wrongs


def test_who_keeps_the_folder_gets_commands_to_look_around() -> None:
    lines = [line for _, line in looking_around(Closed(RIGHT, Place(Path("/d")), "127.0.0.1:20001"))]
    assert [line for line in lines if line.startswith("$ penstock")] == [
        "$ penstock dev up --directory /d/kafka --port 20001",
        "$ penstock audit /d/pipeline.yaml",
        "$ penstock dev down --directory /d/kafka",
    ]
    assert "  the table         /d/lake/payments" in lines


def test_elsewhere_than_on_a_terminal_lines_come_as_they_are_and_what_moves_now_and_then() -> None:
    stream, now = StringIO(), [0.0]
    listen = plain(stream, clock=lambda: now[0])
    for second, event in (
        (0, StepBegun("produce 100 payments")),
        (1, StepMoved(20, 100)),
        (6, StepMoved(80, 100)),
        (7, StepDone("100 payments are in the topic", 7)),
        (8, RunBegun(2, "penstock run pipeline.yaml", 3)),
        (14, RunMoved(30, 100, 3)),
        (15, BatchFinished(3, 4, 7.0)),
        (20.5, RunMoved(60, 100, 4)),
    ):
        now[0] = second
        listen(event)
    assert stream.getvalue().splitlines() == [
        "  produce 100 payments: 80 of 100",
        "✓ 100 payments are in the topic  (7.0 s)",
        "",
        "$ penstock run pipeline.yaml     # the same command again",
        "  Spark starts, batch 3 waits: 30 of 100 committed",
        "✓ the interrupted batch 3 is in: table version 4, 7.0 s after the start",
        "  batch 4: 60 of 100 committed",
    ]


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **environment}.items():
        monkeypatch.setenv(name, value)
    stream = Terminal()
    with telling(stream, keep=False) as listen:
        story(listen)
    return stream.getvalue()


def story(listen: Listener) -> None:
    listen(Opened(1_000_000, 8, 7))
    listen(StepBegun("start a Kafka broker"))
    listen(StepDone("a Kafka broker runs", 3.0))
    listen(Closed(RIGHT, Place(Path("/d")), "127.0.0.1:20001"))


def test_a_terminal_has_colours_unless_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[32m✓ a Kafka broker runs  (3.0 s)" in shown(monkeypatch)
    assert "\x1b[3" not in shown(monkeypatch, NO_COLOR="1")
    assert "\x1b" not in shown(monkeypatch, TERM="dumb")


def test_every_kind_of_event_is_told_or_moves_a_bar() -> None:
    assert lines_of(StepMoved(1, 2)) == []
    assert lines_of(Opened(100, 8, 7))[0] == ("title", "100 payments, two kills -9, every offset counted")
