"""The payments of the demo: the same for the same seed, of the size and the share of malformed ones that are promised."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.builtin import KINDS
from penstock.demo import payments
from penstock.demo.count import NUMBER, malformed
from penstock.demo.place import RECORDS_IN_FILE, SERVERS_IN_FILE, Place
from penstock.plan.build import build
from penstock.records import Values
from penstock.spec import PipelineSpec, load

COUNT = 50_000


def test_payments_follow_from_seed_and_number_alone() -> None:
    whole = payments.values(0, 1000, seed=7)
    assert whole == payments.values(0, 400, seed=7) + payments.values(400, 600, seed=7)
    assert len({*whole, *payments.values(0, 1000, seed=8)}) == 2000


def test_these_are_the_payments_of_seed_7_for_ever() -> None:
    assert payments.values(3, 1, seed=7) == [
        b'{"payment_id": "payment-000000000003", "account_id": 10040700, "merchant": "pharmacy of Cordoba", "amount": 503.74,'
        b' "currency": "EUR", "country": "PL", "attempt": 2, "created_at": "2026-01-01T00:00:00.112233Z"}'
    ]


def test_a_payment_has_about_209_bytes_in_8_fields() -> None:
    made = payments.values(0, COUNT, seed=1)
    assert 207 < np.mean([len(value) for value in made]) < 211
    assert set(map(len, map(json.loads, (value for value, good in zip(made, well_formed(), strict=True) if good)))) == {8}


def test_one_in_two_hundred_is_malformed_in_each_of_five_ways() -> None:
    faults = Counter(number % len(payments.FAULTS) for number in np.flatnonzero(~well_formed()).tolist())
    assert 0.004 < faults.total() / COUNT < 0.006
    assert set(faults) == set(range(5))


def test_the_decoder_takes_what_is_well_formed_and_nothing_else(tmp_path: Path) -> None:
    options = shipped(tmp_path).decode.options
    decoded = KINDS.decoders["json"].build(options).decode(Values.from_arrow(pa.array(payments.values(0, COUNT, seed=1), pa.binary())))
    assert decoded.indexes.tolist() == np.flatnonzero(well_formed()).tolist()
    assert len(decoded.faults) == COUNT - decoded.rows.num_rows


def test_what_is_expected_is_what_the_text_says() -> None:
    expected, made = payments.expected(0, 500, seed=1), payments.values(0, 500, seed=1)
    assert [round(json.loads(value)["amount"] * 100) for value, good in zip(made, expected.well_formed, strict=True) if good] == expected.cents[
        expected.well_formed
    ].tolist()


def test_the_number_stands_in_the_bytes_of_a_malformed_payment_too() -> None:
    numbers = [int(value[NUMBER]) for value in malformed(COUNT, seed=1)]
    assert numbers == np.flatnonzero(~well_formed()).tolist()


def test_the_file_that_is_shipped_is_a_pipeline_and_has_what_the_demo_replaces(tmp_path: Path) -> None:
    text = files("penstock.demo").joinpath("pipeline.yaml").read_text()
    assert text.count(SERVERS_IN_FILE) == text.count(RECORDS_IN_FILE) == 1
    assert max(map(len, text.splitlines())) <= 78
    spec, place = shipped(tmp_path), Place(tmp_path)
    assert (spec.kafka.servers, spec.rate.records_per_batch, spec.state) == ("127.0.0.1:20001", 77, "state/payments")
    plan = build(spec, KINDS)
    assert plan.state == str(place.state)
    assert [write.options.path for write in plan.flow.writes.values()] == [str(place.table), str(place.dead_letters)]


def shipped(folder: Path) -> PipelineSpec:
    """The pipeline as the demo writes it into its folder."""
    Place(folder).write_pipeline("127.0.0.1:20001", 77)
    return load(Place(folder).pipeline, KINDS)


def well_formed() -> npt.NDArray[np.bool_]:
    return payments.expected(0, COUNT, seed=1).well_formed
