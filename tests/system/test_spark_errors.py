"""What really ends a query, and what is said of it: the texts of `run/spark_errors.py` against a real Spark and a real broker."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from harness.load import produce
from harness.oracle import delta_rows
from harness.process import Pipeline
from penstock.builtin import KINDS
from penstock.devstack.broker import Broker
from penstock.devstack.topics import create_topic, delete_topic
from penstock.errors import Fatal, PenstockError, Retryable, StoppedByData
from penstock.ledger.entry import LedgerEntry
from penstock.plan.build import build
from penstock.run.query import BatchWork, ready, start_query
from penstock.run.spark_errors import translated
from penstock.run.start import SparkOptions, session_for
from penstock.run.state import open_state
from penstock.run.supervisor import Stop, attend
from penstock.run.watcher import Watcher
from penstock.spec import load
from penstock.storage import LocalStorage

Meanwhile = Callable[[StreamingQuery], None]


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    with session_for("spark errors", SparkOptions(master="local[2,2]")) as running:
        yield running


class Committed(Watcher):
    """Counts the batches."""

    batches = 0

    def committed(self, entry: LedgerEntry) -> None:
        self.batches += 1


def run(session: SparkSession, pipeline: Pipeline, meanwhile: Meanwhile | None = None) -> None:
    """One run of the pipeline as the supervisor makes it, without its retries; `meanwhile` happens after a first batch."""
    plan = build(load(pipeline.folder / "pipeline.yaml", KINDS), KINDS)
    state = open_state(LocalStorage(pipeline.state), plan.name, plan.flow.name)
    assembly, cluster = ready(session, plan, KINDS, state)
    committed = Committed()
    work = BatchWork(assembly, cluster, committed)
    query = start_query(session, assembly.plan, work, state)
    if meanwhile is not None:
        deadline = time.monotonic() + 60
        while not committed.batches and query.isActive:
            assert time.monotonic() < deadline, "no batch within 60 s"
            time.sleep(0.05)
        meanwhile(query)
    attend(query, work, Stop(), committed)


def error_of(session: SparkSession, pipeline: Pipeline, meanwhile: Meanwhile | None = None) -> PenstockError:
    """The error of ours that ended the run."""
    with pytest.raises(PenstockError) as ended:
        run(session, pipeline, meanwhile)
    return ended.value


def delete_records(pipeline: Pipeline, before: int) -> None:
    """What retention does: every partition starts at this offset from now on."""
    admin = AdminClient({"bootstrap.servers": pipeline.servers})
    for future in admin.delete_records([TopicPartition(pipeline.topic, partition, before) for partition in range(4)]).values():
        future.result(10)


def make_anew(pipeline: Pipeline, *, partitions: int) -> None:
    """The topic deleted and created again under its name."""
    delete_topic(pipeline.servers, pipeline.topic)
    create_topic(pipeline.servers, pipeline.topic, partitions=partitions)


GO_ON = "next:  to go on without them: a new `state` folder, `source.start` at offsets that Kafka still holds, and --accept-new-generation"


def test_records_that_retention_took_before_they_were_read_are_named(session: SparkSession, pipeline: Pipeline) -> None:
    produce(pipeline.servers, pipeline.topic, 400)
    run(session, pipeline)
    produce(pipeline.servers, pipeline.topic, 400, first=400)
    delete_records(pipeline, 150)
    error = error_of(session, pipeline)
    assert isinstance(error, StoppedByData)
    what, where, step = str(error).splitlines()
    assert what == "records that were not read yet are gone from Kafka (retention, or somebody deleted them)"
    # Spark names the partition that failed first; which of the four that is, chance decides.
    assert re.fullmatch(rf"where: topic {pipeline.topic}, partition [0-3], somewhere in offsets 100 to 199", where)
    assert step == GO_ON
    assert delta_rows(pipeline.table).num_rows + delta_rows(pipeline.dead).num_rows == 400, "nothing of the batch was committed"


@pytest.mark.faults
def test_a_topic_made_anew_and_shorter_is_named(session: SparkSession, pipeline: Pipeline) -> None:
    produce(pipeline.servers, pipeline.topic, 400)
    run(session, pipeline)
    make_anew(pipeline, partitions=4)
    produce(pipeline.servers, pipeline.topic, 40)
    error = error_of(session, pipeline)
    assert isinstance(error, StoppedByData)
    what, where, step = str(error).splitlines()
    assert what == "a partition ends before the place to read on from: the topic was made anew, or `source.start` lies beyond its end"
    assert re.fullmatch(rf"where: topic {pipeline.topic}, partition [0-3], to be read from offset 100, ends at offset 10", where)
    assert step == GO_ON


@pytest.mark.faults
def test_a_topic_made_anew_with_fewer_partitions_is_named(session: SparkSession, pipeline: Pipeline) -> None:
    produce(pipeline.servers, pipeline.topic, 400)
    run(session, pipeline)
    make_anew(pipeline, partitions=2)
    produce(pipeline.servers, pipeline.topic, 400, partitions=2)
    error = error_of(session, pipeline)
    assert isinstance(error, StoppedByData)
    assert str(error) == (
        "partitions that this pipeline reads are gone: the topic was made anew with fewer\n"
        f"where: topic {pipeline.topic}, partition 2; topic {pipeline.topic}, partition 3\n"
        f"{GO_ON}"
    )


def test_another_instance_on_the_same_checkpoint_is_named(session: SparkSession, pipeline: Pipeline) -> None:
    produce(pipeline.servers, pipeline.topic, 400)
    pipeline.write(trigger="continuously")

    def other_instance(query: StreamingQuery) -> None:
        offsets = Path(pipeline.state) / "queries/main/checkpoint/offsets"
        (offsets / "1").write_bytes((offsets / "0").read_bytes())  # what another one does when it plans the next batch
        produce(pipeline.servers, pipeline.topic, 400, first=400)

    error = error_of(session, pipeline, other_instance)
    assert isinstance(error, Fatal)
    assert str(error) == (
        "another instance of this pipeline works on the same checkpoint: [CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log."
        " Multiple streaming jobs detected for 1.\n"
        "next:  keep one of them running; what both did is consistent, nothing was doubled"
    )


def test_a_topic_deleted_while_the_pipeline_runs_is_named(session: SparkSession, pipeline: Pipeline) -> None:
    produce(pipeline.servers, pipeline.topic, 400)
    pipeline.write(trigger="continuously")
    error = error_of(session, pipeline, lambda query: delete_topic(pipeline.servers, pipeline.topic))
    assert isinstance(error, Fatal)
    assert str(error) == (
        "a topic of this pipeline is gone: UnknownTopicOrPartitionException: This server does not host this topic-partition.\n"
        "next:  create it again, or mend `source.topics`"
    )


@pytest.mark.faults
@pytest.mark.timeout(400)
def test_a_broker_killed_in_the_middle_is_named(session: SparkSession, tmp_path: Path) -> None:
    with Broker(tmp_path / "broker") as broker:
        create_topic(broker.servers, "t", partitions=4)
        produce(broker.servers, "t", 400)
        pipeline = Pipeline(tmp_path, broker.servers, "t").write(trigger="continuously")
        error = error_of(session, pipeline, lambda query: broker.kill())
    assert isinstance(error, Retryable)
    assert str(error) == (
        "Kafka did not answer: TimeoutException: Timed out waiting for a node assignment. Call: listNodes\n"
        "next:  see that the broker runs and that `kafka.servers` names it; running again is safe"
    )


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ("Starting offset for a-b-7 was 5 but consumer reset to 9.", "topic a-b, partition 7, to be read from offset 5, begins at offset 9"),
        ("Added partition a-7 starts from 12 instead of 0.", "topic a, partition 7, begins at offset 12"),
        ("Cannot find initial offsets for partitions Set(a-7, a-8). They may have been deleted.", "topic a, partition 7; topic a, partition 8"),
    ],
)
def test_what_is_hard_to_provoke_is_read_from_the_texts_of_the_connector(said: str, where: str) -> None:
    error = translated(Exception(f"Some data may have been lost because …\nReason: {said} SQLSTATE: XXKST"))
    assert (type(error), error.where) == (StoppedByData, where)
