"""Count everything once more, believing no ledger: all of Kafka, all of both tables, and the payments as they were made.

Kafka is read from its first record to its last, the tables are read as plain Parquet files, those that the Delta log names.
Where a payment lies in Kafka is where its row or its dead letter must say it came from.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from confluent_kafka import Consumer, KafkaError, TopicPartition
from deltalake import DeltaTable

from penstock.demo import payments
from penstock.errors import Retryable

AT_ONCE = 10_000
SILENCE_SECONDS = 30.0
NUMBER = slice(24, 36)  # where the number stands in a payment's bytes, in a malformed one too
BLOCK = 100_000

Numbers = npt.NDArray[np.int64]
Topic = dict[int, Numbers]
"""For each partition the number of the payment at each offset; -1 where there is no record."""


@dataclass(frozen=True, slots=True)
class Count:
    """What was found."""

    in_kafka: int
    rows: int
    dead_letters: int
    missing: int
    """Records of Kafka that are in no table."""
    duplicates: int
    """How often a record is in the tables beyond the first time."""
    strange: int
    """What is in the tables and not in Kafka."""
    altered: int
    """Rows with another number or amount, dead letters with other bytes than were produced."""
    cents_produced: int
    cents_found: int

    @property
    def clean(self) -> bool:
        return not (self.missing or self.duplicates or self.strange or self.altered) and self.cents_produced == self.cents_found


def read_topic(servers: str, topic: str) -> Topic:
    """Every record of the topic, by where it lies."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "penstock-demo-count",  # the client demands one; nothing is joined and nothing committed
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "queued.max.messages.kbytes": 16_384,  # what waits to be counted; by default four times as much
            "log_level": 0,
        }
    )
    try:
        partitions = sorted(consumer.list_topics(topic, 10).topics[topic].partitions)
        places = [TopicPartition(topic, part, 0) for part in partitions]
        found: Topic = {place.partition: np.full(consumer.get_watermark_offsets(place, 10)[1], -1) for place in places}
        consumer.assign(places)
        _fill(found, consumer)
        return found
    finally:
        consumer.close()


def _fill(found: Topic, consumer: Consumer) -> None:
    open_ends, heard = set(found), time.monotonic()
    while open_ends:
        messages = consumer.consume(AT_ONCE, 0.5)
        if messages:
            heard = time.monotonic()
        elif time.monotonic() - heard > SILENCE_SECONDS:
            raise Retryable("Kafka sends nothing more", code="kafka_silent", where=f"partitions {sorted(open_ends)}", next_step="run the demo again")
        for message in messages:
            if message.error() is None:
                found[message.partition()][message.offset()] = int(message.value()[NUMBER])
            elif message.error().code() == KafkaError._PARTITION_EOF:
                open_ends.discard(message.partition())
            else:
                raise Retryable(f"Kafka: {message.error().str()}", code="kafka_read_failed", next_step="run the demo again")


def count(topic: Topic, table: Path, dead_letters: Path, *, records: int, seed: int) -> Count:
    """Compare what Kafka holds with what the tables hold, and both with what was produced."""
    made = payments.expected(0, records, seed=seed)
    rows = _plain_rows(table, {"payment_id": ds.field("payment_id"), "amount": ds.field("amount")})
    dead = _plain_rows(dead_letters, {"value": ds.field("value")})
    times: Topic = {part: np.zeros(len(numbers), np.int64) for part, numbers in topic.items()}
    strange_rows, of_rows = _look_up(rows, topic, times)
    strange_dead, _ = _look_up(dead, topic, times)

    numbers = pc.cast(pc.utf8_slice_codeunits(rows.column("payment_id").cast(pa.string()), 8), pa.int64()).to_numpy()
    cents = np.rint(rows.column("amount").to_numpy() * 100).astype(np.int64)
    known = (numbers >= 0) & (numbers < records)
    right = known & made.well_formed[np.where(known, numbers, 0)] & (made.cents[np.where(known, numbers, 0)] == cents) & (of_rows == numbers)
    wanted = Counter(malformed(records, seed=seed))
    wanted.subtract(dead.column("value").to_pylist())
    held = {part: numbers >= 0 for part, numbers in topic.items()}
    return Count(
        in_kafka=sum(int(part.sum()) for part in held.values()),
        rows=rows.num_rows,
        dead_letters=dead.num_rows,
        missing=sum(int((held[part] & (seen == 0)).sum()) for part, seen in times.items()),
        duplicates=sum(int(np.maximum(seen - 1, 0).sum()) for seen in times.values()),
        strange=strange_rows + strange_dead,
        altered=int((~right & (of_rows >= 0)).sum()) + sum(-left for left in wanted.values() if left < 0),
        cents_produced=int(made.cents[made.well_formed].sum()),
        cents_found=int(cents.sum()),
    )


def malformed(records: int, *, seed: int) -> list[bytes]:
    """The malformed payments, byte by byte as they were produced."""
    found: list[bytes] = []
    for first in range(0, records, BLOCK):
        size = min(BLOCK, records - first)
        texts = payments.values(first, size, seed=seed)
        found += [texts[index] for index in np.flatnonzero(~payments.expected(first, size, seed=seed).well_formed).tolist()]
    return found


def _plain_rows(table: Path, columns: dict[str, ds.Expression]) -> pa.Table:
    """These columns of every file that the table's log names, with the place in Kafka that each row says it is from."""
    source = {"partition": ds.field("_source", "partition"), "offset": ds.field("_source", "offset")}
    return ds.dataset(DeltaTable(str(table)).file_uris(), format="parquet").to_table(columns={**columns, **source})


def _look_up(rows: pa.Table, topic: Topic, times: dict[int, Numbers]) -> tuple[int, Numbers]:
    """Note each row at its place; how many have none in Kafka, and the number that Kafka has for each row (-1: none)."""
    partition, offset = (rows.column(name).to_numpy() for name in ("partition", "offset"))
    numbers = np.full(len(offset), -1)
    for part, held in topic.items():
        here = (partition == part) & (offset >= 0) & (offset < len(held))
        numbers[here] = held[offset[here]]
        times[part] += np.bincount(offset[here], minlength=len(held))
    return int((numbers < 0).sum()), numbers
