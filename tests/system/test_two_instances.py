"""Two instances of one pipeline at once, in every way that comes about by accident. Fault 22 of the list in docs/faults.md."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

import pytest

from harness.load import produce, read_topic
from harness.oracle import delta_rows, judge
from harness.process import Ended, Instance, Pipeline

OTHER_INSTANCE = "error: another instance of this pipeline works on the same checkpoint: "
KEEP_ONE = "next:  keep one of them running; what both did is consistent, nothing was doubled"


def ended_as_second(ended: Ended) -> None:
    assert ended.code == 5, ended.errors
    said = ended.errors.splitlines()[-2:]
    assert said[0].startswith(OTHER_INSTANCE), said
    assert said[1] == KEEP_ONE


def test_of_two_on_one_checkpoint_one_ends_and_nothing_is_doubled(pipeline: Pipeline, seed: int) -> None:
    produce(pipeline.servers, pipeline.topic, 1_000, seed=seed)
    pipeline.write(trigger="continuously")
    with pipeline.watched() as readers, pipeline.start() as one, pipeline.start() as other:
        produced = until_one_has_ended(pipeline, one, other, seed)
        loser, winner = (one, other) if one.process.poll() is not None else (other, one)
        ended_as_second(loser.ended())
        winner.wait_until(lambda: delta_rows(pipeline.table).num_rows + delta_rows(pipeline.dead).num_rows >= produced, "the last batch", pause=0.5)
        winner.process.send_signal(signal.SIGTERM)
        assert (ended := winner.ended()).code == 0, ended.errors
    assert (verdict := pipeline.verdict()), verdict
    assert (history := pipeline.history(readers)), history


def until_one_has_ended(pipeline: Pipeline, one: Instance, other: Instance, seed: int) -> int:
    """Give both something to do until one has ended; how much there was to do."""
    produced, deadline = 1_000, time.monotonic() + 150
    while one.process.poll() is None and other.process.poll() is None:
        assert time.monotonic() < deadline, "neither of the two ended"
        produce(pipeline.servers, pipeline.topic, 10, first=produced, seed=seed + produced)
        produced += 10
        time.sleep(0.5)
    return produced


def test_a_copied_state_whose_next_batch_differs_is_refused(pipeline: Pipeline, seed: int) -> None:
    produce(pipeline.servers, pipeline.topic, 2_000, seed=seed)
    assert pipeline.run().code == 0
    copy = pipeline.folder / "copied state"
    shutil.copytree(pipeline.state, copy)
    produce(pipeline.servers, pipeline.topic, 2_000, first=2_000, seed=seed + 1)
    assert pipeline.run().code == 0
    kafka, committed = read_topic(pipeline.servers, pipeline.topic), pipeline.versions()
    produce(pipeline.servers, pipeline.topic, 1_000, first=4_000, seed=seed + 2)

    refused = pipeline.write(state=str(copy)).run()
    assert refused.code == 5, refused.errors
    assert refused.errors.splitlines()[-3:] == [
        "error: the table holds another batch 1 under the same token: it has other Kafka ranges, or was begun with another file",
        f"where: {pipeline.table}",
        "next:  two copies of one checkpoint write to this table: stop this one, and keep the one whose batches the table holds",
    ]
    assert pipeline.versions() == committed
    assert (verdict := judge(kafka, delta_rows(pipeline.table), delta_rows(pipeline.dead))), verdict


SLEPT_TOO_LONG = [
    "error: the table holds batch 3 of this pipeline, but the checkpoint is only at batch 1",
    "where: {table}",
    "next:  another instance went on while this one stood still: keep that one; or an older checkpoint was restored, or two states write here:"
    " restore the newer checkpoint, or rewind the table",
]


@pytest.mark.parametrize("batches", [2, pytest.param(4, marks=pytest.mark.faults)])
def test_an_instance_stopped_in_the_midst_of_a_batch_commits_nothing_when_it_wakes(pipeline: Pipeline, batches: int, seed: int) -> None:
    produce(pipeline.servers, pipeline.topic, 3_000 * batches, seed=seed)
    pipeline.write(rate={"records_per_batch": 3_000})
    with pipeline.watched() as readers, pipeline.start(crash_at="files_written@1", PENSTOCK_CRASH_SIGNAL="SIGSTOP") as sleeper:
        sleeper.wait_until(lambda: is_stopped(sleeper.process.pid), "it is stopped")
        assert not (pipeline.checkpoint / "commits/1").exists()
        second = pipeline.run()
        assert second.code == 0, second.errors
        committed, files = pipeline.versions(), set(pipeline.table.glob("*.parquet"))
        sleeper.signal(signal.SIGCONT)
        ended = sleeper.ended()
    if batches == 2:
        ended_as_second(ended)
    else:
        assert (ended.code, ended.errors.splitlines()[-3:]) == (5, [line.format(table=pipeline.table) for line in SLEPT_TOO_LONG])
    assert pipeline.versions() == committed == (batches, batches)
    assert set(pipeline.table.glob("*.parquet")) < files, "it removed what it had staged itself"
    assert (verdict := pipeline.verdict()), verdict
    assert (history := pipeline.history(readers)), history


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
