"""What the decode contract says of JSON, clause by clause (docs/contracts/decode.md)."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from harness.json_blocks import of, outcomes, value_of
from penstock.decode.ddl import parse_ddl
from penstock.decode.faults import ErrorClass
from penstock.decode.json import JsonDecoder
from penstock.decode.model import Decimal as DecimalType
from penstock.decode.model import Field, String, Struct
from penstock.errors import SpecError
from penstock.records import Decoded, RecordFault, Values

PAYMENT = "id STRING NOT NULL, user BIGINT, amount DOUBLE, at TIMESTAMP, ok BOOLEAN"
GOOD = b'{"id":"p-1","user":7,"amount":1.5,"at":"2026-11-18T12:00:00.5+01:00","ok":true}'
NOON = int(datetime.datetime(2026, 11, 18, 12, tzinfo=datetime.timezone.utc).timestamp()) * 1_000_000
ROW = {"id": "p-1", "user": 7, "amount": 1.5, "at": NOON - 3_600_000_000 + 500_000, "ok": True}


def block(*values: bytes | None) -> Values:
    return Values.from_arrow(pa.array(values, pa.binary()))


def classes(found: list[Any]) -> list[str]:
    return [outcome.error_class if isinstance(outcome, RecordFault) else "row" for outcome in found]


def micros(text: str) -> int:
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1)


def test_each_value_becomes_one_row_or_one_fault_and_a_null_neither() -> None:
    found = outcomes(JsonDecoder(parse_ddl(PAYMENT)), [GOOD, None, b"{", GOOD, None])
    assert found == [ROW, None, RecordFault(2, "malformed_json", "the JSON ends too early, or a surrogate stands alone"), ROW, None]


def test_rows_carry_their_place_in_the_block_and_none_where_every_value_is_a_row() -> None:
    decoder = JsonDecoder(parse_ddl(PAYMENT))
    assert decoder.decode(block(GOOD, GOOD)).indexes is None
    indexes = decoder.decode(block(b"x", GOOD, None, GOOD)).indexes
    assert indexes is not None
    assert indexes.tolist() == [1, 3]


@pytest.mark.parametrize("values", [[], [None], [None, None]])
def test_a_block_without_values_is_no_rows_and_no_faults(values: list[bytes | None]) -> None:
    decoded = JsonDecoder(parse_ddl(PAYMENT)).decode(block(*values))
    assert (decoded.rows.num_rows, decoded.rows.schema.names, decoded.faults) == (0, ["id", "user", "amount", "at", "ok"], ())


def test_the_bytes_of_the_values_are_left_as_they_were() -> None:
    values = [GOOD, b"{", b"", b"\xff", None, GOOD + GOOD]
    given = block(*values)
    JsonDecoder(parse_ddl(PAYMENT)).decode(given)
    assert [given[index] for index in range(len(values))] == [value or b"" for value in values]


def test_whatever_stands_between_the_values_does_not_matter() -> None:
    plain = block(GOOD, b"x", GOOD)
    for separator in (0, 0x0A, 0x22, 0x5B, 0x5C, 0x80, 0xFF):
        data = plain.data.copy()
        data[plain.ends] = data[0] = separator
        data = np.concatenate([data, np.full(9, separator, np.uint8)])
        decoded = JsonDecoder(parse_ddl(PAYMENT)).decode(Values(data, plain.ends))
        assert (decoded.rows.num_rows, [fault.index for fault in decoded.faults]) == (2, [1])


def test_a_block_that_may_not_be_written_to_is_decoded_as_well() -> None:
    given = block(GOOD, GOOD)
    given.data.setflags(write=False)
    assert JsonDecoder(parse_ddl(PAYMENT)).decode(given).rows.num_rows == 2


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "the value is empty"),
        (b" \r\n\t", "the value is empty"),
        (b'{"id":"a",}', "not JSON at byte 10"),
        (b'{"id":"a"} x', "not JSON at byte 12"),
        (GOOD + GOOD, "not JSON at byte 80"),
        (GOOD + b" " + GOOD, "not JSON at byte 81"),
        (GOOD + b"," + GOOD, "not JSON at byte 80"),
        (GOOD + b"],[" + GOOD, "not JSON at byte 80"),
        (b"{'id':'a'}", "not JSON at byte 1"),
        (b'{"amount":NaN}', "not JSON at byte 10"),
        (b'{"amount":-Infinity}', "not JSON at byte 11"),
        (b'{"amount":01}', "not JSON at byte 11"),
        (b'{"amount":+1}', "not JSON at byte 10"),
        (b'{"amount":.5}', "not JSON at byte 10"),
        (b'{"amount":1.}', "not JSON at byte 12"),
        (b'{"id":"a\nb"}', "not JSON at byte 8"),
        (b'{"id":"\\x"}', "not JSON at byte 8"),
        (b'{"id":"a"/**/}', "not JSON at byte 9"),
        (b'\xef\xbb\xbf{"id":"a"}', "not JSON at byte 0"),
        (b'{"id":"a"', "the JSON ends too early, or a surrogate stands alone"),
    ],
)
def test_what_is_not_one_document_by_rfc_8259_is_malformed(value: bytes, reason: str) -> None:
    assert of(PAYMENT, GOOD, value, GOOD) == [ROW, RecordFault(1, "malformed_json", reason), ROW]


@pytest.mark.parametrize("value", [b' {"id":"a"} ', b'{\n  "id" : "a"\r\n}\n', b'\t{"id":"\\u0061"}'])
def test_blanks_and_line_ends_around_and_within_a_document_are_nothing(value: bytes) -> None:
    assert of("id STRING", value) == [{"id": "a"}]


@pytest.mark.parametrize("value", [b'{"id":"\xff"}', b'{"z":"\xff"}', b'{"\xc3":1}', b'{"z":{"y":["\xed\xa0\x80"]}}', b'{"id":"\xc0\xaf"}', b'{"id":"a"}\x80'])
def test_bytes_that_are_not_utf_8_are_a_fault_in_ignored_fields_too(value: bytes) -> None:
    assert classes(of("id STRING", b'{"id":"\xc3\xa4"}', value, '{"id":"日本"}'.encode())) == ["row", "invalid_utf8", "row"]


@pytest.mark.parametrize("text", ["\\ud800", "\\udc00", "\\ud83dx", "\\ud83d\\u0041", "\\ude00\\ud83d"])
@pytest.mark.parametrize("name", ["id", "z"])
def test_half_a_surrogate_pair_is_a_fault_in_ignored_fields_too(name: str, text: str) -> None:
    assert classes(of("id STRING", f'{{"{name}":"{text}"}}'.encode())) == ["malformed_json"]


def test_a_whole_surrogate_pair_is_one_sign() -> None:
    assert value_of("STRING", '"\\ud83d\\ude00"') == "😀"


@pytest.mark.parametrize("value", [b"null", b"[]", b'[{"id":"a"}]', b'"x"', b"1", b"true"])
def test_a_document_that_is_no_object_is_a_fault(value: bytes) -> None:
    assert classes(of("id STRING", value)) == ["not_an_object"]


def test_fields_are_found_by_their_exact_name_in_any_order() -> None:
    assert of("id STRING, `a b` INT, ключ INT", '{"ключ":3,"ID":"x","\\u0061 b":2,"id":"y"}'.encode()) == [{"id": "y", "a b": 2, "ключ": 3}]


def test_an_undeclared_key_is_ignored_or_a_fault_at_every_depth() -> None:
    values = [b'{"id":"a","z":[{}]}', b'{"who":{"a":1,"z":2}}', b'{"all":[{"a":1},{"z":2}]}', b'{"who":{"a":1}}']
    ddl = "id STRING, who STRUCT<a: INT>, all ARRAY<STRUCT<a: INT>>"
    assert classes(of(ddl, *values)) == ["row"] * 4
    found = of(ddl, *values, unknown_fields="fault")
    assert classes(found) == ["unknown_field", "unknown_field", "unknown_field", "row"]
    assert found[2] == RecordFault(2, "unknown_field", "all[1]: the object has a field that is not declared")


@pytest.mark.parametrize("first", ["1", "null", '"x"', "[[1]]", "1e999"])
def test_of_a_repeated_key_the_last_value_alone_counts(first: str) -> None:
    ddl = "a INT, s STRUCT<b: INT, c: INT>, m MAP<STRING, INT>"
    value = f'{{"a":{first},"s":{{"c":1}},"s":{{"b":{first},"b":3}},"m":{{"k":{first},"k":4}},"a":2}}'
    assert of(ddl, value.encode(), b"{}") == [{"a": 2, "s": {"b": 3, "c": None}, "m": [("k", 4)]}, {"a": None, "s": None, "m": None}]


def test_of_a_repeated_key_the_last_value_counts_even_if_it_is_the_wrong_one() -> None:
    assert classes(of("a INT NOT NULL", b'{"a":1,"a":"x"}', b'{"a":1,"a":null}')) == ["type_mismatch", "null_value"]


def test_absent_and_null_are_null_in_a_nullable_field_and_faults_in_another() -> None:
    ddl = "a INT, b INT NOT NULL, s STRUCT<c: INT NOT NULL>"
    assert of(ddl, b'{"b":1}', b'{"a":null,"b":1,"s":null}') == [{"a": None, "b": 1, "s": None}] * 2
    assert of(ddl, b"{}", b'{"b":null}', b'{"b":1,"s":{}}', b'{"b":1,"s":{"c":null}}') == [
        RecordFault(0, "missing_field", "b: the field is missing"),
        RecordFault(1, "null_value", "b: null, though declared NOT NULL"),
        RecordFault(2, "missing_field", "s.c: the field is missing"),
        RecordFault(3, "null_value", "s.c: null, though declared NOT NULL"),
    ]


@pytest.mark.parametrize(
    ("ddl", "literal"),
    [
        *[("STRING", literal) for literal in ("1", "true", "{}", "[]")],
        *[("BOOLEAN", literal) for literal in ('"true"', "1", "0", "[]")],
        *[(number, literal) for number in ("INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(10,2)") for literal in ('"12"', "true", "[1]", "{}", '""')],
        *[(time, literal) for time in ("TIMESTAMP", "DATE", "BINARY") for literal in ("1", "true", "[]", "{}")],
        *[("ARRAY<INT>", literal) for literal in ("1", "{}", '"[1]"', '["1"]', "[[1]]")],
        *[("STRUCT<b: INT>", literal) for literal in ("1", "[]", '"{}"', '{"b":"1"}')],
        *[("MAP<STRING, INT>", literal) for literal in ("1", "[]", '{"k":"1"}')],
    ],
)
def test_a_value_of_another_type_than_declared_is_a_fault(ddl: str, literal: str) -> None:
    assert value_of(ddl, literal) == "type_mismatch"


def test_a_fault_names_the_path_of_its_field() -> None:
    ddl = "s STRUCT<`a b`: ARRAY<MAP<STRING, STRUCT<x: INT>>>>"
    (found,) = of(ddl, b'{"s":{"a b":[{},{"secret":{"x":"1"}}]}}')
    assert found == RecordFault(0, "type_mismatch", "s.a b[1][\u2026].x: expected INT, found a string")


@pytest.mark.parametrize(
    ("ddl", "literal", "outcome"),
    [
        ("TINYINT", "-128", -128),
        ("TINYINT", "128", "out_of_range"),
        ("SMALLINT", "32767", 32767),
        ("SMALLINT", "-32769", "out_of_range"),
        ("INT", "2147483647", 2147483647),
        ("INT", "2147483648", "out_of_range"),
        ("BIGINT", "-9223372036854775808", -(2**63)),
        ("BIGINT", "9223372036854775808", "out_of_range"),
        ("BIGINT", "18446744073709551616", "out_of_range"),
        ("BIGINT", "9" * 5000, "out_of_range"),
        ("BIGINT", "-0", 0),
        ("BIGINT", "1.0", "type_mismatch"),
        ("BIGINT", "1e3", "type_mismatch"),
        ("BIGINT", "1.5", "type_mismatch"),
    ],
)
def test_an_integer_is_digits_within_the_range_of_its_type(ddl: str, literal: str, outcome: object) -> None:
    assert value_of(ddl, literal) == outcome


@pytest.mark.parametrize(
    ("ddl", "literal", "outcome"),
    [
        ("DOUBLE", "9007199254740992", 9007199254740992.0),
        ("DOUBLE", "9007199254740993", "inexact_number"),
        ("DOUBLE", "-9007199254740993", "inexact_number"),
        ("DOUBLE", "9007199254740994", 9007199254740994.0),
        ("DOUBLE", "1" + "0" * 22, 1e22),
        ("DOUBLE", "1" + "0" * 23, "inexact_number"),
        ("DOUBLE", "9" * 400, "out_of_range"),
        ("FLOAT", "16777216", 16777216.0),
        ("FLOAT", "16777217", "inexact_number"),
        ("ARRAY<DOUBLE>", "[1,9007199254740993]", "inexact_number"),
        ("MAP<STRING, DOUBLE>", '{"k":9007199254740993}', "inexact_number"),
        ("STRUCT<b: STRUCT<c: FLOAT>>", '{"b":{"c":16777217}}', "inexact_number"),
    ],
)
def test_a_whole_number_goes_into_a_floating_type_only_exactly(ddl: str, literal: str, outcome: object) -> None:
    assert value_of(ddl, literal) == outcome


@pytest.mark.parametrize(
    ("ddl", "literal", "outcome"),
    [
        ("DOUBLE", "0.1", 0.1),
        ("DOUBLE", "9007199254740993.0", 9007199254740992.0),
        ("DOUBLE", "1.7976931348623157e308", 1.7976931348623157e308),
        ("DOUBLE", "1.7976931348623159e308", "out_of_range"),
        ("DOUBLE", "1e400", "out_of_range"),
        ("DOUBLE", "-1e400", "out_of_range"),
        ("DOUBLE", "1e-400", 0.0),
        ("DOUBLE", "-0.0", -0.0),
        ("DOUBLE", "-0", -0.0),
        ("FLOAT", "0.1", float(np.float32(0.1))),
        ("FLOAT", "1.00000005960464477539062501", float(np.nextafter(np.float32(1), np.float32(2)))),
        ("FLOAT", "3.4028235677973367e38", "out_of_range"),
        ("FLOAT", "3.4028235677973366e38", float(np.finfo(np.float32).max)),
        ("FLOAT", "1e39", "out_of_range"),
    ],
)
def test_a_literal_with_a_point_or_an_exponent_takes_the_nearest_value(ddl: str, literal: str, outcome: object) -> None:
    assert repr(value_of(ddl, literal)) == repr(outcome)


@pytest.mark.parametrize(
    ("ddl", "literal", "outcome"),
    [
        ("DECIMAL(10,2)", "1.25", Decimal("1.25")),
        ("DECIMAL(10,2)", "-0.5", Decimal("-0.50")),
        ("DECIMAL(10,2)", "12", Decimal("12.00")),
        ("DECIMAL(10,2)", "1.250", Decimal("1.25")),
        ("DECIMAL(10,2)", "6784.1" + "0" * 60, Decimal("6784.10")),
        ("DECIMAL(10,2)", "12.5e1", Decimal("125.00")),
        ("DECIMAL(10,2)", "1.255", "inexact_number"),
        ("DECIMAL(10,2)", "1.25" + "0" * 60 + "1", "inexact_number"),
        ("DECIMAL(10,2)", "1e-999999999999", "inexact_number"),
        ("DECIMAL(10,2)", "99999999.99", Decimal("99999999.99")),
        ("DECIMAL(10,2)", "100000000", "out_of_range"),
        ("DECIMAL(10,2)", "1e999999999999", "out_of_range"),
        ("DECIMAL(10,2)", "0e999999999999", Decimal("0.00")),
        ("DECIMAL(38,0)", "9" * 38, Decimal("9" * 38)),
        ("DECIMAL(38,38)", "0." + "9" * 38, Decimal("0." + "9" * 38)),
        ("DECIMAL(10,2)", "NaN", "malformed_json"),
        ("DECIMAL(10,2)", '"NaN"', "type_mismatch"),
        ("ARRAY<DECIMAL(5,1)>", "[1.5,null,1.55]", "inexact_number"),
    ],
)
def test_a_decimal_is_exact_or_a_fault(ddl: str, literal: str, outcome: object) -> None:
    assert value_of(ddl, literal) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("2026-11-18T12:00:00Z", NOON),
        ("2026-11-18t12:00:00z", NOON),
        ("2026-11-18 12:00:00.25Z", NOON + 250_000),
        ("2026-11-18T12:00:00+01:30", NOON - 5_400_000_000),
        ("2026-11-18T12:00:00-0130", NOON + 5_400_000_000),
        ("2026-11-18T12:00:00", "invalid_timestamp"),
        ("2026-11-18", "invalid_timestamp"),
        ("2026-11-18T12:00Z", "invalid_timestamp"),
        ("2026-11-18T24:00:00Z", "invalid_timestamp"),
        ("2026-11-18T23:59:60Z", "invalid_timestamp"),
        ("2026-02-29T12:00:00Z", "invalid_timestamp"),
        ("2026-11-18T12:00:00+24:00", "invalid_timestamp"),
        ("2026-11-18T12:00:00 +01:00", "invalid_timestamp"),
        ("2026-11-18T12:00:00Europe/Berlin", "invalid_timestamp"),
        ("", "invalid_timestamp"),
    ],
)
def test_a_timestamp_is_rfc_3339_with_an_offset(text: str, outcome: object) -> None:
    assert value_of("TIMESTAMP", f'"{text}"') == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("2026-11-18T12:00:00.1234567Z", NOON + 123_456),
        ("2026-11-18T12:00:00.999999999999999Z", NOON + 999_999),
        ("1969-12-31T23:59:59.9999999Z", -1),
        ("9999-12-31T23:59:59.9999999Z", micros("9999-12-31T23:59:59.999999Z")),
    ],
)
def test_digits_beyond_the_microsecond_are_cut_toward_the_past(text: str, outcome: int) -> None:
    assert value_of("TIMESTAMP", f'"{text}"') == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("0001-01-01T00:00:00Z", micros("0001-01-01T00:00:00Z")),
        ("0001-01-01T00:00:00+00:01", "out_of_range"),
        ("9999-12-31T23:59:59-00:01", "out_of_range"),
        ("0000-01-01T00:00:00Z", "invalid_timestamp"),
    ],
)
def test_an_instant_lies_in_the_years_1_to_9999_of_utc(text: str, outcome: object) -> None:
    assert value_of("TIMESTAMP", f'"{text}"') == outcome
    assert value_of("ARRAY<TIMESTAMP>", f'[null,"{text}"]') in (outcome, [None, outcome])


@pytest.mark.parametrize(
    ("unit", "literal", "outcome"),
    [
        ("seconds", "1700000000", 1_700_000_000_000_000),
        ("seconds", "1700000000.1234567", 1_700_000_000_123_456),
        ("seconds", "1.7e9", 1_700_000_000_000_000),
        ("milliseconds", "1700000000123", 1_700_000_000_123_000),
        ("milliseconds", "-1", -1000),
        ("microseconds", "1700000000123456", 1_700_000_000_123_456),
        ("nanoseconds", "1700000000123456789", 1_700_000_000_123_456),
        ("nanoseconds", "-1", -1),
        ("seconds", "253402300799.9999999", micros("9999-12-31T23:59:59.999999Z")),
        ("seconds", "253402300800", "out_of_range"),
        ("seconds", "-62135596801", "out_of_range"),
        ("seconds", "1e999999999999", "out_of_range"),
        ("seconds", '"1700000000"', "type_mismatch"),
        ("seconds", '"2026-11-18T12:00:00Z"', "type_mismatch"),
    ],
)
def test_an_epoch_number_is_an_instant_in_its_declared_unit(unit: str, literal: str, outcome: object) -> None:
    assert value_of("TIMESTAMP", literal, epochs={"a": unit}) == outcome


def test_an_epoch_deep_inside_is_read_by_its_unit() -> None:
    found = of("l ARRAY<STRUCT<at: TIMESTAMP, on: TIMESTAMP>>", b'{"l":[{"at":5,"on":"1970-01-01T00:00:00Z"},null]}', epochs={"l.at": "milliseconds"})
    assert found == [{"l": [{"at": 5000, "on": 0}, None]}]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("1970-01-02", 1),
        ("0001-01-01", -719162),
        ("9999-12-31", 2932896),
        ("2026-02-29", "invalid_date"),
        ("2026-2-3", "invalid_date"),
        *[(text, "invalid_date") for text in ("20260203", "2026-02-03T00:00:00Z", "0000-01-01", "")],
    ],
)
def test_a_date_is_iso_8601_in_full(text: str, outcome: object) -> None:
    assert value_of("DATE", f'"{text}"') == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        *[("", b""), ("QQ==", b"A"), ("QUI=", b"AB"), ("QUJD", b"ABC"), ("+/+/", b"\xfb\xff\xbf")],
        *[(text, "invalid_binary") for text in ("QQ", "Q===", "-_-_", "QU JD", "QQ==QQ==")],
    ],
)
def test_binary_is_base64_with_its_padding(text: str, outcome: object) -> None:
    assert value_of("BINARY", f'"{text}"') == outcome


def test_structs_arrays_and_maps_lie_in_each_other_as_declared() -> None:
    ddl = "s STRUCT<l: ARRAY<STRUCT<n: INT>>, m: MAP<STRING, ARRAY<DECIMAL(5,1)>>>, g ARRAY<ARRAY<BIGINT>>"
    value = b'{"s":{"l":[{"n":1},null,{}],"m":{"k":[1.5,null],"":[]}},"g":[[],[1,null],null]}'
    row = {"s": {"l": [{"n": 1}, None, {"n": None}], "m": [("k", [Decimal("1.5"), None]), ("", [])]}, "g": [[], [1, None], None]}
    assert of(ddl, value, b"{}") == [row, {"s": None, "g": None}]


def test_the_first_thing_wrong_from_the_outside_in_and_in_declared_order_is_the_fault() -> None:
    found = of(PAYMENT, b'{"ok":1,"user":"x"', b'{"ok":1,"user":"x"}', b'{"ok":1,"id":"a","user":"x"}', b'{"ok":1,"id":"a","z":"\xff"}', b"[\xff]")
    assert classes(found) == ["malformed_json", "missing_field", "type_mismatch", "invalid_utf8", "invalid_utf8"]
    assert isinstance(found[2], RecordFault)
    assert found[2].reason == "user: expected BIGINT, found a string"


def test_every_fault_has_a_class_of_the_closed_list() -> None:
    assert [each.value for each in ErrorClass] == [
        *["malformed_json", "invalid_utf8", "nested_too_deep", "not_an_object", "unknown_field", "missing_field", "null_value"],
        *["type_mismatch", "out_of_range", "inexact_number", "invalid_timestamp", "invalid_date", "invalid_binary"],
    ]


def test_reasons_quote_nothing_of_the_payload() -> None:
    ddl = "a STRING, b INT, c DOUBLE, d DECIMAL(4,1), e DATE, f TIMESTAMP, g BINARY, h BOOLEAN, i ARRAY<INT>, j MAP<STRING, INT>, k STRUCT<x: INT>"
    secrets = ['"hunter2"', "4242424242424242.5", '{"hunter2":"hunter2"}', '["hunter2"]', "4242424242424242424242", "true"]
    values = [f'{{"{name}":{secret},"hunter2":"hunter2"}}'.encode() for name in "abcdefghijk" for secret in secrets]
    values += [b"hunter2", b'"hunter2"', b'{"hunter2":4242', b'{"hunter2":1}\xff', b'{"a":"\\hunter2"}', b'{"a":"b"}hunter2']
    for unknown in ("ignore", "fault"):
        faults = [outcome for outcome in of(ddl, *values, unknown_fields=unknown) if isinstance(outcome, RecordFault)]
        assert len(faults) > 40
        assert not [fault for fault in faults if "hunter" in fault.reason or "4242" in fault.reason]


@pytest.mark.parametrize("options", [{}, {"unknown_fields": "fault", "epochs": {"at": "seconds"}}])
def test_a_decoder_that_travelled_decides_the_same(options: dict[str, Any]) -> None:
    decoder = JsonDecoder(parse_ddl(PAYMENT), **options)
    travelled = pickle.loads(pickle.dumps(decoder))
    values = [GOOD, b'{"id":"a","at":5}', b'{"id":"a","z":5}']
    assert outcomes(travelled, values) == outcomes(decoder, values)
    assert isinstance(travelled.decode(block(GOOD)), Decoded)


def test_a_schema_made_in_python_is_checked_like_one_from_a_text() -> None:
    with pytest.raises(SpecError) as error:
        JsonDecoder(Struct((Field("a", DecimalType(50, 2)), Field("A", String()), Field('b"', String()), Field("s", Struct(())))))
    assert [(fault.path, fault.what) for fault in error.value.faults] == [
        ("schema.a", "DECIMAL(50,2) cannot be"),
        ("schema", "the name 'b\"' holds a quote, a backslash or a control character"),
        ("schema.s", "there is no field"),
        ("schema.A", "the field is there twice, as 'a'"),
    ]
