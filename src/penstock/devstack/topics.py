"""Topics on a broker of the dev stack: there, or gone, when the call returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from penstock.errors import Fatal, Retryable

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

WAIT_SECONDS = 20.0
LOOK_EVERY_SECONDS = 0.05


def create_topic(servers: str, name: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
    """Create a topic and return when each of its partitions has a leader; one that is there already is an error."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(configs or {}))
    _settle(lambda: admin.create_topics([topic], request_timeout=WAIT_SECONDS)[name].result(WAIT_SECONDS), f"create topic {name}", servers)
    _wait(lambda: _leaders(admin, name) == partitions, f"topic {name} has no leader", servers)


def delete_topic(servers: str, name: str) -> None:
    """Delete a topic and return when the broker knows it no more, so that the name can be used again."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": servers})
    _settle(lambda: admin.delete_topics([name], request_timeout=WAIT_SECONDS)[name].result(WAIT_SECONDS), f"delete topic {name}", servers)
    _wait(lambda: _leaders(admin, name) is None, f"topic {name} is still there", servers)


def _leaders(admin: AdminClient, name: str) -> int | None:
    """How many partitions of the topic have a leader; None when there is no such topic."""
    # All topics, not this one: a question about one unknown topic is answered from a cache for a while.
    found = admin.list_topics(timeout=WAIT_SECONDS).topics.get(name)
    return sum(partition.leader >= 0 for partition in found.partitions.values()) if found else None


def _settle(ask: Callable[[], object], what: str, servers: str) -> None:
    from confluent_kafka import KafkaException

    try:
        ask()
    except KafkaException as error:
        raise Fatal(f"cannot {what}: {error.args[0].str()}", code="topic_refused", where=servers, next_step="choose another name") from error


def _wait(reached: Callable[[], bool], otherwise: str, servers: str) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while not reached():
        if time.monotonic() > until:
            raise Retryable(f"{otherwise} after {WAIT_SECONDS:.0f} seconds", code="topic_slow", where=servers, next_step="look at the broker's log")
        time.sleep(LOOK_EVERY_SECONDS)
