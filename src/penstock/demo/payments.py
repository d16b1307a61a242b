"""The payments of the demo: the same ones for the same seed, about 209 bytes each, one in two hundred malformed.

Every payment follows from its number and the seed alone, so that whoever counts afterwards can make them again: nothing has
to be remembered of what was produced but how many there were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import Retryable

if TYPE_CHECKING:
    from confluent_kafka import Producer

AT_ONCE = 20_000
MALFORMED_ONE_IN = 200
FLUSH_SECONDS = 60
FIRST_MOMENT = np.datetime64("2026-01-01T00:00:00.000000", "us")
MICROS_BETWEEN = 37_411

CURRENCIES = ("EUR", "USD", "CHF", "GBP")
COUNTRIES = ("DE", "FR", "CH", "GB", "US", "IT", "ES", "PL")
TRADES = ("bakery", "bookshop", "pharmacy", "railway", "theatre", "cinema", "florist", "garage")
TOWNS = ("Aachen", "Bergamo", "Cordoba", "Dresden", "Exeter", "Fribourg", "Grenoble", "Houston")

Numbers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Load:
    """What is produced: the payments 0 … count-1, dealt to the partitions by their accounts."""

    count: int
    seed: int
    partitions: int


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be found again of the payments `first` … : which are well formed, and their amounts in cents."""

    well_formed: npt.NDArray[np.bool_]
    cents: Numbers


def expected(first: int, count: int, *, seed: int) -> Expected:
    """What a reader should find of these payments, without making their text."""
    bits = _bits(first, count, seed)
    return Expected(_fate(bits) != 0, _cents(bits))


def values(first: int, count: int, *, seed: int) -> list[bytes]:
    """The payments `first` … as Kafka gets them."""
    bits = _bits(first, count, seed)
    moments = FIRST_MOMENT + (first + np.arange(count)) * MICROS_BETWEEN
    columns = zip(
        range(first, first + count),
        _accounts(bits).tolist(),
        _picked(bits, 16, TRADES),
        _picked(bits, 20, TOWNS),
        _cents(bits).tolist(),
        _picked(bits, 44, CURRENCIES),
        _picked(bits, 46, COUNTRIES),
        (1 + (bits >> np.uint64(50)) % np.uint64(3)).tolist(),
        np.datetime_as_string(moments).tolist(),
        strict=True,
    )
    texts = [
        b'{"payment_id": "payment-%012d", "account_id": %d, "merchant": "%b of %b", "amount": %d.%02d, "currency": "%b", "country": "%b",'
        b' "attempt": %d, "created_at": "%bZ"}' % (number, account, trade, town, cents // 100, cents % 100, currency, country, attempt, moment.encode())
        for number, account, trade, town, cents, currency, country, attempt, moment in columns
    ]
    fate = _fate(bits)
    for index in np.flatnonzero(fate == 0).tolist():
        texts[index] = FAULTS[(first + index) % len(FAULTS)](texts[index])
    return texts


FAULTS: tuple[Callable[[bytes], bytes], ...] = (
    lambda text: text[:-40],
    lambda text: text.replace(b'"amount": ', b'"amount": "many", "was": '),
    lambda text: text.replace(b'"account_id"', b'"account"'),
    lambda text: text + b"}",
    lambda text: text.replace(b" of ", b" \xff "),
)
"""How a payment can be malformed: cut off, of the wrong type, a field missing, more than one document, no UTF-8."""


def produce(servers: str, topic: str, load: Load, *, told: Callable[[int], None]) -> None:
    """Put the payments into the topic and return when the broker has them; `told` hears how many were handed over so far."""
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": servers, "linger.ms": 20, "compression.type": "lz4", "enable.idempotence": True, "log_level": 0}
    producer = Producer(settings)
    for first in range(0, load.count, AT_ONCE):
        size = min(AT_ONCE, load.count - first)
        accounts = _accounts(_bits(first, size, load.seed)).tolist()
        for value, account in zip(values(first, size, seed=load.seed), accounts, strict=True):
            _hand_over(producer, topic, value, b"%d" % account, account % load.partitions)
        told(first + size)
    if left := producer.flush(FLUSH_SECONDS):
        raise Retryable(f"the broker did not take {left:,} payments", code="demo_not_produced", where=servers, next_step="run the demo again")


def _hand_over(producer: Producer, topic: str, value: bytes, key: bytes, partition: int) -> None:
    while True:
        try:
            producer.produce(topic, value, key, partition)
            return
        except BufferError:  # its queue is full: wait until the broker has taken some
            producer.poll(0.02)


def _bits(first: int, count: int, seed: int) -> Bits:
    """Sixty-four bits a payment that look random and follow from its number and the seed (splitmix64)."""
    mixed = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Bits = mixed ^ (mixed >> np.uint64(31))
    return found


def _accounts(bits: Bits) -> Numbers:
    return (np.uint64(10_000_000) + (bits & np.uint64(0xFFFF))).astype(np.int64)


def _cents(bits: Bits) -> Numbers:
    return (np.uint64(100) + (bits >> np.uint64(24)) % np.uint64(99_900)).astype(np.int64)


def _fate(bits: Bits) -> Numbers:
    """0 for the malformed ones."""
    return ((bits >> np.uint64(32)) % np.uint64(MALFORMED_ONE_IN)).astype(np.int64)


def _picked(bits: Bits, shift: int, words: tuple[str, ...]) -> list[bytes]:
    encoded = [word.encode() for word in words]
    return [encoded[index] for index in ((bits >> np.uint64(shift)) % np.uint64(len(words))).tolist()]
