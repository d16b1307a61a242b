"""Whether the PySpark on this machine is one that Penstock runs on, without importing it."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

from penstock.errors import PlanRefused

OLDEST = (4, 0)
INSTALL = "install another PySpark: pip install 'pyspark>=4.1.3,<4.2'"


def demand_pyspark() -> None:
    """Refuse a PySpark before 4.0 by its package's version; one that came without a package is judged when its session stands."""
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        return
    demand_spark(found, where=sys.prefix)


def demand_spark(found: str, *, where: str = "") -> None:
    """Refuse a Spark before 4.0."""
    if major_minor(found) < OLDEST:
        raise PlanRefused(f"this is Spark {found}: Penstock needs Spark 4.0 or newer", code="spark_too_old", where=where, next_step=INSTALL)


def major_minor(found: str) -> tuple[int, int]:
    """(4, 1) of "4.1.3"."""
    major, minor = found.split(".")[:2]
    return int(major), int(minor)
