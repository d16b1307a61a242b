"""Starting the broker's process, watched or detached, and waiting until it answers."""

from __future__ import annotations

import logging
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from penstock.devstack import guard
from penstock.devstack.kraft import Node, telling_lines
from penstock.devstack.processes import Process, process
from penstock.errors import Retryable

SAY_SECONDS = 20
READY_SECONDS = 60.0
ASK_SECONDS = 0.5


def launch(
    command: Sequence[str], log: Path, *, watched: bool, remove: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[Process, subprocess.Popen[bytes]]:
    """Start `command` behind a guard and give both: the command by identity, and the guard, which ends when it does.

    `watched`: the command ends within seconds when this process is gone, however it went; the folder `remove` goes too.
    Otherwise the command is nobody's child and stays; the guard has ended already. It runs in the log's folder, with
    `environment` besides this process's own.
    """
    parent = os.getpid() if watched else 0
    arguments = [sys.executable, "-I", "-S", guard.__file__, str(parent), str(log), str(remove or ""), *command]
    with log.open("ab") as errors:
        # A session of its own: Ctrl-C in the terminal is for the pipeline, whose end then ends the broker.
        guarding = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            cwd=log.parent,
            env={**os.environ, **(environment or {})},
        )
    said = _first_line(guarding)
    if not watched:
        guarding.wait(SAY_SECONDS)
    started = process(int(said)) if said else None
    if started is None:
        guarding.kill()
        guarding.wait(SAY_SECONDS)
        raise start_failure("it could not be started", log)
    return started, guarding


def wait_until_ready(node: Node, broker: Process, *, seconds: float = READY_SECONDS) -> None:
    """Return when this very broker answers a metadata request; `Retryable` with the end of its log when it ends or takes too long."""
    asking, log = _asking(node.servers, node.cluster), node.log_file
    until = time.monotonic() + seconds
    while True:
        has_answered = asking()
        if not broker.alive():
            raise start_failure("it ended while it started", log)
        if has_answered:
            return
        if time.monotonic() > until:
            raise start_failure(f"it did not answer within {seconds:.0f} seconds", log)


def answers(servers: str, *, seconds: float) -> bool:
    """Whether a broker at `servers` answers a metadata request within some seconds."""
    asking = _asking(servers)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if asking():
            return True
    return False


def _asking(servers: str, cluster: str = "") -> Callable[[], bool]:
    """A question to ask again and again over one client: does a broker (of this cluster) answer now? Each takes half a second at most."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    quiet = logging.getLogger("penstock.devstack.knocking")
    quiet.disabled = True  # a refused connection is no news while the broker starts
    client = AdminClient({"bootstrap.servers": servers, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 100, "log_level": 0}, logger=quiet)

    def ask() -> bool:
        try:
            found = client.list_topics(timeout=ASK_SECONDS)
            return bool(found.brokers) and found.cluster_id == (cluster or found.cluster_id)
        except KafkaException:
            return False

    return ask


def start_failure(how: str, log: Path) -> Retryable:
    """The error for a broker that did not come up, with what its log says of it."""
    said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    where = "\n       ".join([str(log), *telling_lines(said)])
    return Retryable(f"the Kafka broker is not up: {how}", code="broker_start_failed", where=where, next_step="read the log, then start it again")


def _first_line(guarding: subprocess.Popen[bytes]) -> str:
    if guarding.stdout is None:
        return ""
    with guarding.stdout as stdout:
        ready, _, _ = select.select([stdout], [], [], SAY_SECONDS)
        return stdout.readline().decode().strip() if ready else ""
