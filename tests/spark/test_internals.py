"""What leans on Spark's insides, and what it falls back to where they are not as expected. See `penstock/internals.py`."""

from __future__ import annotations

import logging

from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from penstock.internals import hush, is_stopped


def test_a_session_that_runs_is_told_from_one_that_cannot_be_asked(session: SparkSession) -> None:
    assert not is_stopped(session)
    assert is_stopped(object())  # type: ignore[arg-type]


def test_what_pyspark_prints_besides_raising_it_is_hushed(session: SparkSession) -> None:
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before = logger.level
    try:
        hush(session, errors=True)
        assert not logger.isEnabledFor(logging.CRITICAL)
        assert session.sparkContext._accumulatorServer.handle_error(None, None) is None, "no traceback, no error"
    finally:
        logger.setLevel(before)
