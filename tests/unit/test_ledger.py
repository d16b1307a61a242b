"""The ledger: every batch reads back once, as it was put last, whatever was folded and wherever the writer died."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import msgspec
import pytest

from harness.ledger import Crash, DyingStorage, Fuse, entry
from penstock.errors import Fatal, Retryable
from penstock.ledger.book import LedgerReader, LedgerWriter
from penstock.ledger.entry import LedgerEntry, SinkEntry
from penstock.ledger.layout import Layout
from penstock.storage import LocalStorage

SMALL = Layout(sizes=(1, 3, 9), kept=4)
"""The same shape in small: what takes ten thousand batches takes nine."""


def write(folder: Path, batches: range, layout: Layout = SMALL) -> None:
    writer = LedgerWriter(LocalStorage(folder), layout)
    for batch in batches:
        writer.put(entry(batch))


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def batches(folder: Path, since: int = 0, layout: Layout = SMALL) -> list[int]:
    return [item.batch for item in LedgerReader(LocalStorage(folder), layout).entries("g", since)]


def test_an_ordinary_batch_costs_one_write(tmp_path: Path) -> None:
    write(tmp_path, range(5))
    fuse = Fuse(steps=1)
    writer = LedgerWriter(DyingStorage(tmp_path, fuse), SMALL)
    writer.put(entry(6))
    assert fuse.steps == 0
    with pytest.raises(Crash):
        writer.put(entry(7))


def test_finished_batches_are_folded_into_segments_and_segments_into_larger_ones(tmp_path: Path) -> None:
    write(tmp_path, range(18))
    assert names(tmp_path) == [
        *(f"g/{batch:012d}.json" for batch in range(12, 18)),
        "g/by-3/000000000009-000000000011.json.gz",
        "g/by-9/000000000000-000000000008.json.gz",
    ]
    assert batches(tmp_path) == list(range(18))


def test_the_batches_that_spark_may_replay_are_never_folded(tmp_path: Path) -> None:
    write(tmp_path, range(1_500), Layout())
    alone = [int(name[2:14]) for name in names(tmp_path) if name.endswith(".json")]
    assert alone == list(range(1_300, 1_500))
    assert batches(tmp_path, layout=Layout()) == list(range(1_500))


def test_the_number_of_files_does_not_grow_with_history(tmp_path: Path) -> None:
    layout = Layout(sizes=(1, 3, 9, 81), kept=4)
    write(tmp_path, range(81 * 5), layout)
    assert len(names(tmp_path)) <= 5 + 9 + 3 + (4 + 3)
    assert batches(tmp_path, layout=layout) == list(range(81 * 5))


def test_reading_may_begin_at_any_batch(tmp_path: Path) -> None:
    write(tmp_path, range(30))
    for since in range(32):
        assert batches(tmp_path, since) == list(range(since, 30))


def test_the_last_entry_is_found_wherever_it_lies(tmp_path: Path) -> None:
    reader = LedgerReader(LocalStorage(tmp_path), SMALL)
    assert reader.last("g") is None
    write(tmp_path, range(20))
    assert reader.last("g") == entry(19)
    for single in (tmp_path / "g").glob("*.json"):
        single.unlink()
    assert reader.last("g") == entry(11)


def test_the_last_entry_is_the_only_one_that_is_read(tmp_path: Path) -> None:
    write(tmp_path, range(20))
    for older in [path for path in tmp_path.rglob("*.json*") if "19" not in path.name]:
        older.write_bytes(b"damaged")
    assert LedgerReader(LocalStorage(tmp_path), SMALL).last("g") == entry(19)


def test_generations_are_kept_apart(tmp_path: Path) -> None:
    writer = LedgerWriter(LocalStorage(tmp_path), SMALL)
    for batch in range(12):
        writer.put(entry(batch, generation="one"))
        writer.put(entry(batch, generation="two"))
    reader = LedgerReader(LocalStorage(tmp_path), SMALL)
    assert reader.generations() == ("one", "two")
    assert [item.generation for item in reader.entries("two")] == ["two"] * 12


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("steps", range(12))
def test_a_crash_at_any_write_loses_nothing_and_the_replay_goes_on(tmp_path: Path, steps: int, after: bool) -> None:
    """Batch 14 writes itself, folds 6 to 8 (an archive, three removals), then three segments into one (the same again)."""
    write(tmp_path, range(14))
    with pytest.raises(Crash) if steps < 9 else pytest.raises(AssertionError, match="lived"):
        LedgerWriter(DyingStorage(tmp_path, Fuse(steps, after)), SMALL).put(entry(14, written_at=1))
        raise AssertionError("lived")
    assert batches(tmp_path)[:14] == list(range(14))
    write(tmp_path, range(14, 15))
    assert batches(tmp_path) == list(range(15))
    assert len(names(tmp_path)) == 6 + 1


def test_what_an_earlier_life_left_unfolded_is_folded_the_next_time(tmp_path: Path) -> None:
    write(tmp_path, range(40), Layout(sizes=(1, 1_000), kept=0))
    assert len(names(tmp_path)) == 40
    write(tmp_path, range(40, 42))
    assert len(names(tmp_path)) == 6 + 4
    assert batches(tmp_path) == list(range(42))


def test_a_batch_that_is_replayed_after_it_was_folded_counts_as_it_was_put_last(tmp_path: Path) -> None:
    write(tmp_path, range(18))
    writer = LedgerWriter(LocalStorage(tmp_path), SMALL)
    for batch in (2, 10):
        writer.put(entry(batch, written_at=7))
    expected = [entry(batch, written_at=7 if batch in (2, 10) else 0) for batch in range(18)]
    assert list(LedgerReader(LocalStorage(tmp_path), SMALL).entries("g")) == expected
    writer.put(entry(17))
    assert len(names(tmp_path)) == 6 + 1 + 1
    assert list(LedgerReader(LocalStorage(tmp_path), SMALL).entries("g")) == expected


class FoldedMeanwhile(LocalStorage):
    """A folder in which another process folds the ledger right before a folder is listed or a file is opened."""

    meanwhile: Iterator[None] = iter(())

    def names(self, folder: str = "") -> Sequence[str]:
        next(self.meanwhile, None)
        return super().names(folder)

    def open(self, name: str):  # type: ignore[no-untyped-def]
        next(self.meanwhile, None)
        return super().open(name)


@pytest.mark.parametrize("steps", range(12))
def test_a_reader_misses_nothing_that_is_folded_under_its_hands(tmp_path: Path, steps: int) -> None:
    write(tmp_path, range(17))

    def meanwhile() -> Iterator[None]:
        for _ in range(steps):
            yield
        write(tmp_path, range(17, 27))
        yield

    storage = FoldedMeanwhile(tmp_path)
    storage.meanwhile = meanwhile()
    found = [item.batch for item in LedgerReader(storage, SMALL).entries("g")]
    assert found[:17] == list(range(17))
    assert found == sorted(set(found))


def test_many_readers_beside_a_writer_always_see_a_whole_ledger(tmp_path: Path) -> None:
    done = threading.Event()

    def write_all() -> None:
        write(tmp_path, range(300))
        done.set()

    thread = threading.Thread(target=write_all)
    thread.start()
    reads = 0
    while not done.is_set() or not reads:
        found = batches(tmp_path)
        assert found == list(range(len(found)))
        reads += 1
    thread.join()


def test_an_entry_laid_out_by_hand_is_folded_as_one_line(tmp_path: Path) -> None:
    write(tmp_path, range(8))
    path = tmp_path / "g/000000000003.json"
    path.write_text(path.read_text().replace(",", ",\n  "))
    write(tmp_path, range(8, 9))
    assert not path.exists() or batches(tmp_path) == list(range(9))
    write(tmp_path, range(9, 18))
    assert not path.exists()
    assert list(LedgerReader(LocalStorage(tmp_path), SMALL).entries("g")) == [entry(batch) for batch in range(18)]


def test_one_query_of_duckdb_reads_everything(tmp_path: Path) -> None:
    writer = LedgerWriter(LocalStorage(tmp_path / "state/ledger"), SMALL)
    dead = SinkEntry("penstock:p:f:d:g:39", "delta lake/dead", 0, True)
    for batch in range(40):
        item = entry(batch)
        item = msgspec.structs.replace(item, counts=None) if batch < 20 else item
        writer.put(msgspec.structs.replace(item, sinks={**item.sinks, "dead_letters": dead}) if batch == 39 else item)
    assert {path.parent.name for path in tmp_path.rglob("*.json*")} == {"g", "by-3", "by-9"}
    rows = f"read_json('{tmp_path}/state/ledger/**/*.json*', sample_size=-1)"
    query = f"SELECT count(*), sum(counts.rows), sum(len(ranges)), max(sinks.sink.version), max(sinks.dead_letters.version) FROM {rows}"
    assert duckdb.sql(query).fetchall() == [(40, 200, 40, 40, 0)]


def test_a_query_counts_what_a_crash_left_twice_only_once(tmp_path: Path) -> None:
    write(tmp_path, range(8))
    with pytest.raises(Crash):
        LedgerWriter(DyingStorage(tmp_path, Fuse(steps=3)), SMALL).put(entry(8))
    everything = f"FROM read_json('{tmp_path}/**/*.json*')"
    assert duckdb.sql(f"SELECT count(*) {everything}").fetchall() == [(11,)]
    latest = "QUALIFY row_number() OVER (PARTITION BY generation, batch ORDER BY written_at_millis DESC) = 1"
    assert duckdb.sql(f"SELECT count(*) FROM (SELECT * {everything} {latest})").fetchall() == [(9,)]


def damaged(folder: Path) -> list[str]:
    return [str(item) for item in LedgerReader(LocalStorage(folder), SMALL).scan("g") if not isinstance(item, LedgerEntry)]


def test_every_damage_is_named_where_it_is(tmp_path: Path) -> None:
    write(tmp_path, range(27))
    singles = tmp_path / "g"
    assert names(tmp_path)[:6] == [f"g/{batch:012d}.json" for batch in range(21, 27)]
    (singles / "000000000021.json").write_bytes(b"")
    cut = singles / "000000000022.json"
    cut.write_bytes(cut.read_bytes()[:50])
    (singles / "000000000023.json").write_bytes((singles / "000000000024.json").read_bytes())
    (singles / "000000000024.json").unlink()
    changed = singles / "000000000025.json"
    changed.write_text(changed.read_text().replace('"start":250', '"start":249'))
    changed = singles / "000000000026.json"
    changed.write_text(changed.read_text().replace('"partition":0', '"partition":"0"'))
    assert damaged(tmp_path) == [
        "g/000000000021.json: it is empty",
        "g/000000000022.json: it does not parse",
        "g/000000000023.json: it holds batch 24 of generation g",
        "g: there is no entry of batch 24",
        "g/000000000025.json: the ranges of batch 25 are not those that it was written with",
        "g/000000000026.json: the entry of batch 26 does not parse",
    ]
    with pytest.raises(Fatal) as refused:
        list(LedgerReader(LocalStorage(tmp_path), SMALL).entries("g"))
    assert str(refused.value) == (
        "the ledger is damaged: g/000000000021.json: it is empty\n"
        f"where: {tmp_path}\n"
        "next:  restore it from a backup; `penstock audit` names everything that is damaged or missing"
    )


def test_a_damaged_segment_is_read_up_to_the_damage(tmp_path: Path) -> None:
    write(tmp_path, range(27))
    large = tmp_path / "g/by-9/000000000009-000000000017.json.gz"
    (tmp_path / "g/by-3/000000000018-000000000020.json.gz").unlink()
    (tmp_path / "g/by-9/000000000000-000000000008.json.gz").write_bytes(b"")
    content = large.read_bytes()
    large.write_bytes(content[: len(content) // 2])
    found = damaged(tmp_path)
    assert found[0] == "g/by-9/000000000000-000000000008.json.gz: it is empty"
    assert found[1] in {f"g/by-9/000000000009-000000000017.json.gz: from batch {batch} on it cannot be unpacked" for batch in (12, 13)}
    assert found[2:] == ["g: there are no entries of the batches 18 to 20"]


def test_a_batch_out_of_order_is_missing(tmp_path: Path) -> None:
    write(tmp_path, range(9))
    segment = tmp_path / "g/by-3/000000000000-000000000002.json.gz"
    segment.write_bytes(gzip.compress(b"".join(reversed(gzip.decompress(segment.read_bytes()).splitlines(keepends=True)))))
    assert damaged(tmp_path) == ["g: there are no entries of the batches 0 to 1"]


def test_what_does_not_read_is_left_as_it_is_and_the_rest_is_folded(tmp_path: Path) -> None:
    write(tmp_path, range(8))
    (tmp_path / "g/000000000001.json").write_bytes(b"{")
    write(tmp_path, range(8, 27))
    assert damaged(tmp_path) == ["g/000000000001.json: it does not parse"]
    assert len(names(tmp_path)) == 3 + 2 + 1 + 6
    write(tmp_path, range(1, 2))
    write(tmp_path, range(26, 27))
    assert (damaged(tmp_path), len(names(tmp_path))) == ([], 9)
    assert batches(tmp_path) == list(range(27))


def test_a_folder_in_the_place_of_an_entry_is_named(tmp_path: Path) -> None:
    (tmp_path / "g/000000000000.json").mkdir(parents=True)
    with pytest.raises(Retryable) as failed:
        batches(tmp_path)
    assert failed.value.what == "a state file cannot be reached: Is a directory"
    assert failed.value.where == str(tmp_path / "g/000000000000.json")
