"""Puts some payments into the topic of the example, one in two hundred of them malformed.

python examples/payments/produce.py [COUNT]       10,000 by default, to KAFKA_SERVERS or 127.0.0.1:9092
"""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import datetime, timedelta, timezone

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

SERVERS, TOPIC = os.environ.get("KAFKA_SERVERS", "127.0.0.1:9092"), "payments"


def payment(number: int, rng: random.Random) -> bytes:
    at = datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=number)
    fields = {
        "payment_id": f"p-{number:08d}",
        "account_id": rng.randrange(1000),
        "merchant": f"merchant {rng.randrange(50)}",
        "amount": round(rng.uniform(-5, 500), 2),
        "currency": rng.choice(["eur", "usd", "chf"]),
        "created_at": at.isoformat(),
    }
    text = json.dumps(fields).encode()
    return text[:-9] if rng.random() < 0.005 else text


def main(count: int) -> None:
    admin = AdminClient({"bootstrap.servers": SERVERS})
    try:
        admin.create_topics([NewTopic(TOPIC, num_partitions=4)])[TOPIC].result(10)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
    producer, rng = Producer({"bootstrap.servers": SERVERS, "queue.buffering.max.messages": 1_000_000}), random.Random(count)
    for number in range(count):
        producer.produce(TOPIC, payment(number, rng), key=str(number % 1000))
        producer.poll(0)
    producer.flush(60)
    print(f"{count:,} payments in topic {TOPIC} at {SERVERS}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
