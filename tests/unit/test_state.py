"""The state folder and its small files: made once, never half, refused when they are not ours."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from penstock.errors import Fatal, PlanRefused
from penstock.run.batch_plan import BatchPlan, begin_batch, revisions
from penstock.run.state import open_state
from penstock.storage import LocalStorage, storage_at
from penstock.values import BatchId, Generation, OffsetRange


def plan(batch: int = 3, until: int = 9, spec: str = "old", generation: str = "g") -> BatchPlan:
    return BatchPlan(1, Generation(generation), BatchId(batch), (OffsetRange("a", "id", 0, 5, until),), "spark", spec, {"penstock": "0"})


def test_the_ids_of_a_pipeline_are_made_once(tmp_path: Path) -> None:
    first = open_state(LocalStorage(tmp_path / "state"), "payments", "main")
    assert open_state(LocalStorage(tmp_path / "state"), "payments", "main").format == first.format
    assert set(first.format.flows["main"]) == {"id", "sink", "dead_letters"}


def test_the_state_of_another_pipeline_is_refused(tmp_path: Path) -> None:
    open_state(LocalStorage(tmp_path), "payments", "main")
    with pytest.raises(PlanRefused) as refused:
        open_state(LocalStorage(tmp_path), "orders", "main")
    assert str(refused.value) == (
        "the state folder is that of the pipeline `payments`, this file describes `orders`\n"
        f"where: {tmp_path}\n"
        "next:  give each pipeline a `state` folder of its own"
    )


def test_a_newer_state_is_refused(tmp_path: Path) -> None:
    open_state(LocalStorage(tmp_path), "payments", "main")
    content = json.loads((tmp_path / "format").read_text())
    (tmp_path / "format").write_text(json.dumps({**content, "format": 99, "of a kind": "that nobody knows yet"}))
    with pytest.raises(PlanRefused) as refused:
        open_state(LocalStorage(tmp_path), "payments", "main")
    assert str(refused.value) == (
        "the state was written in format 99, this version of Penstock knows format 1\n"
        f"where: {tmp_path}\n"
        "next:  run the newer version of Penstock that wrote it, or go back to a backup of the state"
    )


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"")
    with pytest.raises(PlanRefused, match="holds files, but not the state of a pipeline"):
        open_state(LocalStorage(tmp_path), "payments", "main")


def test_a_damaged_format_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "format").write_text('{"format": 1')
    with pytest.raises(Fatal, match="the file `format` of the state folder does not parse"):
        open_state(LocalStorage(tmp_path), "payments", "main")


def test_the_plan_of_an_earlier_generation_binds_no_batch_of_a_new_one(tmp_path: Path) -> None:
    plans = LocalStorage(tmp_path)
    assert begin_batch(plans, plan(until=9))
    assert begin_batch(plans, plan(until=10, generation="h"))
    assert revisions(plans, Generation("h"), BatchId(3)) == [plan(until=10, generation="h")]


def test_plan_files_are_purged_behind_those_that_spark_keeps(tmp_path: Path) -> None:
    plans = LocalStorage(tmp_path)
    for batch in range(130):
        begin_batch(plans, plan(batch))
    assert [int(name.removesuffix(".json")) for name in plans.names("g")] == list(range(30, 130))


def test_the_revisions_of_a_plan_are_found_newest_first_and_purged_together(tmp_path: Path) -> None:
    plans = LocalStorage(tmp_path)
    assert begin_batch(plans, plan(0))
    assert not begin_batch(plans, plan(0, spec="another instance")), "made once"
    assert begin_batch(plans, msgspec.structs.replace(plan(0, spec="new"), revision=1))
    found = revisions(plans, Generation("g"), BatchId(0))
    assert [(each.revision, each.spec) for each in found] == [(1, "new"), (0, "old")]
    assert found[0].digest != found[1].digest, "a commit of one is never taken for one of the other"
    assert begin_batch(plans, plan(100))
    assert plans.names("g") == ["000000000100.json"]


def test_of_many_who_create_one_file_exactly_one_does(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda n: storage.create("one", str(n).encode()), range(64)))
    assert made.count(True) == 1
    assert storage.read("one") == str(made.index(True)).encode()
    assert storage.names() == ["one"]


def test_a_scheme_that_is_not_a_disk_is_refused() -> None:
    with pytest.raises(PlanRefused, match="not at s3://"):
        storage_at("s3://bucket/state")
