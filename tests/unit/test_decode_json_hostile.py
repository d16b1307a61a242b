"""Values made to break a parser, its memory or its neighbours: each is one row or one fault, and nothing else happens."""

from __future__ import annotations

import subprocess
import sys
import time

import msgspec
import pyarrow as pa
import pytest

from harness.json_blocks import disagreement, of, outcomes
from penstock.decode.ddl import parse_ddl
from penstock.decode.json import JsonDecoder
from penstock.decode.model import Field, Integer, Struct
from penstock.records import RecordFault, Values

DDL = "a BIGINT, l ARRAY<BIGINT>"
GOOD = b'{"a":1}'
ROW = {"a": 1, "l": None}


def alone_and_among(value: bytes, *, ddl: str = DDL) -> object:
    """The outcome of the value, by itself and between good neighbours, who must not notice."""
    (alone,) = of(ddl, value)
    before, among, after = of(ddl, GOOD, value, GOOD)
    assert (before["a"], after["a"]) == (1, 1)  # type: ignore[index]
    if isinstance(alone, RecordFault) and isinstance(among, RecordFault):
        assert (alone.error_class, alone.reason) == (among.error_class, among.reason)
        return alone.error_class
    assert alone == among
    return alone


@pytest.mark.parametrize(
    "value",
    [
        b'{"z":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"l":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"z":' + b'{"z":' * 100_000 + b"1" + b"}" * 100_001,
        b"[" * 100_000 + b"]" * 100_000,
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
    ids=["ignored arrays", "declared arrays", "ignored objects", "no object", "never closed", "objects never closed"],
)
def test_a_value_nested_100_000_deep_is_a_fault(value: bytes) -> None:
    assert alone_and_among(value) == "nested_too_deep"


def test_a_record_may_be_nested_256_deep_and_not_257() -> None:
    def nested(levels: int) -> bytes:
        return b'{"a":1,"z":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"

    assert alone_and_among(nested(256)) == ROW
    assert alone_and_among(nested(257)) == "nested_too_deep"


def test_brackets_in_texts_and_side_by_side_are_not_depth() -> None:
    wide = b"[" + b"[]," * 1000 + b"{}]"
    texts = b'"' + b"[{" * 1000 + b'\\"[' + b"\\\\" + b'"'
    assert alone_and_among(b'{"a":1,"z":' + wide + b',"y":' + texts + b"}") == ROW


def test_who_calls_from_deep_in_the_stack_gets_the_same_answers() -> None:
    deep = b'{"a":1,"z":' + b"[" * 255 + b"]" * 255 + b"}"
    decoder = JsonDecoder(parse_ddl(DDL))

    def call(levels: int) -> object:
        return call(levels - 1) if levels else outcomes(decoder, [deep, b"x", GOOD])

    limit = sys.getrecursionlimit()
    depth, frame = 0, sys._getframe()
    while frame:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    found = call(limit - depth - 120)
    assert [isinstance(outcome, RecordFault) for outcome in found] == [False, True, False]  # type: ignore[attr-defined]
    assert sys.getrecursionlimit() == limit


PAIRS = {
    "an array over two values": [b'{"z":[1', b"2]}"],
    "an object over two values": [b'{"z":{"y":1', b'"x":2}}'],
    "a text over two values": [b'{"z":"x', b'y"}'],
    "two documents, then one over two values": [b"{},{}", b'{"z":[1', b"2]}"],
    "one over two values, then two documents": [b'{"z":[1', b"2]}", b"{},{}"],
    "three documents, then one over three values": [b"{},{},{}", b'{"z":[1', b"[2", b"3]]}"],
    "an empty value, then two documents": [b"", GOOD + GOOD],
    "a bare comma and two documents": [GOOD + b",", GOOD],
    "the end of the block and its beginning": [GOOD + b"],[" + GOOD],
    "only the end of the block": [GOOD + b"]", b"[" + GOOD],
    "the separator's line end": [b"{}\n{}", b'{"z":[1', b"2]}"],
    "a text that turns what follows inside out": [b'{"z":"', b'":1}{}{}{"":"'],
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("repeated", [1, 3, 400])
def test_values_that_only_together_are_documents_are_faults_each(pair: list[bytes], repeated: int) -> None:
    found = of(DDL, GOOD, *pair * repeated, GOOD)
    assert found[0] == found[-1] == ROW
    assert {outcome.error_class for outcome in found[1:-1] if isinstance(outcome, RecordFault)} == {"malformed_json"}
    assert disagreement(parse_ddl(DDL), [*pair * repeated], found[1:-1]) is None


def test_counting_rows_alone_would_not_see_them() -> None:
    values = PAIRS["two documents, then one over two values"]
    assert len(msgspec.json.decode(b"[" + b",".join(values) + b"]", type=list[msgspec.Raw])) == len(values)


def test_values_that_open_and_never_close_do_not_add_up() -> None:
    found = of(DDL, *[b'{"z":' + b"[1," * 200] * 2000, GOOD)
    assert found[-1] == ROW
    assert [outcome.error_class for outcome in found[:-1] if isinstance(outcome, RecordFault)] == ["malformed_json"] * 2000


def test_ten_thousand_poison_records_in_a_row_take_linear_time() -> None:
    kinds = [b"", b"{", b"n", b'"', b'{"a":"x"}', b'{"a":1,}', b'{"z":[1', GOOD + GOOD, b"{},{}", b"\xff", b"[]", b'{"l":[1,{"b":2}]}']
    decoder = JsonDecoder(parse_ddl(DDL))

    def seconds(values: list[bytes]) -> float:
        block = Values.from_arrow(pa.array(values, pa.binary()))
        began = time.process_time()
        decoded = decoder.decode(block)
        assert len(decoded.faults) == len(values)
        return time.process_time() - began

    for kind in [*([kind] * 10 for kind in kinds), kinds]:
        few, many = (min(seconds(kind * times) for _ in range(3)) for times in (100, 1000))
        assert many < 40 * few + 0.01  # ten times as many; a quadratic one would be near a hundred


def test_twenty_thousand_columns_are_columns() -> None:
    schema = Struct(tuple(Field(f"c{position}", Integer(32)) for position in range(20_000)))
    value = ("{" + ",".join(f'"c{position}":{position}' for position in range(20_000)) + "}").encode()
    found = outcomes(JsonDecoder(schema), [value, b"{}", value.replace(b":19999}", b':"x"}'), value])
    assert found[0] == found[3] == {f"c{position}": position for position in range(20_000)}
    assert found[1] == dict.fromkeys(schema.names)
    assert found[2] == RecordFault(2, "type_mismatch", "c19999: expected INT, found a string")


BIG = {
    "text": (b'{"a":1,"s":"', b"x", b'"}', "row", 400),
    "ignored text": (b'{"a":1,"z":"', b"x", b'"}', "row", 400),
    "garbage": (b"", b"x", b"", "malformed_json", 400),
    "blanks": (b"", b" ", b"", "malformed_json", 400),
    "quotes": (b"", b'"', b"", "malformed_json", 400),
    "brackets": (b"", b"[", b"", "nested_too_deep", 400),
    "digits": (b'{"a":', b"9", b"}", "out_of_range", 400),
    "digits of a decimal": (b'{"d":1.', b"0", b"}", "row", 400),
    "a huge exponent": (b'{"d":1e', b"9", b"}", "out_of_range", 400),
    "ignored objects": (b'{"a":1,"z":[', b"{},", b"{}]}", "row", 800),
    "unknown keys": (b"{", b'"z":1,', b'"a":1}', "row", 800),
    "numbers": (b'{"l":[', b"123456,", b"1]}", "row", 800),
}
"""How a value of 50 MB is made, what it becomes, and by how many MB the process may grow."""

PROGRAM = """
import resource, sys
import pyarrow as pa
from penstock.decode.ddl import parse_ddl
from penstock.decode.json import JsonDecoder
from penstock.records import Values
front, part, back = (text.encode() for text in sys.argv[1:4])
value = front + part * (50_000_000 // len(part)) + back
block = Values.from_arrow(pa.array([b'{"a":1}', value, b'{"a":1}'], pa.binary()))
del value
decoder = JsonDecoder(parse_ddl("a BIGINT, s STRING, d DECIMAL(38,2), l ARRAY<BIGINT>"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
decoded = decoder.decode(block)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(decoded.rows.num_rows, [(fault.index, fault.error_class) for fault in decoded.faults], grown // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("front", "part", "back", "outcome", "megabytes"), BIG.values(), ids=BIG)
def test_a_value_of_50_megabytes_is_one_row_or_one_fault_in_bounded_memory(front: bytes, part: bytes, back: bytes, outcome: str, megabytes: int) -> None:
    program = subprocess.run([sys.executable, "-c", PROGRAM, front, part, back], capture_output=True, text=True, check=True, timeout=120)
    rows, rest = program.stdout.split(" ", 1)
    faults, grown = rest.rsplit(" ", 1)
    assert (rows, faults) == (("3", "[]") if outcome == "row" else ("2", f"[(1, '{outcome}')]"))
    assert int(grown) < megabytes
