"""What decoding JSON costs a record: clean blocks, 1 % faults, 10 %, nothing but faults. CPU time, the best of some rounds.

    python bench/decode_json.py [--records 60000] [--rounds 9]

Read the figures as ratios to the clean block of the same run; the outcome of every block is checked before it is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time

import pyarrow as pa

from penstock.decode.json import JsonDecoder
from penstock.decode.model import Boolean, Decimal, Field, Float, Integer, Map, String, Struct, Timestamp
from penstock.records import Values

PAYMENT = Struct(
    (
        Field("payment_id", String(), nullable=False),
        Field("user_id", Integer(64)),
        Field("merchant", String()),
        Field("amount", Float(64)),
        Field("currency", String()),
        Field("created_at", Timestamp()),
        Field("country", String()),
        Field("card_present", Boolean()),
    )
)
EXACT = Struct((*PAYMENT.fields[:3], Field("amount", Decimal(12, 2)), *PAYMENT.fields[4:]))
TAGGED = Struct((*PAYMENT.fields, Field("tags", Map(String()))))


def payment(number: int, chance: random.Random) -> bytes:
    """A payment of about 209 bytes."""
    value = {
        "payment_id": f"pay-{number:012d}-{chance.getrandbits(32):08x}",
        "user_id": chance.randrange(10**7),
        "merchant": f"merchant-{chance.randrange(10**5):06d}",
        "amount": round(chance.random() * 1000, 2),
        "currency": chance.choice(["EUR", "USD", "GBP"]),
        "created_at": f"2026-11-18T{number % 24:02d}:{number % 60:02d}:{number % 59:02d}.{chance.randrange(10**6):06d}Z",
        "country": chance.choice(["DE", "FR", "US"]),
        "card_present": chance.random() < 0.5,
    }
    return json.dumps(value, separators=(",", ":")).encode()


FAULTS = (
    lambda good: good.replace(b'"user_id":', b'"user_id":"x","y":'),
    lambda good: good[:-9],
    lambda good: b"",
    lambda good: good + good,
    lambda good: good.replace(b"2026-11-18T", b"18.11.2026 "),
    lambda good: b"\xff" + good,
    lambda good: b"not json at all",
    lambda good: good.replace(b'"payment_id"', b'"id"'),
)


def block(records: int, share: float, *, kind: int | None = None) -> tuple[Values, int]:
    """Payments of which a share is malformed, in all ways or in one; and how many are."""
    chance, values, faults = random.Random(1), [], 0
    for number in range(records):
        value = payment(number, chance)
        if chance.random() < share:
            value, faults = FAULTS[faults % len(FAULTS) if kind is None else kind](value), faults + 1
        values.append(value)
    return Values.from_arrow(pa.array(values, pa.binary())), faults


def cost(decoder: JsonDecoder, values: Values, faults: int, *, rounds: int) -> float:
    """Microseconds of CPU a record, the best round; a block that decodes to other counts stops the program."""
    decoded = decoder.decode(values)
    if (len(decoded.faults), decoded.rows.num_rows) != (faults, len(values) - faults):
        raise SystemExit(f"{len(decoded.faults)} faults and {decoded.rows.num_rows} rows where {faults} of {len(values)} are malformed")
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        decoder.decode(values)
        best = min(best, time.process_time() - began)
    return best / len(values) * 1e6


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--records", type=int, default=60_000)
    options.add_argument("--rounds", type=int, default=9)
    chosen = options.parse_args()
    decoder = JsonDecoder(PAYMENT)
    clean, none = block(chosen.records, 0)
    print(f"{len(clean.data) / chosen.records:.0f} bytes a record, load {os.getloadavg()[0]:.1f}")
    base = cost(decoder, clean, none, rounds=chosen.rounds)
    print(f"{'clean':36s} {base:6.2f} µs")
    cases: list[tuple[str, JsonDecoder, Values, int]] = [
        ("amount DECIMAL(12,2)", JsonDecoder(EXACT), clean, 0),
        ("and a MAP, absent", JsonDecoder(TAGGED), clean, 0),
    ]
    cases += [(f"{share:.2%} faults of every kind", decoder, *block(chosen.records, share)) for share in (0.0001, 0.001, 0.01, 0.1, 0.5, 1)]
    cases += [(f"1 % faults of kind {kind}", decoder, *block(chosen.records, 0.01, kind=kind)) for kind in range(len(FAULTS))]
    cases += [(f"only faults of kind {kind}", decoder, *block(chosen.records, 1, kind=kind)) for kind in range(len(FAULTS))]
    for name, one, values, faults in cases:
        took = cost(one, values, faults, rounds=chosen.rounds)
        print(f"{name:36s} {took:6.2f} µs   {base / took:4.0%} of the clean speed")


if __name__ == "__main__":
    main()
