"""The Spark session: made with what the chain needs, or taken from the host job and checked."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import Fatal, PlanRefused
from penstock.internals import hush
from penstock.run.fit import demand_spark
from penstock.run.quiet import stderr_into
from penstock.run.settings import RELIED_ON, spark_connect
from penstock.run.spark_errors import telling_line

SPARK_SAYS = (PySparkException, Py4JError, ConnectionError)
"""What Spark's Python side raises; anything else that ends a batch is an error of ours, or a bug, as it stands."""


def start_session(name: str, settings: Mapping[str, str], *, jars: Sequence[Path], java_home: Path, log: Path | None = None) -> SparkSession:
    """A session of our own with these settings (`session_settings`) and these jars besides the user's.

    What Spark says goes to the file `log`; without one it stays on the terminal.
    """
    on_this_machine = re.match(r"local|spark://(127\.|localhost)", settings["spark.master"]) is not None
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ.setdefault("PYSPARK_PYTHON", settings.get("spark.pyspark.python", sys.executable))
    if on_this_machine:  # elsewhere executors must find the driver, and Spark itself knows the address best
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(f"penstock {name}")
    shipped = [*map(str, jars), *filter(None, [settings.get("spark.jars")])]
    for key, value in {**settings, "spark.jars": ",".join(shipped)}.items():
        builder = builder.config(key, value)
    try:
        with stderr_into(log):
            session = builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise Fatal(
            f"Spark does not start: {telling_line(str(error), 'Exception|Error|JAVA_GATEWAY')}",
            code="spark_not_started",
            where=settings["spark.master"],
            next_step=f"see what Spark said {f'in {log}' if log else 'above'}; --master and --conf are handed to it as they are",
        ) from error
    session.sparkContext.setLogLevel("WARN" if log else "ERROR")
    hush(session, errors=log is not None)
    return check_session(session)


def end_session(session: SparkSession) -> None:
    """Stop Spark; where its JVM has died there is nothing left to stop."""
    with warnings.catch_warnings(), contextlib.suppress(*SPARK_SAYS):
        warnings.simplefilter("ignore", RuntimeWarning)  # "unable to cleanly shutdown": PySpark's word for the same
        session.stop()


def check_session(session: SparkSession) -> SparkSession:
    """Refuse a session that the chain cannot run in: Spark Connect, Spark before 4.0, settings that the chain relies on."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise spark_connect("the session", "run with a classic session: `SparkSession.builder.master(...)`, without `remote(...)` and SPARK_REMOTE")
    demand_spark(session.version)
    other = {key: found for key, each in RELIED_ON.items() if (found := session.conf.get(key, each.value) or "").lower() != each.value.lower()}
    if other:
        raise PlanRefused(
            "this session has settings that Penstock cannot run with:\n"
            + "\n".join(f"  - {key}={found}: it must be {RELIED_ON[key].value}, {RELIED_ON[key].because}" for key, found in other.items()),
            code="spark_setting",
            where="the session",
            next_step="make the session without them, or set them so",
        )
    return session
