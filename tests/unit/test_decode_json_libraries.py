"""What the decoder builds on: habits of msgspec, arro3 and pyarrow that it needs, or that it must make up for.

If one of these fails after an upgrade, read docs/adr/0003-json-reader.md before anything else.
"""

from __future__ import annotations

import io
from decimal import Decimal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from arro3.io import read_json

from harness.json_blocks import outcomes
from penstock.decode.ddl import parse_ddl
from penstock.decode.json import JsonDecoder, columns


def rows_read(text: bytes) -> int:
    """How many rows arro3 finds in the text; -1 if it refuses."""
    try:
        return sum(pa.record_batch(batch).num_rows for batch in read_json(io.BytesIO(text), pa.schema([("a", pa.int64())])))
    except Exception:
        return -1


@pytest.mark.parametrize("text", [b"{},{}", b'{"a":1},{"a":2}\n', b",{}", b"{},", b"{}\n,{}"])
def test_arro3_refuses_a_comma_between_documents(text: bytes) -> None:
    """The proof that a run of values is one document each rests on this."""
    assert rows_read(text) == -1


@pytest.mark.parametrize(("text", "rows"), [(b'{"x":[1\n2]}\n', 1), (b'{"x":"a\nb"}\n{}\n', 2), (b'{"x":[1,2]}\n{}', 2), (b"{}\n{}\n", 2)])
def test_arro3_sees_the_same_documents_with_line_ends_as_msgspec_with_commas(text: bytes, rows: int) -> None:
    assert rows_read(text) == rows


def test_arro3_counts_rows_even_where_it_reads_no_column() -> None:
    (batch,) = [pa.record_batch(batch) for batch in read_json(io.BytesIO(b'{"a":1}\n{"b":2}\n'), pa.schema([]))]
    assert batch.num_rows == 2


def test_msgspec_names_the_place_of_a_fault() -> None:
    """Only the cost of faults rests on this: without a place runs are halved until they show it."""
    with pytest.raises(msgspec.ValidationError, match=r" - at `\$\[1\]`$"):
        msgspec.json.decode(b"[1,null]", type=list[int])
    with pytest.raises(msgspec.DecodeError, match=r"\(byte 3\)$"):
        msgspec.json.decode(b"[1,}]", type=list[int])


def test_msgspec_overlooks_bad_utf_8_in_what_it_skips() -> None:
    """Why every block is checked for UTF-8 first."""
    assert msgspec.json.decode(b'{"z":"\xff"}', type=msgspec.defstruct("Row", [])) is not None


def test_msgspec_takes_a_whole_number_for_a_float_that_loses_digits() -> None:
    """Why large values in a floating column are looked at twice."""
    assert msgspec.json.decode(b"9007199254740993", type=float) == 2.0**53


def test_msgspec_takes_text_for_a_decimal() -> None:
    """Why decimals are kept as raw text."""
    assert str(msgspec.json.decode(b'"NaN"', type=Decimal)) == "NaN"


def test_arro3_keeps_every_entry_of_a_repeated_key() -> None:
    """Why the keys of a map column are counted."""
    schema = pa.schema([("m", pa.map_(pa.string(), pa.int64()))])
    (batch,) = [pa.record_batch(batch) for batch in read_json(io.BytesIO(b'{"m":{"k":1,"k":2}}'), schema)]
    assert batch.to_pylist() == [{"m": [("k", 1), ("k", 2)]}]


def test_pyarrow_casts_texts_of_at_most_38_digits_to_decimals_exactly_or_not_at_all() -> None:
    """Longer ones it turns into another number without a word (pyarrow 25 and 26): they never get there."""
    literals = ["0." + "9" * 38, "-" + "9" * 38, "1.25", "-0", "0.10"]
    for literal, type_ in zip(literals, [pa.decimal128(38, 38), pa.decimal128(38, 0), *[pa.decimal128(10, 2)] * 3], strict=True):
        assert pc.cast(pa.array([literal]), type_)[0].as_py() == Decimal(literal)
    with pytest.raises(pa.ArrowInvalid):
        pc.cast(pa.array(["1.255"]), pa.decimal128(10, 2))


def test_a_column_reader_that_fails_changes_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = JsonDecoder(parse_ddl("a BIGINT, d DECIMAL(5,1), m MAP<STRING, INT>"))
    values = [b'{"a":1,"d":1.5,"m":{"k":1,"k":2}}', b"x", b'{"a":"x"}', None, b'{"a":2}'] * 100
    expected = outcomes(decoder, values)

    def refusing(*_: object, **__: object) -> object:
        raise Exception("no")

    monkeypatch.setattr(columns, "read_json", refusing)
    assert outcomes(decoder, values) == expected
