"""Which plan governs a batch that was begun before: over real state folders and real tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock import Pipeline
from penstock.builtin import KINDS
from penstock.errors import Fatal, PlanRefused
from penstock.plan.build import build
from penstock.plan.steps import RunPlan
from penstock.records import DEAD_LETTERS as DEAD_LETTER_SCHEMA
from penstock.run.assembly import branches_of, sinks_of, versions
from penstock.run.batch_plan import BatchPlan, begin_batch, revisions
from penstock.run.pending import governing
from penstock.run.state import State, open_state
from penstock.storage import LocalStorage
from penstock.values import BatchCounts, BatchId, Generation, OffsetRange

RANGES = (OffsetRange("numbers", "id", 0, 5, 9),)
COUNTS = BatchCounts(4, 4, 0, 0)


class Folder:
    """A pipeline whose batch 3 was begun and not finished."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begun = self.plan("n BIGINT")
        self.state: State = open_state(LocalStorage(folder / "state"), "numbers", "main")
        self.log(until=9)
        assert begin_batch(self.state.plans, BatchPlan(1, Generation("g"), BatchId(3), RANGES, "spark", self.begun.spec, versions()))

    def plan(self, schema: str, table: str = "rows") -> RunPlan:
        pipeline = Pipeline(
            name="numbers",
            kafka={"servers": "a:1"},
            source={"topics": ["numbers"]},
            decode={"type": "json", "schema": schema},
            sink={"type": "delta", "path": str(self.folder / table)},
            dead_letters={"type": "delta", "path": str(self.folder / f"{table}_dead")},
            state=str(self.folder / "state"),
        )
        return build(pipeline.spec(KINDS), KINDS)

    def log(self, *, until: int) -> None:
        checkpoint = self.folder / "state/queries/main/checkpoint"
        (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
        (checkpoint / "metadata").write_text('{"id": "g"}')
        for batch, end in ((2, 5), (3, until)):
            (checkpoint / f"offsets/{batch}").write_text("v1\n{}\n" + json.dumps({"numbers": {"0": end}}))

    def found(self) -> Sequence[BatchPlan]:
        return revisions(self.state.plans, Generation("g"), BatchId(3))

    def commit(self, batch: BatchPlan, branch: int) -> None:
        """As an instance that was begun with `batch` would commit."""
        sinks = sinks_of(self.begun, KINDS)
        each = branches_of(self.begun, sinks, self.state, batch)[branch]
        each.sink.prepare(DEAD_LETTER_SCHEMA)
        each.sink.commit([], each.token, COUNTS)


@pytest.fixture
def pending(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_the_same_file_goes_on_with_the_same_plan(pending: Folder) -> None:
    now = pending.plan("n BIGINT")
    found = governing(pending.found(), now, KINDS, pending.state)
    assert (found.batch, found.plan) == (pending.found()[0], now)
    assert len(pending.found()) == 1


def test_with_nothing_committed_a_mended_file_takes_effect_at_once(pending: Folder) -> None:
    now = pending.plan("n STRING", table="another")
    found = governing(pending.found(), now, KINDS, pending.state)
    assert (found.batch.revision, found.batch.ranges, found.batch.spec, found.plan) == (1, RANGES, now.spec, now)
    assert pending.found()[0] == found.batch
    assert not (pending.folder / "rows").exists(), "to ask a table makes none"


@pytest.mark.parametrize("branch", [0, 1], ids=["rows", "dead letters"])
def test_with_something_committed_the_batch_ends_as_it_was_begun(pending: Folder, branch: int) -> None:
    pending.commit(pending.found()[0], branch)
    found = governing(pending.found(), pending.plan("n STRING", table="another"), KINDS, pending.state)
    assert (found.batch, found.plan) == (pending.found()[0], pending.begun)


def test_a_commit_of_an_earlier_revision_by_one_thought_dead_governs(pending: Folder) -> None:
    now = pending.plan("n BIGINT, text STRING")
    first = pending.found()[0]
    assert governing(pending.found(), now, KINDS, pending.state).batch.revision == 1
    pending.commit(first, 0)
    found = governing(pending.found(), now, KINDS, pending.state)
    assert (found.batch, found.plan) == (first, pending.begun)


def test_a_batch_that_is_half_in_is_not_ended_by_another_version(pending: Folder) -> None:
    old = BatchPlan(1, Generation("g"), BatchId(3), RANGES, "spark", pending.begun.spec, {**versions(), "penstock": "0.0.1"})
    pending.commit(old, 0)
    with pytest.raises(PlanRefused) as refused:
        governing([old], pending.begun, KINDS, pending.state)
    assert str(refused.value) == (
        f"batch 3 was begun by Penstock 0.0.1 and is not finished; this is Penstock {versions()['penstock']}\n"
        "where: batch 3\n"
        "next:  finish it with Penstock 0.0.1 (run it until it has caught up), then upgrade"
    )


def test_a_batch_of_which_nothing_is_in_is_begun_anew_by_another_version(pending: Folder) -> None:
    old = BatchPlan(1, Generation("g"), BatchId(3), RANGES, "spark", pending.begun.spec, {**versions(), "penstock": "0.0.1"})
    assert governing([old], pending.begun, KINDS, pending.state).batch.revision == 1


@pytest.mark.parametrize("until", [10, 8])
def test_a_plan_that_contradicts_the_offset_log_is_refused(pending: Folder, until: int) -> None:
    pending.log(until=until)
    with pytest.raises(Fatal) as refused:
        governing(pending.found(), pending.begun, KINDS, pending.state)
    assert str(refused.value) == (
        "the plan file of batch 3 and Spark's offset log contradict each other: "
        f"numbers, partition 0: planned from 5 to 9, logged from 5 to {until}\n"
        f"where: {pending.state.plans.uri}\n"
        "next:  the checkpoint was changed by hand or mixed with another's; restore state folder and checkpoint together from one backup"
    )
