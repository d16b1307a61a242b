"""A real Apache Kafka broker beside this process: up in three seconds, and never left behind."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from penstock.devstack.jars import jars_for
from penstock.devstack.java import find_java
from penstock.devstack.kraft import Node, demand_free, free_ports
from penstock.devstack.launch import launch, wait_until_ready
from penstock.devstack.processes import Process
from penstock.devstack.progress import Progress, silent
from penstock.errors import Fatal, Retryable

GRACE_SECONDS = 15.0
START_TRIES = 3


class Broker:
    """A single-node Kafka on 127.0.0.1 that lives no longer than this process, however this process ends.

    Its data lie in `directory` and stay there; without one they lie in a folder of their own that goes with `stop`. A port
    that is not given is chosen once and kept over restarts. `properties` are added to server.properties.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        port: int | None = None,
        properties: Mapping[str, str] | None = None,
        heap_megabytes: int = 512,
        progress: Progress = silent,
    ) -> None:
        self._directory, self._port, self._progress = directory, port, progress
        self._properties, self._heap_megabytes = dict(properties or {}), heap_megabytes
        self._node: Node | None = None
        self._process: Process | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    def start(self) -> Broker:
        """Bring the broker up and return when it answers; archives and Java are found first."""
        if self.running:
            return self
        self._node = self._node or self._new_node(self._directory or Path(tempfile.mkdtemp(prefix="penstock-broker-")))
        try:
            self._run(self._node)
        except Retryable as failure:
            self._end(GRACE_SECONDS)
            # Another program took a port of our choice between our look and the broker's: choose again, once.
            if self._port is not None or "BindException" not in failure.where:
                raise
            self._node = self._new_node(self._node.folder)
            self._run(self._node)
        return self

    def stop(self) -> None:
        """End the broker, by SIGKILL when SIGTERM takes longer than a grace; a folder of its own goes too."""
        self._end(GRACE_SECONDS)
        if self._node is not None and self._directory is None:
            shutil.rmtree(self._node.folder, ignore_errors=True)
            self._node = None

    def kill(self) -> None:
        """End the broker at once, as a power cut would; the data stay for `restart`."""
        self._end(0)

    def restart(self) -> Broker:
        """Up again on the same data and the same port, whether it runs, was stopped or was killed."""
        self._end(GRACE_SECONDS)
        return self.start()

    def pause(self) -> None:
        """Freeze the broker: connections stay open, nothing answers, until `resume`."""
        self._running_process().signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused broker go on."""
        self._running_process().signal(signal.SIGCONT)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.alive()

    @property
    def pid(self) -> int:
        """The broker's own process, not its guard's."""
        return self._running_process().pid

    @property
    def servers(self) -> str:
        """What clients connect to; the same before and after `restart`."""
        return self._known_node().servers

    @property
    def log_file(self) -> Path:
        return self._known_node().log_file

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _new_node(self, folder: Path) -> Node:
        port, controller_port = free_ports(2)
        jars = jars_for("broker", progress=self._progress)
        return Node(folder.absolute(), self._port or port, controller_port, find_java(), jars, self._properties, self._heap_megabytes)

    def _run(self, node: Node) -> None:
        demand_free(node.port)
        node.prepare()
        remove = node.folder if self._directory is None else None
        self._process, self._guard = launch(node.command(), node.log_file, watched=True, remove=remove)
        wait_until_ready(node, self._process)

    def _end(self, grace_seconds: float) -> None:
        if self._process is not None and self._guard is not None:
            self._process.end(grace_seconds=grace_seconds) if grace_seconds else self._process.signal(signal.SIGKILL)
            self._guard.wait(GRACE_SECONDS)
        self._process = self._guard = None

    def _known_node(self) -> Node:
        if self._node is None:
            raise Fatal("the broker was not started", code="broker_not_started", next_step="call start() first")
        return self._node

    def _running_process(self) -> Process:
        if self._process is None or not self._process.alive():
            raise Fatal("the broker does not run", code="broker_not_running", next_step="call start() first")
        return self._process
