"""`penstock audit` over a real run, then over a table that somebody changed by hand."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from harness.load import produce
from harness.process import PENSTOCK, Pipeline

RECORDS = 20_000


def audit(pipeline: Pipeline) -> tuple[int, dict[str, object]]:
    command = [PENSTOCK, "audit", str(pipeline.folder / "pipeline.yaml"), "--json"]
    done = subprocess.run(command, timeout=60, check=False, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout.splitlines()[0])


def sums(found: dict[str, object]) -> dict[str, int]:
    batches = found["batches"]
    assert isinstance(batches, list)
    return {name: sum(batch[name] for batch in batches) for name in ("missing", "doubled", "strange", "miscounted")}


@pytest.fixture
def done(pipeline: Pipeline) -> Pipeline:
    produce(pipeline.servers, pipeline.topic, RECORDS)
    pipeline.write(rate={"records_per_batch": 8_000})
    ended = pipeline.run()
    assert ended.code == 0, ended.errors
    return pipeline


def test_the_audit_believes_what_it_counts(done: Pipeline) -> None:
    code, found = audit(done)
    assert (code, found["clean"], len(found["batches"])) == (0, True, 3)  # type: ignore[arg-type]

    table = DeltaTable(str(done.table))
    row = table.to_pyarrow_table(filters=[("n", "=", 77)])
    other = table.to_pyarrow_table(filters=[("n", "=", 78)])
    before = table.version()

    table.delete("n = 77")
    code, found = audit(done)
    assert (code, sums(found)) == (5, {"missing": 1, "doubled": 0, "strange": 0, "miscounted": 1})

    write_deltalake(str(done.table), other, mode="append")  # one deleted and another doubled: the count is right again
    code, found = audit(done)
    assert (code, sums(found)["missing"], sums(found)["doubled"]) == (5, 1, 1)

    DeltaTable(str(done.table)).restore(before)
    write_deltalake(str(done.table), row, mode="append")
    code, found = audit(done)
    assert (code, sums(found)) == (5, {"missing": 0, "doubled": 1, "strange": 0, "miscounted": 0})

    DeltaTable(str(done.table)).restore(before)
    assert audit(done)[0] == 0


def no_entry_of_1(ledger: Path) -> str:
    (ledger / "000000000001.json").unlink()
    return f"{ledger.name}: there is no entry of batch 1"


def half_an_entry(ledger: Path) -> str:
    entry = ledger / "000000000002.json"
    entry.write_bytes(entry.read_bytes()[:100])
    return f"{ledger.name}/000000000002.json: it does not parse"


def segment_cut_short(ledger: Path) -> str:
    segment = ledger / "by-100/000000000000-000000000099.json.gz"
    segment.parent.mkdir()
    entries = sorted(ledger.glob("*.json"))
    segment.write_bytes(gzip.compress(entries[0].read_bytes()) + gzip.compress(entries[1].read_bytes())[:-20])
    for entry in entries:
        entry.unlink()
    return f"{ledger.name}/{segment.parent.name}/{segment.name}: from batch 1 on it cannot be unpacked"


def test_a_damaged_ledger_is_named_and_what_is_left_of_it_is_audited(done: Pipeline) -> None:
    whole = done.state / "kept"
    shutil.copytree(done.state / "ledger", whole)
    damages: list[tuple[Callable[[Path], str], int, int]] = [(no_entry_of_1, 2, 1), (half_an_entry, 2, 1), (segment_cut_short, 1, 99)]
    for damage, left, lost in damages:
        shutil.rmtree(done.state / "ledger")
        shutil.copytree(whole, done.state / "ledger")
        (generation,) = (done.state / "ledger").iterdir()
        named = damage(generation)
        ended = subprocess.run([PENSTOCK, "audit", str(done.folder / "pipeline.yaml")], timeout=60, check=False, capture_output=True, text=True)
        assert ended.returncode == 5, ended.stderr
        assert ended.stderr == (
            f"error: the ledger is damaged, {'1 batch' if lost == 1 else f'{lost} batches'} cannot be audited: {named}\n"
            f"where: {done.state}/ledger\n"
            "next:  restore that folder from a backup; the tables hold what was committed, and the pipeline runs on without it\n"
        )
        assert ended.stdout.startswith(f"{'1 batch' if left == 1 else f'{left} batches'} audited: ")
        assert f"the ledger is damaged; what it does not tell was not audited:\n  {named}\n" in ended.stdout
