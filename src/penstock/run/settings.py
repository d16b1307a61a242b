"""Which Spark settings a session gets: what the chain relies on is set and may not be changed, the rest is the user's."""

from __future__ import annotations

import difflib
import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.errors import PlanRefused, Retryable

MASTER = re.compile(r"local(-cluster)?(\[[^\]]+\])?|spark://.+|k8s://.+|yarn")
MASTER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ReliedOn:
    """The value that a setting must have, and what would break with another one."""

    value: str
    because: str


RELIED_ON: Mapping[str, ReliedOn] = {
    "spark.speculation": ReliedOn("false", "a second attempt of a task that still runs would write the same rows again"),
    "spark.sql.session.timeZone": ReliedOn("UTC", "the same batch must give the same rows wherever it is run again"),
    "spark.sql.streaming.minBatchesToRetain": ReliedOn("100", "plan files are kept for as many batches as Spark's own logs"),
    "spark.sql.execution.arrow.useLargeVarTypes": ReliedOn("false", "the tables' columns have Arrow's plain types"),
    "spark.submit.deployMode": ReliedOn("client", "Penstock is the driver and stays on this machine"),
}

TUNED = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.python.worker.reuse": "true",
    "spark.api.mode": "classic",
}
"""Set in every session unless the user chooses otherwise."""

LAPTOP = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
}
"""Besides, where Spark runs inside this process's machine."""

OURS = {
    "spark.master": "say it with --master",
    "spark.sql.streaming.checkpointLocation": "the checkpoint lies in the pipeline's `state`",
}
"""What this command decides in another way; a value here would be passed over in silence."""


def session_settings(master: str | None, conf: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Everything a session is started with, `spark.master` included; what cannot be is refused, all of it at once."""
    # `local[N,4]`: a task gets four attempts, plain `local[N]` would give it one.
    where = f"local[{os.cpu_count() or 2},4]" if master is None else master
    _refuse_connect(where, conf, environment)
    if not MASTER.fullmatch(where):
        raise PlanRefused(
            f"`{where}` is no Spark master",
            code="spark_master",
            where="--master",
            next_step="name one: local[4,4], spark://host:7077, k8s://https://host:6443 or yarn; without --master Spark runs on this machine",
        )
    if reasons := list(_unusable(conf)):
        raise PlanRefused(
            "Spark settings that cannot be used:\n" + "\n".join(f"  - {reason}" for reason in reasons),
            code="spark_setting",
            where="--conf",
            next_step="leave them out",
        )
    laptop = LAPTOP if where.startswith("local") else {}
    return {**TUNED, **laptop, **conf, **{key: each.value for key, each in RELIED_ON.items()}, "spark.master": where}


def refuse_unreachable(master: str) -> None:
    """Name a standalone master that takes no connection: Spark itself would try for a minute."""
    addresses = [part.rpartition(":") for part in master.removeprefix("spark://").split(",")] if master.startswith("spark://") else []
    reason = ""
    for host, _, port in addresses:
        try:
            socket.create_connection((host, int(port)), MASTER_SECONDS).close()
            return
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
    if addresses:
        raise Retryable(
            f"the Spark master cannot be reached: {reason}",
            code="spark_unreachable",
            where=master,
            next_step="see that the master runs and that --master names it; running again is safe",
        )


def _refuse_connect(master: str, conf: Mapping[str, str], environment: Mapping[str, str]) -> None:
    if "SPARK_REMOTE" in environment:
        raise spark_connect("SPARK_REMOTE in the environment", "unset it, and name a master that is not Spark Connect's: --master spark://host:7077")
    if master.startswith("sc://"):
        raise spark_connect(f"--master {master}", "name the cluster's own master: --master spark://host:7077")
    for key in ("spark.remote", "spark.api.mode"):
        if conf.get(key, "classic") != "classic":
            raise spark_connect(f"--conf {key}={conf[key]}", "leave it out, and name a master: --master spark://host:7077")


def spark_connect(where: str, next_step: str) -> PlanRefused:
    """The refusal of Spark Connect, however it was asked for."""
    return PlanRefused(
        "Penstock does not run over Spark Connect: it works inside the driver, which Connect keeps out of reach",
        code="spark_connect",
        where=where,
        next_step=next_step,
    )


def _unusable(conf: Mapping[str, str]) -> Iterator[str]:
    for key, value in conf.items():
        relied_on = RELIED_ON.get(key)
        if relied_on is not None and value.lower() != relied_on.value.lower():
            yield f"{key}={value}: it must be {relied_on.value}, {relied_on.because}"
        elif key in OURS:
            yield f"{key}={value}: {OURS[key]}"
        elif not key.startswith("spark."):
            near = difflib.get_close_matches(f"spark.{key}", [*RELIED_ON, *TUNED, *LAPTOP], n=1)
            yield f"{key}={value}: Spark passes over what does not begin with `spark.`" + (f"; did you mean `{near[0]}`?" if near else "")
