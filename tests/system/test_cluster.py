"""The same pipeline file on a Spark cluster: nothing in Penstock assumes that Spark runs inside this process's machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.load import produce
from harness.oracle import delta_rows
from harness.process import Pipeline
from harness.spark_cluster import SPARK_HOME, SparkCluster

RECORDS = 20_000
IN_SQL = [{"type": "filter", "where": "n >= 0"}]


def tasks_by_executor(events: Path) -> Counter[str]:
    """How many tasks each executor ended, from Spark's own event log; the driver's id is `driver`."""
    lines = [json.loads(line) for file in events.iterdir() for line in file.read_text().splitlines()]
    return Counter(line["Task Info"]["Executor ID"] for line in lines if line["Event"] == "SparkListenerTaskEnd")


@pytest.mark.timeout(400)
@pytest.mark.parametrize("transform", [pytest.param(None, id="in one pass", marks=pytest.mark.faults), pytest.param(IN_SQL, id="through Spark SQL")])
def test_executors_do_the_work_and_every_record_is_in_one_place(pipeline: Pipeline, tmp_path: Path, transform: list[dict[str, str]] | None) -> None:
    produce(pipeline.servers, pipeline.topic, RECORDS)
    pipeline.write(transform=transform, rate={"records_per_batch": RECORDS // 2})
    (tmp_path / "events").mkdir()
    logged = {"enabled": "true", "dir": (tmp_path / "events").as_uri(), "compress": "false", "rolling.enabled": "false"}
    conf = [part for key, value in logged.items() for part in ("--conf", f"spark.eventLog.{key}={value}")]
    with SparkCluster(tmp_path / "cluster") as cluster:
        ended = pipeline.run("--until-caught-up", "--master", cluster.master, *conf, seconds=300)
    assert ended.code == 0, ended.errors
    assert (verdict := pipeline.verdict()), verdict
    assert sum(event["counts"]["dead"] for event in ended.events("batch committed")) == delta_rows(pipeline.dead).num_rows > 0
    executors = tasks_by_executor(tmp_path / "events")
    assert set(executors) == {"0", "1"}, "both workers had tasks, the driver none"
    assert pipeline.versions() == (2, 2)


@pytest.mark.faults
def test_tasks_whose_python_has_no_penstock_are_named(pipeline: Pipeline, tmp_path: Path) -> None:
    produce(pipeline.servers, pipeline.topic, 100)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True, timeout=60)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$(echo {SPARK_HOME}/python/lib/*.zip | tr " " :)" exec {tmp_path}/bare/bin/python "$@"\n')
    python.chmod(0o755)
    ended = pipeline.run("--conf", f"spark.pyspark.python={python}")
    assert ended.code == 5, ended.errors
    what, step = ended.errors.splitlines()[-2:]
    assert re.fullmatch(r"error: the Python of the tasks has no module `(penstock|pandas|pyarrow)`", what)
    assert step == "next:  install Penstock on every node, and name that Python there: PYSPARK_PYTHON, or --conf spark.pyspark.python=/path/to/python"
