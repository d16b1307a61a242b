"""A Spark cluster on this machine: a standalone master and its workers out of PySpark's own jars, each a process of ours."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path
from types import TracebackType

import pyspark

from penstock.devstack.java import find_java

SPARK_HOME = Path(pyspark.__file__).parent
# What Spark's own scripts open for its daemons, as far as a master and a worker need it.
OPENED = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.lang.invoke", "java.nio", "java.util", "java.net", "sun.nio.ch")]


class SparkCluster:
    """One master and `workers` workers of one core and one gigabyte each, below `folder`; gone when the block ends."""

    def __init__(self, folder: Path, *, workers: int = 2) -> None:
        self._folder, self._workers = folder, workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = ""

    def __enter__(self) -> SparkCluster:
        self._folder.mkdir(parents=True)
        try:
            self._start("master.Master", "--port", "0", name="master")
            self.master = self._said("master", r"Starting Spark master at (spark://\S+)")
            for number in range(self._workers):
                work = ("--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / f"work-{number}"))
                self._start("worker.Worker", "--port", "0", *work, self.master, name=f"worker-{number}")
            for number in range(self._workers):
                self._said(f"worker-{number}", r"(Successfully registered with master)")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def _start(self, daemon: str, *arguments: str, name: str) -> None:
        java = find_java()
        command = [str(java.executable), "-Xmx256m", *OPENED, "-cp", f"{SPARK_HOME}/jars/*", f"org.apache.spark.deploy.{daemon}"]
        environment = {**os.environ, "JAVA_HOME": str(java.home), "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SCALA_VERSION": "2.13"}
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen([*command, "--host", "127.0.0.1", "--webui-port", "0", *arguments], env=environment, stdout=log, stderr=log, cwd=self._folder)
            )

    def _said(self, name: str, pattern: str, *, seconds: float = 90) -> str:
        """What the log of `name` says where it first fits the pattern."""
        log, deadline = self._folder / f"{name}.log", time.monotonic() + seconds
        while (found := re.search(pattern, log.read_text(errors="replace"))) is None:
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-3000:]
            assert all(process.poll() is None for process in self._processes), log.read_text(errors="replace")[-3000:]
            time.sleep(0.1)
        return found[1]

    def _end(self) -> None:
        """Workers first: a worker ends its executors when it is asked to end."""
        for process in reversed(self._processes):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            if process.poll() is None:
                process.kill()
                process.wait(15)
        self._processes.clear()
