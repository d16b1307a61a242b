"""What Kafka shows of a range now, read by librdkafka: the other client than the one that ran the batch. For the audit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from confluent_kafka import Consumer, KafkaError, TopicPartition

from penstock.errors import Retryable
from penstock.values import OffsetRange

SILENCE_SECONDS = 30.0
AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class Visible:
    """The offsets of one range at which a `read_committed` reader finds a record, and from which offset on Kafka still knows."""

    range: OffsetRange
    kept_from: int
    offsets: npt.NDArray[np.int64]


def visible(servers: str, ranges: Sequence[OffsetRange]) -> Iterator[Visible]:
    """Read each range again; what retention has taken is not in the answer, and the answer says so."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "penstock-audit",  # the client demands one; nothing is joined and nothing committed
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "check.crcs": True,
            "fetch.wait.max.ms": 20,
            "log_level": 0,
        }
    )
    try:
        for item in ranges:
            kept_from = max(item.start, consumer.get_watermark_offsets(TopicPartition(item.topic, item.partition), 10)[0])
            offsets = _read(consumer, item, kept_from) if kept_from < item.until else np.empty(0, np.int64)
            yield Visible(item, kept_from, offsets)
    finally:
        consumer.close()


def _read(consumer: Consumer, item: OffsetRange, start: int) -> npt.NDArray[np.int64]:
    """The offsets of the records in [start, until): ended by position, because a count is not known."""
    consumer.assign([TopicPartition(item.topic, item.partition, start)])
    found: list[int] = []
    heard = time.monotonic()
    while True:
        messages = consumer.consume(AT_ONCE, 0.5)
        if not messages and time.monotonic() - heard > SILENCE_SECONDS:
            raise Retryable(
                f"Kafka sends nothing of {item.topic}-{item.partition} from offset {start} on",
                code="kafka_silent",
                where=f"topic {item.topic}, partition {item.partition}",
                next_step="see whether the broker is well, or whether an open transaction holds readers back; then run again",
            )
        for message in messages:
            heard = time.monotonic()
            error = message.error()
            if error is None and message.offset() < item.until:
                found.append(message.offset())
            elif error is None or (error.code() == KafkaError._PARTITION_EOF and message.offset() >= item.until):
                return np.array(found, np.int64)
            elif error.code() != KafkaError._PARTITION_EOF:
                raise Retryable(f"Kafka: {error.str()}", code="kafka_read_failed", where=f"topic {item.topic}", next_step="run again")
