"""The Spark session: made with what the chain needs, or taken from the host job and checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.errors import PlanRefused
from penstock.run.quiet import hush_pyspark, stderr_into

OLDEST = (4, 0)

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.python.worker.reuse": "true",
    "spark.sql.streaming.minBatchesToRetain": "100",
    "spark.speculation": "false",
}
"""What the chain relies on, in every session."""

LAPTOP = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
}
"""Besides, where Spark runs inside this process's machine."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where Spark runs and how; `log` is the file that takes what it says, None leaves it on the terminal."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None


def start_session(name: str, options: SparkOptions, *, jars: Sequence[Path], java_home: Path) -> SparkSession:
    """A session of our own. `local[N,4]`: a task gets four attempts, plain `local[N]` would give it one."""
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    where = options.master or f"local[{os.cpu_count() or 2},4]"
    settings = {**SETTINGS, **(LAPTOP if where.startswith("local") else {}), **options.conf}
    settings["spark.jars"] = ",".join(str(jar) for jar in jars)
    builder = SparkSession.builder.appName(f"penstock {name}").master(where)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with stderr_into(options.log):
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR" if options.log is None else "WARN")
    if options.log is not None:
        hush_pyspark()
    return check_session(session)


def check_session(session: SparkSession) -> SparkSession:
    """Refuse a session that the chain cannot run in: Spark Connect, or Spark before 4.0."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise PlanRefused(
            "this is a Spark Connect session: Penstock runs inside the driver, which Connect keeps out of reach",
            code="spark_connect",
            next_step="run with a classic session: `SparkSession.builder.master(...)`, without `remote(...)` and SPARK_REMOTE",
        )
    found = tuple(int(part) for part in session.version.split(".")[:2])
    if found < OLDEST:
        raise PlanRefused(
            f"this is Spark {session.version}: Penstock needs Spark 4.0 or newer",
            code="spark_too_old",
            next_step="install a newer PySpark: pip install 'pyspark>=4.1.3,<4.2'",
        )
    return session
