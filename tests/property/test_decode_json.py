"""The JSON decoder against an oracle that shares no code with it.

A sample is a schema and a block of records, from one seed: records that fit, spoiled ones, broken ones, pieces of attacks.
Properties:
1. each record's outcome is the oracle's: the row bit by bit, or the fault's class and path;
2. the outcome is the same in any order and however the block is cut;
3. a decoder without the check (arro3 alone, msgspec alone) does not pass this test: the oracle sees what they get wrong.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from random import Random

import msgspec
import pyarrow as pa
import pytest
from arro3.io import read_json
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.json_blocks import Outcome, disagreement, outcomes, plain
from harness.json_samples import BASE64, BROKEN_TEXTS, DATES, NUMBERS, OTHERS, PIECES, TEXTS, TIMES, Samples
from penstock.decode.arrow import arrow_schema
from penstock.decode.ddl import parse_ddl
from penstock.decode.json import JsonDecoder
from penstock.decode.json.types import row_type
from penstock.decode.model import EPOCH_UNITS, Struct, with_epochs
from penstock.records import RecordFault

SEEDS = st.integers(min_value=0, max_value=2**32)


def examples(number: int) -> settings:
    """So many samples, the same ones in every run; blocks take the time they take."""
    return settings(max_examples=number, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@examples(1500)
@given(schema=SEEDS, records=st.lists(SEEDS, min_size=1, max_size=12))
def test_every_record_gets_the_outcome_that_the_contract_says(schema: int, records: list[int]) -> None:
    declared = Samples(schema).schema()
    block = [Samples(seed).any_record(declared) for seed in records]
    assert disagreement(declared, block, outcomes(JsonDecoder(declared), block)) is None


@examples(150)
@given(seed=SEEDS, share=st.sampled_from([0.0, 0.003, 0.03, 0.3]))
def test_long_blocks_with_any_share_of_faults_get_the_same_outcomes(seed: int, share: float) -> None:
    samples = Samples(seed)
    schema = samples.schema()
    block = [samples.any_record(schema) if samples.chance.random() < share else samples.record(schema, 0).encode("utf-8", "surrogatepass") for _ in range(400)]
    assert disagreement(schema, block, outcomes(JsonDecoder(schema), block)) is None


@examples(300)
@given(seed=SEEDS, length=st.integers(min_value=1, max_value=600))
def test_pieces_of_documents_that_would_fit_together_never_do(seed: int, length: int) -> None:
    chance = Random(seed)
    schema = parse_ddl("x STRING, a STRING")
    rest = [b'{"a":"fine"}'] * chance.choice([0, 3, 30])
    block = [chance.choice(["".join(chance.choices(PIECES, k=chance.randint(1, 2))).encode(), *rest]) for _ in range(length)]
    assert disagreement(schema, block, outcomes(JsonDecoder(schema), block)) is None


@examples(100)
@given(seed=SEEDS)
def test_neither_order_nor_the_cut_of_blocks_changes_an_outcome(seed: int) -> None:
    samples = Samples(seed)
    schema = samples.schema()
    block: list[bytes | None] = [samples.any_record(schema) for _ in range(40)]
    block += [None, b"", samples.record(schema).encode("utf-8", "surrogatepass"), None]
    decoder = JsonDecoder(schema)
    whole = outcomes(decoder, block)
    order = samples.chance.sample(range(len(block)), len(block))
    shuffled = outcomes(decoder, [block[index] for index in order])
    assert [_bare(outcome) for outcome in shuffled] == [_bare(whole[index]) for index in order]
    at = samples.chance.randrange(len(block))
    cut = outcomes(decoder, block[:at]) + outcomes(decoder, block[at:])
    assert [_bare(outcome) for outcome in cut] == [_bare(outcome) for outcome in whole]


PLAIN = ["STRING", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "BINARY"]
EXACT = ["DECIMAL(1,0)", "DECIMAL(10,2)", "DECIMAL(18,18)", "DECIMAL(38,0)", "DECIMAL(38,38)"]


@pytest.mark.parametrize("declared", [*PLAIN, *EXACT, *EPOCH_UNITS])
def test_every_awkward_literal_in_every_type_gets_the_outcome_that_the_contract_says(declared: str) -> None:
    texts = [f'"{text}"' for text in [*TIMES, *DATES, *TEXTS, *BROKEN_TEXTS, *BASE64, *NUMBERS]]
    block = [f'{{"a":{literal}}}'.encode("utf-8", "surrogatepass") for literal in [*NUMBERS, *OTHERS, *texts]]
    schema = parse_ddl("a TIMESTAMP" if declared in EPOCH_UNITS else f"a {declared}")
    schema = with_epochs(schema, {"a": declared}) if declared in EPOCH_UNITS else schema
    assert disagreement(schema, block, outcomes(JsonDecoder(schema), block)) is None
    for value in block:
        assert disagreement(schema, [value], outcomes(JsonDecoder(schema), [value])) is None


def _bare(outcome: Outcome) -> str:
    return f"{outcome.error_class}: {outcome.reason}" if isinstance(outcome, RecordFault) else repr(outcome)


def arro3_alone(schema: Struct, value: bytes) -> Outcome:
    """What the column reader makes of one value by itself."""
    try:
        batches = [pa.record_batch(batch) for batch in read_json(io.BytesIO(value), arrow_schema(schema))]
    except Exception:
        return RecordFault(0, "refused", "")
    return plain(batches[0])[0] if batches else None


def msgspec_alone(schema: Struct, value: bytes) -> Outcome:
    """What the check reads, where it refuses nothing."""
    try:
        row = msgspec.json.decode(value, type=row_type(schema))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return RecordFault(0, "refused", "")
    return {name: getattr(row, f"f{position}") for position, name in enumerate(schema.names)}


@pytest.mark.parametrize("alone", [arro3_alone, msgspec_alone])
def test_a_library_alone_agrees_with_the_oracle_on_plain_records(alone: Callable[[Struct, bytes], Outcome]) -> None:
    schema, value = parse_ddl("a STRING, b BIGINT, c DOUBLE"), b'{"a":"x","b":1,"c":1.5}'
    assert disagreement(schema, [value], [alone(schema, value)]) is None


@pytest.mark.parametrize(
    ("alone", "ddl", "value"),
    [
        (arro3_alone, "a BIGINT", b'{"a":"12"}'),
        (arro3_alone, "a BIGINT", b'{"a":1.5}'),
        (arro3_alone, "a DOUBLE", b'{"a":1e400}'),
        (arro3_alone, "a DECIMAL(10,2)", b'{"a":1.255}'),
        (arro3_alone, "a STRING", b'{"a":"x",}'),
        (arro3_alone, "a STRING", b'{"a":"x"}{"a":"y"}'),
        (arro3_alone, "a STRING", b""),
        (arro3_alone, "a TIMESTAMP", b'{"a":"2026-11-18T12:00:00"}'),
        (arro3_alone, "a MAP<STRING, BIGINT>", b'{"a":{"k":1,"k":2}}'),
        (msgspec_alone, "a DOUBLE", b'{"a":9007199254740993}'),
        (msgspec_alone, "a STRING", b'{"z":"\x80"}'),
        (msgspec_alone, "a DECIMAL(10,2)", b'{"a":"1.5"}'),
    ],
)
def test_the_oracle_sees_what_a_library_alone_gets_wrong(alone: Callable[[Struct, bytes], Outcome], ddl: str, value: bytes) -> None:
    schema = parse_ddl(ddl)
    outcome = alone(schema, value)
    assert not isinstance(outcome, RecordFault)
    assert disagreement(schema, [value], [outcome]) is not None
    assert disagreement(schema, [value], outcomes(JsonDecoder(schema), [value])) is None
