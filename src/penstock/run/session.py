"""The Spark session: made with what the chain needs, or taken from the host job and checked."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import Fatal, PlanRefused
from penstock.run.fit import demand_spark
from penstock.run.settings import RELIED_ON, spark_connect
from penstock.run.spark_errors import telling_line

LOGGING = Path(__file__).with_name("log4j2.properties")


def start_session(name: str, settings: Mapping[str, str], *, jars: Sequence[Path], java_home: Path) -> SparkSession:
    """A session of our own with these settings (`session_settings`) and these jars besides the user's."""
    on_this_machine = re.match(r"local|spark://(127\.|localhost)", settings["spark.master"]) is not None
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ.setdefault("PYSPARK_PYTHON", settings.get("spark.pyspark.python", sys.executable))
    if on_this_machine:  # elsewhere executors must find the driver, and Spark itself knows the address best
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(f"penstock {name}")
    for key, value in {**_quiet(os.environ), **settings}.items():
        builder = builder.config(key, value)
    shipped = [*map(str, jars), *filter(None, [settings.get("spark.jars")])]
    try:
        session = builder.config("spark.jars", ",".join(shipped)).getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise Fatal(
            f"Spark does not start: {telling_line(str(error), 'Exception|Error|JAVA_GATEWAY')}",
            code="spark_not_started",
            where=settings["spark.master"],
            next_step="see what Spark said above; --master and --conf are handed to it as they are",
        ) from error
    session.sparkContext.setLogLevel("ERROR")
    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark's own: whole stack traces of what is reported once, by us
    return check_session(session)


def _quiet(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Spark's logging as we want it on a terminal, where the user has none of their own."""
    folders = [environment.get("SPARK_CONF_DIR"), f"{environment['SPARK_HOME']}/conf" if "SPARK_HOME" in environment else None]
    if any(folder and (Path(folder) / LOGGING.name).exists() for folder in folders):
        return {}
    return {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING}"}


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
