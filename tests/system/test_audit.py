"""`penstock audit` over a real run, then over a table that somebody changed by hand."""

from __future__ import annotations

import json
import subprocess

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
