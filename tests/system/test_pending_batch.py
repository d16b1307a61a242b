"""A batch that was begun is ended as it was begun, whatever becomes of the file and of Kafka in between; and a stop on request."""

from __future__ import annotations

import json
import signal

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from harness.load import produce, read_topic
from harness.oracle import delta_rows, judge
from harness.process import KILLED, Pipeline

FEWER_FIELDS = {"type": "json", "schema": "text STRING"}
"""Under this schema the load's records with a wrong `n` are rows: a batch decoded anew would have fewer dead letters."""


def test_rows_committed_then_the_schema_mended_and_every_record_is_in_one_place(pipeline: Pipeline) -> None:
    produce(pipeline.servers, pipeline.topic, 60_000)
    assert pipeline.run(crash_at="sink_committed@1").code == KILLED
    before = delta_rows(pipeline.dead).num_rows
    again = pipeline.write(decode=FEWER_FIELDS).run()
    assert again.code == 0, again.errors
    assert (verdict := pipeline.verdict()), verdict
    assert delta_rows(pipeline.dead).num_rows > before, "the second batch had dead letters, and they are there"
    assert pipeline.versions() == (2, 2)

    # The file as it is now takes effect with the next batch: the same faults are rows there.
    produce(pipeline.servers, pipeline.topic, 20_000, first=60_000, seed=2)
    later = pipeline.run()
    assert later.code == 0, later.errors
    batch = later.events("batch committed")[-1]["counts"]
    assert 0 < batch["dead"] < 80, "records that are cut off are still faults, those with a wrong number no longer"


def test_all_committed_then_retention_takes_the_range_and_the_pipeline_goes_on(pipeline: Pipeline) -> None:
    produce(pipeline.servers, pipeline.topic, 30_000)
    assert pipeline.run(crash_at="ledger_written@0").code == KILLED
    kafka = read_topic(pipeline.servers, pipeline.topic)
    (entry,) = (pipeline.state / "ledger").glob("*/*.json")
    counted = json.loads(entry.read_text())["counts"]
    entry.unlink()
    admin = AdminClient({"bootstrap.servers": pipeline.servers})
    for future in admin.delete_records([TopicPartition(pipeline.topic, partition, 7_500) for partition in range(4)]).values():
        future.result(10)
    assert not read_topic(pipeline.servers, pipeline.topic), "Kafka holds nothing of the range any more"

    again = pipeline.run()
    assert again.code == 0, again.errors
    assert (verdict := judge(kafka, delta_rows(pipeline.table), delta_rows(pipeline.dead))), verdict
    assert pipeline.versions() == (1, 1)
    assert json.loads(entry.read_text())["counts"] == counted, "from what the commit carries, not counted again"


@pytest.mark.faults
def test_a_file_mended_because_of_a_bad_record_takes_effect_with_the_very_batch_that_it_stopped(pipeline: Pipeline) -> None:
    produce(pipeline.servers, pipeline.topic, 5_000)
    stopped = pipeline.write(dead_letters=None).run()
    assert stopped.code == 4, stopped.errors
    mended = pipeline.write().run()
    assert mended.code == 0, mended.errors
    assert (verdict := pipeline.verdict()), verdict
    assert pipeline.versions() == (1, 1)


def test_a_stop_on_request_ends_between_two_batches_and_exits_with_0(pipeline: Pipeline) -> None:
    produce(pipeline.servers, pipeline.topic, 50_000)
    pipeline.write(trigger="continuously", rate={"records_per_batch": 5_000})
    with pipeline.start() as instance:
        instance.wait_until(lambda: pipeline.versions()[0] >= 2, "the second batch")
        instance.process.send_signal(signal.SIGTERM)
        ended = instance.ended()
    assert ended.code == 0, ended.errors
    stopped_at = pipeline.versions()[0]
    assert stopped_at < 10, "it stopped before the end, else this test shows nothing"
    assert pipeline.run("--until-caught-up").code == 0
    assert (verdict := pipeline.verdict()), verdict


@pytest.mark.faults
def test_a_table_of_another_state_is_refused_and_another_table_is_taken(pipeline: Pipeline) -> None:
    produce(pipeline.servers, pipeline.topic, 5_000)
    assert pipeline.run().code == 0
    fresh = {"state": str(pipeline.folder / "another state")}
    refused = pipeline.write(**fresh).run()
    assert refused.code == 3, refused.errors
    assert refused.errors.splitlines()[-3:] == [
        "error: the table holds batches that this pipeline wrote from another state: starting over would write records a second time",
        f"where: {pipeline.table}",
        "next:  restore the state folder; or name another table; or accept the duplicates with --accept-new-generation",
    ]
    elsewhere = {"sink": {"type": "delta", "path": str(pipeline.folder / "rows2")}, "dead_letters": {"type": "delta", "path": str(pipeline.folder / "dead2")}}
    taken = pipeline.write(**fresh, **elsewhere).run()
    assert taken.code == 0, taken.errors
    assert delta_rows(pipeline.folder / "rows2").num_rows == delta_rows(pipeline.table).num_rows
