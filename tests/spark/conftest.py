"""One local session for the whole suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from penstock.run.start import RunOptions, session_for


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    running = session_for("tests", RunOptions(master="local[2,2]"))
    yield running
    running.stop()
