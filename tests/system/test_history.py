"""The readers that look on, on tables torn by hand: what they must find is there, so they must find it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from harness.history import HistoryVerdict, Watcher, delta_files, judge_history
from harness.load import Record

RECORDS = 40
BATCHES = 4
KAFKA = {("id", 0, n): Record(None, b'{"n":%d}' % n if n % 10 else b"{") for n in range(RECORDS)}
"""Ten records a batch, the first of each malformed."""


class Table:
    """Rows and dead letters with Spark's log beside them, written as the test says; one look after each step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("offsets", "commits"):
            (folder / part).mkdir()
        for batch in range(BATCHES):
            (folder / f"offsets/{batch}").write_text("v1\n{}\n" + json.dumps({"topic": {"0": 10 * (batch + 1)}}))
        self.readers = Watcher({name: lambda name=name: delta_files(folder / name) for name in ("rows", "dead")}, folder)  # type: ignore[misc]
        self.readers.look()

    def write(self, name: str, *offsets: int) -> None:
        places = [{"topic_id": "id", "partition": 0, "offset": offset} for offset in offsets]
        write_deltalake(str(self.folder / name), pa.table({"_source": places}), mode="append")
        self.readers.look()

    def done(self, batch: int) -> None:
        (self.folder / f"commits/{batch}").touch()
        self.readers.look()

    def batch(self, batch: int) -> None:
        self.write("rows", *range(10 * batch + 1, 10 * batch + 10))
        self.write("dead", 10 * batch)
        self.done(batch)

    @property
    def verdict(self) -> HistoryVerdict:
        return judge_history(self.readers.samples, KAFKA, self.folder)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Table(tmp_path)
    table.batch(0)
    table.batch(1)
    assert (verdict := table.verdict), verdict
    return table


def test_a_batch_written_in_two_appends_is_torn(table: Table) -> None:
    table.write("rows", *range(21, 25))
    table.write("rows", *range(25, 30))
    table.write("dead", 20)
    assert table.verdict == HistoryVerdict(10, torn=["sample 7: rows of batch 2: 4 of 9"])


def test_a_batch_written_twice_is_torn(table: Table) -> None:
    table.batch(2)
    table.write("dead", 20)
    assert table.verdict == HistoryVerdict(11, torn=["sample 10: dead of batch 2: 2 of 1"])


def test_rows_that_vanish_and_a_version_that_falls_go_backwards(table: Table) -> None:
    DeltaTable(str(table.folder / "rows")).restore(0)
    table.readers.look()
    (table.folder / "commits/1").unlink()
    for file in (table.folder / "dead/_delta_log").glob("*1.json"):
        file.unlink()
    table.readers.look()
    assert table.verdict.backwards == [
        "sample 7: rows: 1 files are gone",
        "sample 8: batch 1 was done, now 0",
        "sample 8: dead: version 0 after 1",
        "sample 8: dead: 1 files are gone",
    ]


def test_a_batch_called_done_before_its_rows_are_in_is_missing(table: Table) -> None:
    table.done(2)
    table.write("rows", *range(21, 30))
    table.write("dead", 20)
    assert table.verdict == HistoryVerdict(
        10,
        missing=[
            "sample 7: rows of batch 2: 0 of 9",
            "sample 7: dead of batch 2: 0 of 1",
            "sample 8: dead of batch 2: 0 of 1",
        ],
    )


def test_an_error_of_the_readers_is_an_error_of_the_test(tmp_path: Path) -> None:
    def broken() -> tuple[int, frozenset[str]]:
        if len(readers.samples) > 1:
            raise OSError("nothing to be seen")
        return -1, frozenset()

    readers = Watcher({"rows": broken}, tmp_path)
    with pytest.raises(OSError, match="nothing to be seen"), readers:
        readers._thread.join(30)
