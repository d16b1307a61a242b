"""The pipeline seen from outside: what its plan files and its tables' logs say of a batch that was interrupted."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from penstock.demo.place import Place
from penstock.demo.watch import InFlight, Sight, Watch
from penstock.run.batch_plan import BatchPlan
from penstock.values import BatchId, Generation, OffsetRange


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def plan(place: Place, batch: int) -> None:
    ranges = (OffsetRange("payments", "id", 0, 0, 60), OffsetRange("payments", "id", 1, 10, 50))
    folder = place.state / "queries/main/plans/g"
    folder.mkdir(parents=True, exist_ok=True)
    content = msgspec.json.encode(BatchPlan(1, Generation("g"), BatchId(batch), ranges, "spark", "{}", {}))
    (folder / f"{batch:012d}.json").write_bytes(content)


def stage(table: Path, name: str) -> str:
    table.mkdir(parents=True, exist_ok=True)
    (table / name).touch()
    return name


def commit(table: Path, version: int, batch: int | None, *files: str) -> None:
    (table / "_delta_log").mkdir(parents=True, exist_ok=True)
    note = {} if batch is None else {"penstock": json.dumps({"token": f"penstock:p:f:s:g:{batch}", "read": 100})}
    actions = [{"commitInfo": {"operation": "WRITE", **note}}, *({"add": {"path": name}} for name in files)]
    (table / f"_delta_log/{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))


def test_nothing_is_seen_before_the_first_start(place: Place) -> None:
    watch = Watch(place)
    assert watch.look() == Sight(-1, frozenset(), 0, -1)
    assert (watch.look().working, watch.in_flight(), watch.left_behind()) == (None, None, 0)


def test_a_batch_is_in_flight_from_its_plan_to_its_commit(place: Place) -> None:
    watch = Watch(place)
    commit(place.table, 0, None)
    plan(place, 0)
    assert (watch.look().working, watch.in_flight()) == (0, InFlight(0, 100, False, 0, 0))
    first = stage(place.table, "part-00000000-00000-a.parquet")
    stage(place.dead_letters, "part-00000000-00000-b.parquet")
    assert watch.in_flight() == InFlight(0, 100, False, 2, 0)
    commit(place.table, 1, 0, first)
    assert watch.look() == Sight(0, frozenset({0}), 100, 1)
    assert watch.in_flight() == InFlight(0, 100, True, 1, 1), "its dead letters are not in"
    commit(place.dead_letters, 0, 0, "part-00000000-00000-b.parquet")
    assert watch.in_flight() is None


def test_what_an_earlier_kill_left_behind_is_not_in_flight(place: Place) -> None:
    watch = Watch(place)
    plan(place, 0)
    stage(place.table, "part-00000000-00000-killed.parquet")
    commit(place.table, 0, 0, stage(place.table, "part-00000000-00000-again.parquet"))
    plan(place, 1)
    assert watch.in_flight() == InFlight(1, 100, False, 0, 0)
    assert watch.left_behind() == 1


def test_a_batch_that_made_a_second_version_is_noticed(place: Place) -> None:
    watch = Watch(place)
    commit(place.table, 0, 0)
    commit(place.dead_letters, 0, 0)
    assert set(watch.versions_made().values()) == {1}
    commit(place.table, 1, 0)
    assert watch.versions_made() == {("rows", 0): 2, ("dead", 0): 1}


def test_the_time_of_a_batch_is_from_its_plan_to_its_commit(place: Place) -> None:
    watch = Watch(place)
    plan(place, 3)
    watch.look()
    assert watch.work_seconds(3) is None
    commit(place.table, 0, 3)
    watch.look()
    assert 0 < (watch.work_seconds(3) or 0) < 60
    assert watch.work_seconds(4) is None
