"""A pipeline killed -9 at each point of a batch's way, then started again. Faults 1 to 4 and 12 of the list in docs/faults.md.

The oracle reads Kafka and the tables by itself, and readers look on all the time. The negative control sends the same fault
through a plain `foreachBatch` append: the oracle must find duplicates and the readers more than a batch; a harness that finds
none is broken.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.history import Watcher, judge_history, parquet_files
from harness.load import produce, read_topic
from harness.oracle import judge, parquet_rows
from harness.process import KILLED, Pipeline
from penstock.devstack.broker import Broker
from penstock.devstack.topics import create_topic

RECORDS = 100_000


def half_a_commit(table: Path, version: int) -> Path:
    """What a writer leaves that was killed before its commit was linked to its name, by delta-rs' way of naming it."""
    logs = sorted((table / "_delta_log").glob("*.json"))
    left = table / f"_delta_log/{version:020d}.json#1"
    left.write_bytes(logs[-1].read_bytes()[:200])
    return left


LATER = [pytest.param(point, marks=pytest.mark.faults) for point in ("dead_letters_committed", "ledger_written")]


@pytest.mark.parametrize("point", ["planned", "files_written", "sink_committed", *LATER])
def test_a_batch_that_was_killed_is_finished_once(pipeline: Pipeline, point: str, seed: int) -> None:
    produce(pipeline.servers, pipeline.topic, RECORDS, seed=seed)
    with pipeline.watched() as readers:
        assert pipeline.run(crash_at=f"{point}@1").code == KILLED
        committed = pipeline.versions()
        for table, version in zip((pipeline.table, pipeline.dead), committed, strict=True):
            half_a_commit(table, version + 1)
        assert pipeline.versions() == committed, "readers see the version before"
        again = pipeline.run()
    assert again.code == 0, again.errors
    assert (verdict := pipeline.verdict()), verdict
    assert (history := pipeline.history(readers)), history
    batches = [event["batch"] for event in again.events("batch committed")]
    assert batches[0] == 1, "the killed batch is run again"
    # Each batch made one version of each table, the killed one too: nothing was committed twice.
    assert pipeline.versions() == (4, 4), f"after the kill there were {committed}"


def test_a_driver_killed_before_it_logged_the_next_batch_plans_it_anew(broker: Broker, topic: str, tmp_path: Path, seed: int) -> None:
    for attempt in range(5):  # between commits/0 and offsets/1 there are some hundredths of a second: not every kill falls there
        pipeline = Pipeline(tmp_path / str(attempt), broker.servers, f"{topic}-{attempt}").write(rate={"records_per_batch": 3_000})
        create_topic(pipeline.servers, pipeline.topic, partitions=4)
        produce(pipeline.servers, pipeline.topic, 10_000, seed=seed)
        if killed_after_batch_0(pipeline):
            break
    else:
        pytest.fail("no kill out of five fell between commits/0 and offsets/1")
    assert pipeline.versions() == (1, 1), "nothing of the next batch is in"
    again = pipeline.run()
    assert again.code == 0, again.errors
    assert [event["batch"] for event in again.events("batch committed")] == [1, 2, 3]
    assert pipeline.versions() == (4, 4)
    assert (verdict := pipeline.verdict()), verdict


def killed_after_batch_0(pipeline: Pipeline) -> bool:
    """Kill it when Spark has called batch 0 done; True where the offsets of batch 1 were not written yet."""
    with pipeline.start() as instance:
        instance.wait_until((pipeline.checkpoint / "commits/0").exists, "commits/0", pause=0.0005)
        instance.kill()
    return not (pipeline.checkpoint / "offsets/1").exists()


@pytest.mark.faults
def test_a_pipeline_killed_at_any_moment_loses_and_doubles_nothing(pipeline: Pipeline, seed: int) -> None:
    chance = random.Random(seed)
    produce(pipeline.servers, pipeline.topic, RECORDS, seed=seed)
    pipeline.write(rate={"records_per_batch": 3_000})
    with pipeline.watched() as readers:
        for _ in range(8):
            with pipeline.start() as instance:
                instance.wait_until(lambda instance=instance: "pipeline started" in instance.errors, "it started")  # type: ignore[misc]
                time.sleep(chance.uniform(0, 8))
        last = pipeline.write(rate={"records_per_batch": 50_000}).run()
    assert last.code == 0, last.errors
    assert (verdict := pipeline.verdict()), verdict
    assert (history := pipeline.history(readers)), history
    assert pipeline.versions()[0] == pipeline.done() + 1, "each batch is one version"


def test_the_harness_finds_the_duplicates_of_a_plain_append(broker: Broker, topic: str, tmp_path: Path) -> None:
    produce(broker.servers, topic, RECORDS)
    script = Path(__file__).parents[1] / "harness/plain_append.py"
    arguments = [sys.executable, str(script), broker.servers, topic, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(script.parents[1]), os.environ.get("PYTHONPATH", "")])}
    with Watcher({"rows": lambda: parquet_files(tmp_path / "rows"), "dead": lambda: parquet_files(tmp_path / "dead")}, tmp_path / "checkpoint") as readers:
        killed = subprocess.run([*arguments, "crash"], env=environment, timeout=150, check=False, capture_output=True, text=True)
        assert killed.returncode == KILLED, killed.stderr
        done = subprocess.run(arguments, env=environment, timeout=150, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    kafka = read_topic(broker.servers, topic)
    verdict = judge(kafka, parquet_rows(tmp_path / "rows"), parquet_rows(tmp_path / "dead"))
    assert len(verdict.doubled) > 1000, verdict
    assert not verdict.lost
    history = judge_history(readers.samples, kafka, tmp_path / "checkpoint")
    assert any("rows of batch 1" in seen for seen in history.torn), history
