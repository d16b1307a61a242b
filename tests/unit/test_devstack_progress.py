"""How progress looks: a bar on a terminal, few lines elsewhere."""

from __future__ import annotations

from io import StringIO

from penstock.devstack.progress import lines, shown_progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_at_the_start_every_three_seconds_and_at_the_end() -> None:
    stream, now = StringIO(), [0.0]
    show = lines(stream, clock=lambda: now[0])
    for second, done in ((0.0, 0), (0.5, 1), (2.9, 2), (3.0, 3), (3.5, 4), (3.6, 10)):
        now[0] = second
        show("fetching", done * 1_000_000, 10_000_000)
    assert stream.getvalue().splitlines() == ["fetching: 0.0 of 10.0 MB", "fetching: 3.0 of 10.0 MB", "fetching: 10.0 of 10.0 MB"]


def test_a_stream_that_is_no_terminal_gets_lines() -> None:
    stream = StringIO()
    with shown_progress(stream) as show:
        show("fetching", 5_000_000, 5_000_000)
    assert stream.getvalue() == "fetching: 5.0 of 5.0 MB\n"


def test_a_terminal_gets_one_bar_with_its_label() -> None:
    stream = Terminal()
    with shown_progress(stream) as show:
        show("fetching 3 archives", 0, 100)
        show("fetching 3 archives", 100, 100)
    assert "fetching 3 archives" in stream.getvalue()


def test_nothing_appears_where_nothing_is_fetched() -> None:
    stream = StringIO()
    with shown_progress(stream):
        pass
    assert stream.getvalue() == ""
