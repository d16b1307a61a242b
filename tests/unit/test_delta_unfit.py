"""Tables that somebody else made: each is written to correctly, or refused by name before a row is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from harness.delta_logs import add_commit, delete_by_vector, table_with
from harness.refusal import Said, pipeline_file
from penstock.errors import Fatal, PlanRefused
from penstock.records import SOURCE
from penstock.sink.delta_schema import HARMLESS_FEATURES
from penstock.sink.delta_table import DeltaSink
from penstock.sink.port import TaskPlace, Written
from penstock.values import BatchCounts, BatchId, CommitToken, Generation

SCHEMA = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("_source", pa.struct([pa.field("offset", pa.int64())]))])
ROWS = pa.schema([("n", pa.int64()), ("text", pa.string()), ("_source", SOURCE)])
"""The table of the pipeline that `pipeline_file` writes."""


def append(sink: DeltaSink, *numbers: int, batch: int = 0) -> object:
    writer = sink.stage().open(TaskPlace(batch, 0, 0))
    writer.write(pa.RecordBatch.from_pylist([{"n": n, "_source": {"offset": n}} for n in numbers], schema=SCHEMA))
    return sink.commit(writer.close(), CommitToken("p", "f", "s", Generation("g"), BatchId(batch), 7), BatchCounts(len(numbers), len(numbers), 0, 0))


def sink_at(path: Path) -> DeltaSink:
    sink = DeltaSink(str(path), "payments:main:sink")
    sink.check(SCHEMA)
    sink.prepare(SCHEMA)
    return sink


def offsets(sink: DeltaSink) -> list[int]:
    return sorted(place["offset"] for part in sink.provenance() or () for place in part.to_pylist())


# What is written to


@pytest.mark.parametrize("feature", sorted(HARMLESS_FEATURES))
def test_a_table_with_a_feature_that_asks_nothing_of_us_is_written_and_read_back(tmp_path: Path, feature: str) -> None:
    sink = sink_at(table_with(tmp_path, SCHEMA, feature))
    assert isinstance(append(sink, 1, 2), Written)
    assert isinstance(append(sink, 3, batch=1), Written)
    assert offsets(sink) == [1, 2, 3]


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_every_older_writer_version_that_our_library_knows_is_written(tmp_path: Path, version: int) -> None:
    sink = sink_at(table_with(tmp_path, SCHEMA, protocol={"minReaderVersion": 1, "minWriterVersion": version}))
    assert isinstance(append(sink, 1), Written)


def test_an_append_only_table_takes_rows(tmp_path: Path) -> None:
    sink = sink_at(table_with(tmp_path, SCHEMA, "appendOnly", configuration={"delta.appendOnly": "true"}))
    assert isinstance(append(sink, 1), Written)


def test_the_change_feed_of_a_table_shows_every_row_as_inserted_once(tmp_path: Path) -> None:
    sink = sink_at(table_with(tmp_path, SCHEMA, "changeDataFeed", configuration={"delta.enableChangeDataFeed": "true"}))
    append(sink, 1, 2)
    append(sink, 3, batch=1)
    changes = pa.table(DeltaTable(str(tmp_path)).load_cdf(starting_version=1).read_all())
    assert sorted(zip(changes["n"].to_pylist(), changes["_change_type"].to_pylist(), changes["_commit_version"].to_pylist(), strict=True)) == [
        (1, "insert", 1),
        (2, "insert", 1),
        (3, "insert", 2),
    ]


def test_rows_that_a_deletion_vector_deletes_are_not_counted_by_the_audit_and_others_can_be_added(tmp_path: Path) -> None:
    sink = sink_at(table_with(tmp_path, SCHEMA, "deletionVectors", configuration={"delta.enableDeletionVectors": "true"}))
    append(sink, *range(10))
    delete_by_vector(tmp_path, 3, 5)
    assert offsets(sink) == [0, 1, 2, 4, 6, 7, 8, 9]
    append(sink, 10, batch=1)
    assert offsets(sink_at(tmp_path)) == [0, 1, 2, 4, 6, 7, 8, 9, 10]
    table = DeltaTable(str(tmp_path))
    assert pa.table(QueryBuilder().register("t", table).execute("SELECT count(*) AS n FROM t").read_all())["n"].to_pylist() == [9]


# What is refused, by name

UNFIT: dict[str, tuple[tuple[str, ...], dict[str, Any], str]] = {
    **{
        feature: ((feature,), {}, f"it has the feature `{feature}`, which our writer does not keep (in Spark: ALTER TABLE … DROP FEATURE {feature})")
        for feature in (
            *("allowColumnDefaults", "clustering", "columnMapping", "domainMetadata", "icebergCompatV2", "identityColumns", "inCommitTimestamp"),
            *("rowTracking", "typeWidening", "vacuumProtocolCheck", "neverHeardOf"),
        )
    },
    "writer version 6": (
        (),
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 6}},
        "its writer version is 6: our writer knows 1 to 5, and 7 with the features it names",
    ),
    "writer version 8": (
        (),
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 8}},
        "its writer version is 8: our writer knows 1 to 5, and 7 with the features it names",
    ),
    "a constraint": (
        ("checkConstraints",),
        {"configuration": {"delta.constraints.positive": "n > 0"}},
        "it has the constraint `positive`, which our writer does not check (in Spark: ALTER TABLE … DROP CONSTRAINT positive)",
    ),
    "a generated column": (
        ("generatedColumns",),
        {"properties": {"n": {"delta.generationExpression": "1"}}},
        "column `n` is generated from other columns (`delta.generationExpression`), which our writer does not keep",
    ),
    "an invariant": (
        ("invariants",),
        {"properties": {"n": {"delta.invariants": '{"expression": {"expression": "n > 3"}}'}}},
        "column `n` has an invariant (`delta.invariants`), which our writer does not keep",
    ),
    "a greatest length": (
        (),
        {"properties": {"n": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}}},
        "column `n` has a greatest length (`__CHAR_VARCHAR_TYPE_STRING`), which our writer does not keep",
    ),
}


@pytest.mark.parametrize(("features", "more", "reason"), UNFIT.values(), ids=UNFIT)
def test_a_table_that_asks_more_of_a_writer_is_refused_by_name(tmp_path: Path, features: tuple[str, ...], more: dict[str, Any], reason: str) -> None:
    table_with(tmp_path, SCHEMA, *features, **more)
    with pytest.raises(PlanRefused) as refused:
        DeltaSink(str(tmp_path), "o").check(None)
    assert str(refused.value) == (
        f"the table cannot take these rows:\n  - {reason}\nwhere: {tmp_path}\n"
        "next:  change the pipeline or the table so that they agree, or write to another path"
    )


def test_a_not_null_inside_a_struct_a_list_or_a_map_is_not_violated_in_silence(tmp_path: Path) -> None:
    inner = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    strict = {
        "s": inner,
        "l": pa.list_(pa.field("element", inner, nullable=False)),
        "m": pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False)),
    }
    loose_inner = pa.struct([pa.field("a", pa.int32())])
    loose = {"s": loose_inner, "l": pa.list_(loose_inner), "m": pa.map_(pa.string(), pa.int32())}
    DeltaTable.create(str(tmp_path), schema=pa.schema(list(strict.items())))
    DeltaSink(str(tmp_path), "o").check(pa.schema(list(strict.items())))
    with pytest.raises(PlanRefused) as refused:
        DeltaSink(str(tmp_path), "o").check(pa.schema(list(loose.items())))
    assert refused.value.what == (
        "the table cannot take these rows:\n"
        "  - column `s.a` is NOT NULL in the table and may be null in the pipeline\n"
        "  - column `l` is NOT NULL in the table and may be null in the pipeline\n"
        "  - column `l[…].a` is NOT NULL in the table and may be null in the pipeline\n"
        "  - column `m` is NOT NULL in the table and may be null in the pipeline"
    )


def test_columns_that_differ_only_in_case_are_refused_before_there_is_a_table(tmp_path: Path) -> None:
    twins = pa.schema([("id", pa.int64()), ("ID", pa.string())])
    for ask in (DeltaSink(str(tmp_path / "t"), "o").check, DeltaSink(str(tmp_path / "t"), "o").prepare):
        with pytest.raises(PlanRefused, match="columns `id` and `ID` differ only in case, which Delta does not tell apart"):
            ask(twins)
    assert not (tmp_path / "t").exists()


def test_a_table_that_changes_while_the_pipeline_runs_is_looked_at_before_the_next_commit(tmp_path: Path) -> None:
    sink = sink_at(table_with(tmp_path, SCHEMA))
    append(sink, 1)
    metadata = DeltaTable(str(tmp_path)).metadata()
    changed = {"id": str(metadata.id), "format": {"provider": "parquet", "options": {}}, "schemaString": DeltaTable(str(tmp_path)).schema().to_json()}
    add_commit(tmp_path, {"metaData": {**changed, "partitionColumns": [], "configuration": {"delta.constraints.small": "n < 2"}}})
    with pytest.raises(PlanRefused, match="it has the constraint `small`"):
        append(sink, 2, batch=1)
    assert offsets(sink) == [1]


def test_a_feature_that_no_reader_of_ours_knows_is_named(tmp_path: Path) -> None:
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["neverHeardOf"], "writerFeatures": ["neverHeardOf"]}
    table_with(tmp_path, SCHEMA, protocol=protocol)
    with pytest.raises(PlanRefused) as refused:
        sink_at(tmp_path)
    assert str(refused.value) == (
        "the table asks for something that our Delta library does not do: Unsupported: Feature 'neverHeardOf' is not supported\n"
        f"where: {tmp_path}\n"
        "next:  drop the feature from the table where Spark can (ALTER TABLE … DROP FEATURE …), or write to another path"
    )


WHOLE_LOG = "restore the folder `_delta_log` from a backup; nothing was written"
ONE_FILE = "restore this file from a backup; where there is none, remove it and let `penstock audit` say what is missing"


@pytest.mark.parametrize(
    ("content", "reason", "step"),
    [
        ("", "No table metadata or protocol found in delta log.", WHOLE_LOG),
        ('{"commitInfo":{}}\n', "No table metadata or protocol found in delta log.", WHOLE_LOG),
        ("xxx\n", "00000000000000000000.json does not parse", ONE_FILE),
    ],
)
def test_a_damaged_log_needs_a_person(tmp_path: Path, content: str, reason: str, step: str) -> None:
    table_with(tmp_path, SCHEMA)
    (tmp_path / "_delta_log/00000000000000000000.json").write_text(content)
    with pytest.raises(Fatal) as damaged:
        DeltaSink(str(tmp_path), "o").check(SCHEMA)
    assert str(damaged.value) == (f"the table's log cannot be read: {reason}\nwhere: {tmp_path}/_delta_log\nnext:  {step}")


def test_a_log_with_a_hole_needs_a_person(tmp_path: Path) -> None:
    table_with(tmp_path, SCHEMA)
    (tmp_path / "_delta_log/00000000000000000002.json").write_text('{"commitInfo":{}}\n')
    with pytest.raises(Fatal, match="Expected contiguous commit files, but found gap"):
        DeltaSink(str(tmp_path), "o").check(SCHEMA)


# As the user of the command sees it, before Kafka is asked


def test_both_tables_are_looked_at_before_either_is_touched(refused: Callable[..., Said], tmp_path: Path) -> None:
    pipeline_file(tmp_path)
    table_with(tmp_path / "lake/dead", pa.schema([("n", pa.string())]), "identityColumns", configuration={"delta.constraints.c": "n > ''"})
    said = refused("run", "pipeline.yaml")
    assert (said.code, said.text.splitlines()[0], said.text.splitlines()[-5:]) == (
        3,
        "error: the table cannot take these rows:",
        [
            "  - column `batch` (long) is not in the table",
            "  - it has the feature `identityColumns`, which our writer does not keep (in Spark: ALTER TABLE … DROP FEATURE identityColumns)",
            "  - it has the constraint `c`, which our writer does not check (in Spark: ALTER TABLE … DROP CONSTRAINT c)",
            "where: <here>/lake/dead",
            "next:  change the pipeline or the table so that they agree, or write to another path",
        ],
    )
    assert len(said.text.splitlines()) < 24, "one screen"


def test_a_table_of_another_schema_is_refused_before_kafka_is_asked(refused: Callable[..., Said], tmp_path: Path) -> None:
    pipeline_file(tmp_path)
    table_with(tmp_path / "lake/rows", pa.schema([("n", pa.string()), ("_source", SOURCE), pa.field("must", pa.int32(), nullable=False)]))
    assert refused("run", "pipeline.yaml") == Said(
        3,
        "error: the table cannot take these rows:\n"
        "  - column `n` is string in the table and long in the pipeline\n"
        "  - column `text` (string) is not in the table\n"
        "  - column `must` is NOT NULL in the table and the pipeline does not fill it\n"
        "where: <here>/lake/rows\n"
        "next:  change the pipeline or the table so that they agree, or write to another path\n",
    )


def test_a_partitioned_table_is_refused(refused: Callable[..., Said], tmp_path: Path) -> None:
    pipeline_file(tmp_path)
    DeltaTable.create(str(tmp_path / "lake/rows"), schema=ROWS, partition_by=["text"])
    assert refused("run", "pipeline.yaml") == Said(
        3,
        "error: the table cannot take these rows:\n"
        "  - it is partitioned by text: this version writes unpartitioned tables\n"
        "where: <here>/lake/rows\n"
        "next:  change the pipeline or the table so that they agree, or write to another path\n",
    )


def test_a_feature_is_refused_also_where_only_spark_will_tell_the_columns(refused: Callable[..., Said], tmp_path: Path) -> None:
    pipeline_file(tmp_path, transform=[{"type": "select", "columns": ["n + 1 AS m"]}])
    table_with(tmp_path / "lake/rows", ROWS, "columnMapping")
    assert refused("run", "pipeline.yaml") == Said(
        3,
        "error: the table cannot take these rows:\n"
        "  - it has the feature `columnMapping`, which our writer does not keep (in Spark: ALTER TABLE … DROP FEATURE columnMapping)\n"
        "where: <here>/lake/rows\n"
        "next:  change the pipeline or the table so that they agree, or write to another path\n",
    )
