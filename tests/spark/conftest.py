"""One local session for the whole suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness.chain import RunBatch
from penstock.run.start import SparkOptions, session_for


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    with session_for("tests", SparkOptions(master="local[2,2]")) as running:
        yield running


@pytest.fixture
def run(session: SparkSession, tmp_path: Path) -> RunBatch:
    return RunBatch(session, tmp_path)
