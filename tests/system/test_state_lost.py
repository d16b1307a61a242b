"""State or table damaged behind a pipeline's back. Fault 4's twin, faults 10 and 12 of the list in docs/faults.md.

One pipeline is run to its end; each test then damages a copy of what it left, put back to the very place.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from harness.history import delta_files
from harness.load import produce
from harness.process import Ended, Pipeline
from penstock.devstack.broker import Broker
from penstock.devstack.topics import create_topic

RECORDS = 5_000
BATCHES = 3
OTHER_STATE = "error: the table holds batches that this pipeline wrote from another state: starting over would write records a second time"
WAY_OUT = "next:  restore the state folder; or name another table; or accept the duplicates with --accept-new-generation"


@pytest.fixture(scope="module")
def ran(broker: Broker, tmp_path_factory: pytest.TempPathFactory, seed: int) -> Pipeline:
    """A pipeline that has caught up, in three batches, each with dead letters. The tests that give it more come last."""
    pipeline = Pipeline(tmp_path_factory.mktemp("ran"), broker.servers, f"state-lost-{seed}").write(rate={"records_per_batch": 2_000})
    create_topic(pipeline.servers, pipeline.topic, partitions=4)
    produce(pipeline.servers, pipeline.topic, RECORDS, seed=seed)
    ended = pipeline.run()
    assert ended.code == 0, ended.errors
    assert (verdict := pipeline.verdict()), verdict
    assert pipeline.versions() == (BATCHES, BATCHES)
    for part in ("state", "lake"):
        shutil.copytree(pipeline.folder / part, pipeline.folder / "kept" / part)
    return pipeline


@pytest.fixture
def finished(ran: Pipeline) -> Iterator[Pipeline]:
    """The same pipeline with state and tables as they were when it had caught up."""
    for part in ("state", "lake"):
        shutil.rmtree(ran.folder / part, ignore_errors=True)
        shutil.copytree(ran.folder / "kept" / part, ran.folder / part)
    return ran


def refused(pipeline: Pipeline, ended: Ended) -> None:
    assert ended.code == 3, ended.errors
    assert ended.errors.splitlines()[-3:] == [OTHER_STATE, f"where: {pipeline.table}", WAY_OUT]
    assert pipeline.versions() == (BATCHES, BATCHES), "no row was added"


def test_a_batch_whose_commit_log_is_deleted_adds_no_row_and_no_version(finished: Pipeline) -> None:
    last = str(BATCHES - 1)
    log = finished.checkpoint / "commits"
    gone = [file for file in log.iterdir() if file.name.lstrip(".").split(".")[0] == last]  # with whatever lies beside it: checksums
    assert {file.name for file in gone} >= {last, f".{last}.crc"}
    for file in gone:
        file.unlink()
    again = finished.run()
    assert again.code == 0, again.errors
    (committed,) = again.events("batch committed")
    assert committed["batch"] == BATCHES - 1
    assert finished.versions() == (BATCHES, BATCHES)
    assert (verdict := finished.verdict()), verdict
    assert (log / last).exists()


def test_a_deleted_checkpoint_is_refused_and_the_way_out_is_one(finished: Pipeline) -> None:
    shutil.rmtree(finished.checkpoint)
    refused(finished, finished.run())

    accepted = finished.run("--accept-new-generation")
    assert accepted.code == 0, accepted.errors
    verdict = finished.verdict()
    assert (len(verdict.doubled), len(verdict.lost), len(verdict.strange)) == (RECORDS, 0, 0), "what was accepted: every record once more"


@pytest.mark.faults
def test_a_deleted_state_folder_is_refused(finished: Pipeline) -> None:
    shutil.rmtree(finished.state)
    refused(finished, finished.run())


@pytest.mark.faults
def test_a_checkpoint_that_was_moved_away_is_refused_and_taken_when_it_is_back(finished: Pipeline) -> None:
    elsewhere = finished.checkpoint.rename(finished.folder / "elsewhere")
    refused(finished, finished.run())
    shutil.rmtree(finished.checkpoint)
    elsewhere.rename(finished.checkpoint)
    produce(finished.servers, finished.topic, 1_000, first=RECORDS, seed=2)
    again = finished.run()
    assert again.code == 0, again.errors
    assert [event["batch"] for event in again.events("batch committed")] == [BATCHES]
    assert (verdict := finished.verdict()), verdict


def test_half_a_commit_in_the_log_of_the_table_is_named(finished: Pipeline) -> None:
    last = finished.table / f"_delta_log/{BATCHES:020d}.json"
    torn = last.with_name(f"{BATCHES + 1:020d}.json")
    torn.write_bytes(last.read_bytes()[: last.stat().st_size // 2])
    produce(finished.servers, finished.topic, 1_000, first=2 * RECORDS, seed=3)
    ended = finished.run()
    assert ended.code == 5, ended.errors
    assert ended.errors.splitlines()[-3:] == [
        f"error: the table's log cannot be read: {torn.name} does not parse",
        f"where: {finished.table}/_delta_log",
        "next:  restore this file from a backup; where there is none, remove it and let `penstock audit` say what is missing",
    ]
    torn.unlink()
    assert delta_files(finished.table)[0] == BATCHES
    again = finished.run()
    assert again.code == 0, again.errors
    assert (verdict := finished.verdict()), verdict
