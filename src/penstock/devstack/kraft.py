"""A single Kafka node as data: its folder, its server.properties, and the commands that format and start it."""

from __future__ import annotations

import base64
import random
import re
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.devstack.java import Java
from penstock.errors import Fatal, PlanRefused

HOST = "127.0.0.1"
# Below the range that systems hand out to outgoing connections: a broker that restarts finds its port free, and a client that
# knocks at a closed port cannot be given that very port and be connected to itself.
PORTS = range(20_000, 30_000)
FORMAT_SECONDS = 60
QUOTED_LINES, QUOTED_WIDTH = 6, 300

SINGLE_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "min.insync.replicas": "1",
    "auto.create.topics.enable": "false",  # a misspelt topic is an error here as well
    "group.initial.rebalance.delay.ms": "0",
    # A killed broker that comes back must wait until the controller has given up its former self: 3 seconds, not 9.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
ADDED = ("listeners", "listener.security.protocol.map")
LOGGING = """<Configuration status="WARN" shutdownHook="disable">
  <Appenders><Console name="out"><PatternLayout pattern="%d %p %m (%c)%n%throwable"/></Console></Appenders>
  <Loggers><Root level="INFO"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""


@dataclass(frozen=True, slots=True)
class Node:
    """One broker that is also its own controller.

    `properties` win over the settings here, but for further listeners and their protocols, which are added: the plain
    listener on `port` always stays, as it is how the broker is asked whether it is ready.
    """

    folder: Path
    port: int
    controller_port: int
    java: Java
    jars: tuple[Path, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    heap_megabytes: int = 512

    @property
    def servers(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def log_file(self) -> Path:
        return self.folder / "broker.log"

    @property
    def formatted(self) -> bool:
        return (self.folder / "data" / "meta.properties").is_file()

    @property
    def cluster(self) -> str:
        """The id that the storage was formatted with: by it an answer is known to be this node's."""
        found = re.search(r"^cluster\.id=(\S+)$", (self.folder / "data" / "meta.properties").read_text(encoding="utf-8"), re.MULTILINE)
        return found[1] if found else ""

    def server_properties(self) -> str:
        """The text of server.properties."""
        settings = SINGLE_NODE | {
            "listeners": f"PLAINTEXT://{self.servers},CONTROLLER://{HOST}:{self.controller_port}",
            "controller.quorum.voters": f"1@{HOST}:{self.controller_port}",
            "log.dirs": str(self.folder / "data"),
        }
        for key, value in self.properties.items():
            settings[key] = f"{settings[key]},{value}" if key in ADDED else value
        return "".join(f"{key}={_escaped(value)}\n" for key, value in settings.items())

    def prepare(self) -> None:
        """Write the settings, and format the storage unless it is; data that is there stays."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.log_file.exists():  # one log a start, and the one before it
            self.log_file.replace(self.folder / "broker.log.1")
        (self.folder / "server.properties").write_text(self.server_properties(), encoding="utf-8")
        (self.folder / "log4j2.xml").write_text(LOGGING, encoding="utf-8")
        if self.formatted:
            return
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # The first letter must not be a dash, or the tool takes the id for an option.
        arguments = ["format", "-t", cluster.replace("-", "A"), "-c", str(self.folder / "server.properties")]
        command = self._java("kafka.tools.StorageTool", arguments, ["-XX:TieredStopAtLevel=1"])
        answer = subprocess.run(command, capture_output=True, text=True, timeout=FORMAT_SECONDS, check=False)
        if answer.returncode:
            where = "\n       ".join([str(self.folder), *telling_lines(answer.stdout + answer.stderr)])
            step = "mend the properties that are named, or use an empty folder"
            raise Fatal("the broker's storage could not be formatted", code="broker_format_failed", where=where, next_step=step)

    def command(self) -> list[str]:
        """What starts the broker; ready two seconds later."""
        return self._java("kafka.Kafka", [str(self.folder / "server.properties")], [])

    def _java(self, main: str, arguments: Sequence[str], options: Sequence[str]) -> list[str]:
        # The serial collector: on two cores the broker is ready a second earlier than with G1, and as fast afterwards.
        fixed = [f"-Xmx{self.heap_megabytes}m", "-XX:+UseSerialGC", "-Djava.awt.headless=true", f"-Dlog4j2.configurationFile={self.folder / 'log4j2.xml'}"]
        class_path = ":".join(str(jar) for jar in self.jars)
        return [str(self.java.executable), *fixed, *options, "-cp", class_path, main, *arguments]


def telling_lines(text: str) -> list[str]:
    """What to quote of a Java program's output: the first lines that speak of an error, and how it ended."""
    lines = [line[:QUOTED_WIDTH] for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    errors = [line for line in lines if " ERROR " in line or "Exception" in line or line.startswith("Error")]
    return list(dict.fromkeys(errors[:QUOTED_LINES] + lines[-QUOTED_LINES:])) or ["nothing was printed"]


def free_ports(count: int) -> list[int]:
    """`count` ports of this machine that nobody listens on."""
    candidates = random.sample(PORTS, 200)
    free = [port for port in candidates if port_free(port)][:count]
    if len(free) < count:
        raise Fatal(f"no {count} free ports between {PORTS.start} and {PORTS.stop}", code="ports_taken", next_step="end what listens there")
    return free


def port_free(port: int) -> bool:
    """Whether a server could listen on `port` of the loopback address now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def demand_free(port: int) -> None:
    """Pass when `port` is free; `PlanRefused` when another program has it."""
    if not port_free(port):
        raise PlanRefused(f"another program listens on port {port}", code="port_taken", where=f"{HOST}:{port}", next_step="end it, or choose another port")


def _escaped(value: str) -> str:
    """A value as Java's properties format reads it back."""
    return value.replace("\\", "\\\\").replace("\n", "\\n")
