"""The Delta sink's promise, against real tables: a token commits once, whatever else happens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from penstock.errors import Fatal, PlanRefused, Retryable
from penstock.sink.delta_table import DeltaSink
from penstock.sink.port import AlreadyWritten, TaskPlace, Written
from penstock.values import BatchCounts, BatchId, CommitToken, Generation

SCHEMA = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("_source", pa.struct([pa.field("offset", pa.int64())]))])
COUNTS = BatchCounts(3, 2, 0, 1)


def token(batch: int = 0, digest: int = 11, generation: str = "g") -> CommitToken:
    return CommitToken("pipeline", "flow", "sink", Generation(generation), BatchId(batch), digest)


def rows(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"n": n, "_source": {"offset": n}} for n in numbers], schema=SCHEMA)


def sink_at(path: Path, owner: str = "payments:main:sink") -> DeltaSink:
    sink = DeltaSink(str(path), owner)
    sink.prepare(SCHEMA)
    return sink


def staged(sink: DeltaSink, *numbers: int, batch: int = 0) -> list[str]:
    writer = sink.stage().open(TaskPlace(batch, 0, 0))
    writer.write(rows(*numbers))
    return list(writer.close())


def numbers_in(path: Path) -> list[int]:
    return sorted(DeltaTable(str(path)).to_pyarrow_table().column("n").to_pylist())


def test_a_token_commits_once_and_tells_what_it_carried(tmp_path: Path) -> None:
    sink = sink_at(tmp_path)
    assert sink.find(token()) is None
    first = sink.commit(staged(sink, 1, 2), token(), COUNTS)
    second = sink_at(tmp_path).commit(staged(sink, 1, 2), token(), COUNTS)
    assert (type(first), type(second)) == (Written, AlreadyWritten)
    assert first.evidence == second.evidence
    assert (first.evidence.version, first.evidence.counts) == (1, COUNTS)
    assert numbers_in(tmp_path) == [1, 2]


def test_rows_that_are_staged_are_not_seen(tmp_path: Path) -> None:
    sink = sink_at(tmp_path)
    staged(sink, 1, 2)
    assert numbers_in(tmp_path) == []


def test_what_is_abandoned_leaves_no_file(tmp_path: Path) -> None:
    sink = sink_at(tmp_path)
    writer = sink.stage().open(TaskPlace(0, 0, 0))
    writer.write(rows(1))
    writer.close()
    assert list(tmp_path.glob("*.parquet"))
    writer.abandon()
    assert not list(tmp_path.glob("*.parquet"))


def test_what_is_discarded_is_removed_unless_the_table_holds_it(tmp_path: Path) -> None:
    sink = sink_at(tmp_path)
    committed, left = staged(sink, 1), staged(sink, 2)
    sink.commit(committed, token(), COUNTS)
    sink.discard([*committed, *left])
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    assert numbers_in(tmp_path) == [1]


def test_an_empty_batch_leaves_its_token_too(tmp_path: Path) -> None:
    sink = sink_at(tmp_path)
    assert isinstance(sink.commit([], token(), BatchCounts(1, 0, 1, 0)), Written)
    assert isinstance(sink.commit([], token(), BatchCounts(1, 0, 1, 0)), AlreadyWritten)


def test_of_many_writers_with_one_token_exactly_one_commits(tmp_path: Path) -> None:
    sinks = [sink_at(tmp_path) for _ in range(8)]
    files = [staged(sink, 1, 2) for sink in sinks]
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda pair: pair[0].commit(pair[1], token(), COUNTS), zip(sinks, files, strict=True)))
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AlreadyWritten"] * 7 + ["Written"]
    assert numbers_in(tmp_path) == [1, 2]


def test_writers_of_other_things_do_not_hinder_each_other(tmp_path: Path) -> None:
    sinks = [sink_at(tmp_path, f"payments:main:sink {n}") for n in range(4)]
    tokens = [CommitToken("p", "f", f"sink {n}", Generation("g"), BatchId(0), 1) for n in range(4)]
    files = [staged(sink, n) for n, sink in enumerate(sinks)]
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda sink, file, mine: sink.commit(file, mine, COUNTS), sinks, files, tokens))
    assert {type(outcome) for outcome in outcomes} == {Written}
    assert len({outcome.evidence.version for outcome in outcomes}) == 4
    assert numbers_in(tmp_path) == [0, 1, 2, 3]


def test_the_same_token_with_other_ranges_is_refused(tmp_path: Path) -> None:
    sink = sink_at(tmp_path)
    sink.commit(staged(sink, 1), token(digest=11), COUNTS)
    with pytest.raises(Fatal) as refused:
        sink.find(token(digest=12))
    assert str(refused.value) == (
        "the table holds another batch 0 under the same token: it has other Kafka ranges, or was begun with another file\n"
        f"where: {tmp_path}\n"
        "next:  two copies of one checkpoint write to this table: stop this one, and keep the one whose batches the table holds"
    )


def test_a_token_ahead_of_the_checkpoint_is_refused(tmp_path: Path) -> None:
    sink = sink_at(tmp_path)
    sink.commit(staged(sink, 1), token(batch=5), COUNTS)
    with pytest.raises(Fatal, match="the table holds batch 5 of this pipeline, but the checkpoint is only at batch 4"):
        sink.commit(staged(sink, 2), token(batch=4), COUNTS)
    assert numbers_in(tmp_path) == [1]


@pytest.mark.parametrize("left", [0.5, 0.05])
def test_half_a_commit_in_the_log_is_named(tmp_path: Path, left: float) -> None:
    sink = sink_at(tmp_path)
    sink.commit(staged(sink, 1), token(), COUNTS)
    whole = (tmp_path / f"_delta_log/{1:020d}.json").read_bytes()
    (tmp_path / f"_delta_log/{2:020d}.json").write_bytes(whole[: int(len(whole) * left)])
    for ask in (lambda: sink.find(token(batch=1)), lambda: sink_at(tmp_path)):
        with pytest.raises(Fatal) as refused:
            ask()
        assert str(refused.value) == (
            "the table's log cannot be read: 00000000000000000002.json does not parse\n"
            f"where: {tmp_path}/_delta_log\n"
            "next:  restore this file from a backup; where there is none, remove it and let `penstock audit` say what is missing"
        )


def test_a_file_where_the_table_should_be_is_worth_another_try(tmp_path: Path) -> None:
    place = tmp_path / "table"
    place.touch()
    with pytest.raises(Retryable) as refused:
        sink_at(place)
    assert str(refused.value) == (
        f"the Delta table cannot be reached: Generic LocalFileSystem error: Unable to walk dir: IO error for operation on {place}/_delta_log:"
        " Not a directory (os error 20)\n"
        f"where: {place}\n"
        "next:  see that the place exists and may be read and written; running again is safe"
    )


def test_another_generation_over_the_same_table_is_refused_unless_accepted(tmp_path: Path) -> None:
    sink = sink_at(tmp_path)
    sink.adopt("pipeline", Generation("g"))
    sink.commit(staged(sink, 1), token(), COUNTS)
    sink_at(tmp_path).adopt("pipeline", Generation("g"))
    for pipeline, generation in (("pipeline", "h"), ("made anew", "g")):
        with pytest.raises(PlanRefused, match="the table holds batches that this pipeline wrote from another state"):
            sink_at(tmp_path).adopt(pipeline, Generation(generation))
        sink_at(tmp_path).adopt(pipeline, Generation(generation), accept=True)


def test_the_token_outlives_the_log_it_was_written_in(tmp_path: Path) -> None:
    sink = sink_at(tmp_path)
    sink.commit(staged(sink, 1), token(), COUNTS)
    table = DeltaTable(str(tmp_path))
    table.create_checkpoint()
    for entry in (tmp_path / "_delta_log").glob("*.json"):
        entry.unlink()
    found = sink_at(tmp_path).find(token())
    assert found is not None
    assert found.counts is None, "what the commit carried is gone with the log; that it was made is not"


def test_rows_can_be_traced_to_their_records(tmp_path: Path) -> None:
    sink = sink_at(tmp_path)
    sink.commit(staged(sink, 1, 2), token(), COUNTS)
    assert [place["offset"] for part in sink.provenance() or () for place in part.to_pylist()] == [1, 2]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema": pa.schema([("n", pa.string()), SCHEMA.field("_source")])}, "column `n` is string in the table and long in the pipeline"),
        ({"schema": pa.schema([SCHEMA.field("_source")])}, "column `n` (long) is not in the table"),
        ({"schema": SCHEMA.append(pa.field("m", pa.int64(), nullable=False))}, "column `m` is NOT NULL in the table and the pipeline does not fill it"),
        ({"schema": SCHEMA, "partition_by": ["n"]}, "it is partitioned by n: this version writes unpartitioned tables"),
        (
            {"schema": SCHEMA, "configuration": {"delta.setTransactionRetentionDuration": "interval 7 days"}},
            "its property `delta.setTransactionRetentionDuration` = interval 7 days lets it forget which batches it holds:"
            " unset it, or records could be doubled",
        ),
        ({"schema": SCHEMA, "configuration": {"delta.columnMapping.mode": "name"}}, "its column mapping mode is `name`, which our writer does not keep"),
    ],
)
def test_a_table_that_cannot_take_the_rows_is_refused(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    DeltaTable.create(str(tmp_path), **change)  # type: ignore[arg-type]
    with pytest.raises(PlanRefused) as refused:
        sink_at(tmp_path)
    assert f"  - {reason}" in str(refused.value).splitlines()


def test_a_table_with_more_columns_takes_rows_that_leave_them_null(tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path), schema=SCHEMA.append(pa.field("extra", pa.string())))
    sink = sink_at(tmp_path)
    sink.commit(staged(sink, 1), token(), COUNTS)
    assert DeltaTable(str(tmp_path)).to_pyarrow_table().column("extra").to_pylist() == [None]
