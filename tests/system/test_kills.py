"""A pipeline killed -9 at each point of a batch's way, then started again. Faults 2, 3 and 4 of the list in docs/faults.md.

The oracle reads Kafka and the tables by itself. The negative control sends the same fault through a plain `foreachBatch`
append and must find duplicates; a harness that finds none is broken.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.load import produce, read_topic
from harness.oracle import judge, parquet_rows
from harness.process import KILLED, Pipeline
from penstock.devstack.broker import Broker

RECORDS = 100_000


@pytest.mark.parametrize("point", ["planned", "files_written", "sink_committed", "dead_letters_committed", "ledger_written"])
def test_a_batch_that_was_killed_is_finished_once(pipeline: Pipeline, point: str) -> None:
    produce(pipeline.servers, pipeline.topic, RECORDS)
    assert pipeline.run(crash_at=f"{point}@1").code == KILLED
    committed = pipeline.versions()
    again = pipeline.run()
    assert again.code == 0, again.errors
    assert (verdict := pipeline.verdict()), verdict
    batches = [event["batch"] for event in again.events("batch committed")]
    assert batches[0] == 1, "the killed batch is run again"
    # Each batch made one version of each table, the killed one too: nothing was committed twice.
    assert pipeline.versions() == (4, 4), f"after the kill there were {committed}"


def test_the_harness_finds_the_duplicates_of_a_plain_append(broker: Broker, topic: str, tmp_path: Path) -> None:
    produce(broker.servers, topic, RECORDS)
    script = Path(__file__).parents[1] / "harness/plain_append.py"
    arguments = [sys.executable, str(script), broker.servers, topic, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(script.parents[1])}
    killed = subprocess.run([*arguments, "crash"], env=environment, timeout=150, check=False, capture_output=True, text=True)
    assert killed.returncode == KILLED, killed.stderr
    done = subprocess.run(arguments, env=environment, timeout=150, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kafka = read_topic(broker.servers, topic)
    verdict = judge(kafka, parquet_rows(tmp_path / "rows"), parquet_rows(tmp_path / "dead"))
    assert len(verdict.doubled) > 1000, verdict
    assert not verdict.lost
