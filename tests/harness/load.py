"""A seeded load of numbered records, some of them malformed, and what Kafka then holds, read back by another client than the pipeline's."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass

from confluent_kafka import Consumer, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

SCHEMA = "n BIGINT NOT NULL, text STRING"


@dataclass(frozen=True)
class Record:
    """One record as a read_committed reader sees it."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


Coordinates = tuple[str, int, int]
"""Topic id, partition, offset."""


def value_of(n: int, rng: random.Random) -> bytes:
    """A payment-sized JSON object; about one in two hundred is cut off or has the wrong type."""
    good = json.dumps({"n": n, "text": f"record {n} " + "x" * rng.randrange(60)}).encode()
    fate = rng.random()
    if fate < 0.0025:
        return good[: len(good) // 2]
    return json.dumps({"n": str(n)}).encode() if fate < 0.005 else good


def is_good(value: bytes | None) -> bool:
    """True where the value is a record of `SCHEMA`, by Python's own reader; for the loads of this harness that is enough."""
    try:
        found = json.loads(value or b"")
        return type(found["n"]) is int and isinstance(found.get("text"), str | None)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False


def produce(servers: str, topic: str, count: int, *, seed: int = 1, partitions: int = 4, first: int = 0) -> None:
    """Produce the numbers first … first+count-1 over all partitions and wait until they are in."""
    rng = random.Random(seed)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, "queue.buffering.max.messages": 500_000})
    for n in range(first, first + count):
        value = value_of(n, rng)
        while True:
            try:
                producer.produce(topic, value, str(n).encode(), partition=n % partitions)
                break
            except BufferError:
                producer.poll(0.05)
    assert producer.flush(60) == 0


def topic_id(servers: str, topic: str) -> str:
    admin = AdminClient({"bootstrap.servers": servers})  # held by name: a client that is collected cancels its requests
    return str(admin.describe_topics(TopicCollection([topic]))[topic].result(10).topic_id)


def read_topic(servers: str, topic: str, *, isolation: str = "read_committed", seconds: float = 60) -> dict[Coordinates, Record]:
    """Every record that Kafka shows now, by its coordinates."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "oracle", "isolation.level": isolation, "enable.partition.eof": True, "auto.offset.reset": "error"}
    )
    try:
        identity = topic_id(servers, topic)
        places = [TopicPartition(topic, part) for part in consumer.list_topics(topic, 10).topics[topic].partitions]
        for place in places:
            place.offset = consumer.get_watermark_offsets(place, 10)[0]
        consumer.assign(places)
        open_ends, found, deadline = {place.partition for place in places}, {}, time.monotonic() + seconds
        while open_ends:
            assert time.monotonic() < deadline, f"no end of {topic} within {seconds} s"
            for message in consumer.consume(10_000, 0.5):
                if message.error():
                    open_ends.discard(message.partition())
                else:
                    found[identity, message.partition(), message.offset()] = Record(message.key(), message.value(), tuple(message.headers() or ()))
        return found
    finally:
        consumer.close()
