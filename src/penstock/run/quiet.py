"""Spark speaks at length, and into the terminal of whoever starts it. Here it speaks into a file, and the user reads one report."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

KEPT_BYTES = 10_000_000


@contextmanager
def stderr_into(file: Path | None) -> Iterator[None]:
    """What processes that are started in here write to their standard error, now and later, is appended to the file."""
    if file is None:
        yield
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and file.stat().st_size > KEPT_BYTES:
        file.replace(file.with_suffix(".old.log"))
    sys.stderr.flush()
    mine = os.dup(2)
    with file.open("ab") as stream:
        os.dup2(stream.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(mine, 2)
        os.close(mine)


def hush_pyspark(session: SparkSession, *, errors: bool) -> None:
    """What PySpark prints besides raising it. With `errors`, also the page of JSON that it logs for each of them."""
    # When the JVM dies, its accumulator server prints a traceback from a thread of its own; that Spark has gone is said once, by us.
    if (server := getattr(session.sparkContext, "_accumulatorServer", None)) is not None:
        server.handle_error = lambda request, client_address: None
    if errors:
        PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
