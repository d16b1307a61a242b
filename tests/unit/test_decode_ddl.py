"""DDL text to schema: what it declares, and every fault with its place and remedy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.decode.ddl import parse_ddl
from penstock.decode.model import Array, Binary, Boolean, DataType, Date, Decimal, Field, Float, Integer, Map, String, Struct, Timestamp, with_epochs
from penstock.errors import Fault, SpecError


def faults(text: str) -> list[tuple[int | None, str, str]]:
    with pytest.raises(SpecError) as error:
        parse_ddl(text)
    return [(fault.line, fault.what, fault.remedy) for fault in error.value.faults]


def test_the_whole_language_in_one_schema() -> None:
    schema = parse_ddl(
        """id STRING NOT NULL, amount decimal(12, 2), at TIMESTAMP COMMENT 'when, in UTC',
           tags ARRAY<STRING>, who STRUCT<a: INT, b STRING NOT NULL COMMENT "it's"> NOT NULL,
           m MAP<STRING, BIGINT>, `a ``b` array<map<string,array<struct<x:double>>>>"""
    )
    nested = Array(Map(Array(Struct((Field("x", Float(64)),)))))
    assert schema == Struct(
        (
            Field("id", String(), nullable=False),
            Field("amount", Decimal(12, 2)),
            Field("at", Timestamp()),
            Field("tags", Array(String())),
            Field("who", Struct((Field("a", Integer(32)), Field("b", String(), nullable=False))), nullable=False),
            Field("m", Map(Integer(64))),
            Field("a `b", nested),
        )
    )


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        *[(name, Integer(bits)) for name, bits in (("TINYINT", 8), ("byte", 8), ("SMALLINT", 16), ("short", 16), ("INT", 32), ("integer", 32), ("BIGINT", 64))],
        *[("LONG", Integer(64)), ("FLOAT", Float(32)), ("REAL", Float(32)), ("DOUBLE", Float(64)), ("BOOLEAN", Boolean()), ("DATE", Date())],
        *[("BINARY", Binary()), ("TIMESTAMP_LTZ", Timestamp()), ("DECIMAL", Decimal(10, 0)), ("DEC(5)", Decimal(5, 0)), ("NUMERIC(38,38)", Decimal(38, 38))],
    ],
)
def test_each_type_by_each_of_its_names(text: str, type_: DataType) -> None:
    assert parse_ddl(f"a {text}") == Struct((Field("a", type_),))


@pytest.mark.parametrize("name", ["a", "`a b`", "`a``b`", "`1`", "_x1", "`array`", "date_", "`ключ`", "`a.b`"])
def test_a_schema_prints_as_the_ddl_that_declares_it(name: str) -> None:
    schema = parse_ddl(f"{name} STRUCT<{name}: ARRAY<MAP<STRING, DECIMAL(3,1)>>, b: DATE NOT NULL> NOT NULL, c TIMESTAMP")
    assert parse_ddl(schema.ddl) == schema


KNOWN = "one of STRING, BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), DATE, TIMESTAMP, BINARY, ARRAY<…>, MAP<STRING, …> or STRUCT<…>"
AFTER = "after a type come NOT NULL, COMMENT 'text', then a comma and the next field"
NAMED = "write `name TYPE`, an unusual name in backquotes"


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        ("", "column 1: the schema declares no field", "give at least one: `name TYPE`"),
        ("a", "column 2: expected a type, found the end", KNOWN),
        ("a TEXT", "column 3: expected a type, found 'TEXT'", KNOWN),
        ("a VARCHAR(9)", "column 3: expected a type, found 'VARCHAR'", "STRING"),
        ("a TIMESTAMP_NTZ", "column 3: expected a type, found 'TIMESTAMP_NTZ'", "TIMESTAMP: an instant; JSON text must carry its offset"),
        ("user-id INT", "column 5: expected a type, found '-'", "a name with such a sign in it stands in backquotes"),
        ("a INT b INT", "column 7: 'b' does not belong here", AFTER),
        ("a INT NOT", "column 7: 'NOT' does not belong here", AFTER),
        ("a INT,", "column 7: expected a field's name, found the end", NAMED),
        (", a INT", "column 1: expected a field's name, found ','", NAMED),
        ("a INT, b INT, A INT", "column 15: the field 'A' is there twice, as 'a'", "columns differ in more than case: rename one"),
        ("a MAP<INT, INT>", "column 7: the keys of a JSON object are text", "MAP<STRING, type>"),
        ("a MAP<STRING>", "column 13: expected a comma", "MAP<STRING, type>"),
        ("a ARRAY", "column 8: expected <", "ARRAY<type>, MAP<STRING, type>, STRUCT<name: type, …>"),
        ("a ARRAY<INT", "column 12: expected >", "close what was opened"),
        ("a ARRAY<INT>>", "column 13: '>' does not belong here", AFTER),
        ("a STRUCT<>", "column 10: expected a field's name, found '>'", NAMED),
        ("a DECIMAL(39,0)", "column 3: DECIMAL(39,0) cannot be", "a precision of 1 to 38, a scale of 0 to the precision"),
        ("a DECIMAL(x)", "column 11: expected a number of digits", "DECIMAL(precision, scale)"),
        ("a DECIMAL(3", "column 12: expected )", "DECIMAL(precision, scale)"),
        ("a INT COMMENT x", "column 15: COMMENT wants a text", "put it in quotes: COMMENT 'what it means'"),
        ('`a"` INT', "column 1: the name 'a\"' holds a quote, a backslash or a control character", "rename the field where it is produced"),
        ("`` INT", "column 1: the field has no name", "give it one"),
        ("a " + "ARRAY<" * 99 + "INT" + ">" * 99, "column 195: types are nested more than 32 deep", "declare the inner part as STRING"),
    ],
)
def test_a_fault_says_where_what_and_what_to_do(text: str, what: str, remedy: str) -> None:
    assert faults(text) == [(1, what, remedy)]


def test_all_faults_are_told_at_once_in_the_order_of_the_text() -> None:
    text = "a FOO,\n b STRUCT<x: BAR, y: INT, z BAZ>,\n c INT ?, d DECIMAL(50,2), a_b INT, D MAP<INT,\nQUX>"
    assert [(line, what.split(":")[0]) for line, what, _ in faults(text)] == [
        *[(1, "column 3"), (2, "column 14"), (2, "column 29"), (3, "column 8"), (3, "column 13"), (3, "column 43"), (4, "column 1")],
    ]


def test_a_fault_carries_the_path_and_the_file_of_the_schema() -> None:
    with pytest.raises(SpecError) as error:
        parse_ddl("a FOO", path="decode.schema", file="payment.ddl")
    assert error.value.faults == (Fault("decode.schema", 1, "column 3: expected a type, found 'FOO'", KNOWN),)
    assert str(error.value).startswith("payment.ddl: 1 fault\n")


def test_epochs_are_declared_by_path_through_arrays_and_maps() -> None:
    schema = parse_ddl("at TIMESTAMP, `a.b` TIMESTAMP, s STRUCT<l: ARRAY<MAP<STRING, STRUCT<at: TIMESTAMP>>>>")
    changed = with_epochs(schema, {"at": "seconds", "a.b": "nanoseconds", "s.l.at": "milliseconds"})
    assert changed.fields[0].type == Timestamp("seconds")
    assert changed.fields[1].type == Timestamp("nanoseconds")
    assert changed.fields[2].type == Struct((Field("l", Array(Map(Struct((Field("at", Timestamp("milliseconds")),))))),))
    assert changed.ddl == schema.ddl


def test_every_epoch_that_fits_nothing_is_a_fault() -> None:
    with pytest.raises(SpecError) as error:
        with_epochs(parse_ddl("at TIMESTAMP, d DATE, s STRUCT<x: INT>"), {"at": "hours", "d": "seconds", "s.y": "seconds", "s": "seconds"})
    remedy = "name a timestamp field, nested ones with dots"
    assert error.value.faults == (
        Fault("epochs.at", None, "'hours' is no unit of an epoch", "one of seconds, milliseconds, microseconds, nanoseconds"),
        *[Fault(f"epochs.{path}", None, "the schema has no TIMESTAMP of that path", remedy) for path in ("d", "s.y", "s")],
    )


def test_reading_schemas_imports_nothing_heavy() -> None:
    program = (
        "import sys, penstock.decode.ddl, penstock.decode.json_schema; print(sorted({'pyarrow', 'numpy', 'msgspec', 'arro3', 'pyspark'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
