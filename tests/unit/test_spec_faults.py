"""Every kind of fault in a pipeline's file: its path, its line, what is wrong and the remedy, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.builtin import KINDS
from penstock.errors import SpecError
from penstock.spec import Surroundings, load

VALID = """\
name: payments
kafka:
  servers: kafka-1:9092
source:
  topics: [payments]
  start: earliest
trigger: every 10 seconds
decode: {type: json, schema: "id BIGINT"}
transform:
  - {type: filter, where: "id > 0"}
sink: {type: delta, path: lake/payments}
state: state/payments
"""


def faults(tmp_path: Path, old: str = "", new: str = "", *overrides: str) -> str:
    """What is said of the valid file once `old` in it has become `new`."""
    assert old in VALID
    file = tmp_path / "pipeline.yaml"
    file.write_text(VALID.replace(old, new, 1))
    with pytest.raises(SpecError) as caught:
        load(file, KINDS, overrides, surroundings=Surroundings({}))
    return "\n".join(str(caught.value).replace(str(tmp_path), "<here>").splitlines()[1:])


def test_the_valid_file_is_valid(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(VALID)
    spec = load(tmp_path / "pipeline.yaml", KINDS)
    assert (spec.name, spec.source.topics, spec.sink.kind, spec.directory) == ("payments", ("payments",), "delta", str(tmp_path))


KEYS = {
    "a near miss of a key": (
        ("  topics:", "  topcis:"),
        "  line 4: source.topics: is missing\n"
        "      add it: the topics, by name\n"
        "  line 5: source.topcis: there is no such key here\n"
        "      did you mean `topics`?",
    ),
    "a key with the wrong separator": (
        ("trigger:", "Dead-Letters: {}\ntrigger:"),
        "  line 7: Dead-Letters: there is no such key here\n      did you mean `dead_letters`?",
    ),
    "a key that is like no other": (
        ("state:", "colour: red\nstate:"),
        "  line 12: colour: there is no such key here\n      known here: name, kafka, source, trigger, rate, decode, transform, sink, dead_letters, state",
    ),
    "a key inside a block of a kind": (
        ("where:", "wher:"),
        "  line 10: transform[0].where: is missing\n"
        '      add it: a Spark SQL expression over the row: "amount > 0"\n'
        "  line 10: transform[0].wher: there is no such key here\n"
        "      did you mean `where`?",
    ),
    "the same key twice": (
        ("state:", "state: here\nstate:"),
        "  line 12: state: `state` stands here and again on line 13\n      keep one of the two",
    ),
    "a block that is missing": (
        ("kafka:\n  servers: kafka-1:9092\n", ""),
        "  kafka: is missing\n      add it: the Kafka cluster",
    ),
    "a key of a later version": (
        ("  topics:", "  pattern: tenant-.*\n  topics:"),
        "  line 5: source.pattern: this version of Penstock does not have `pattern` yet\n      name the topics instead: topics: [payments]",
    ),
    "the names of the model are no keys of the file": (
        ("state:", "directory: /tmp\norigins: {}\nstate:"),
        "  line 12: directory: there is no such key here\n"
        "      known here: name, kafka, source, trigger, rate, decode, transform, sink, dead_letters, state\n"
        "  line 13: origins: there is no such key here\n"
        "      known here: name, kafka, source, trigger, rate, decode, transform, sink, dead_letters, state",
    ),
}

TYPES = {
    "a number where text belongs": (("name: payments", "name: 12"), '  line 1: name: must be text, not `12`\n      write it in quotes: "12"'),
    "nothing where text belongs": (("name: payments", "name:"), "  line 1: name: must be text, not nothing\n      write it as plain text"),
    "a list where text belongs": (("name: payments", "name: [a]"), "  line 1: name: must be text, not a list\n      write it as plain text"),
    "text where a list belongs": (
        ("topics: [payments]", "topics: payments"),
        '  line 5: source.topics: must be a list, not `payments`\n      write it in brackets: ["payments"]',
    ),
    "a block where a list belongs": (
        ("topics: [payments]", "topics: {a: b}"),
        "  line 5: source.topics: must be a list, not a block\n      write `[a, b]`, or one `- ` line each",
    ),
    "text where a block belongs": (
        ("kafka:\n  servers: kafka-1:9092", "kafka: kafka-1:9092"),
        "  line 2: kafka: must be a block of `key: value` lines, not `kafka-1:9092`\n      indent its keys below it",
    ),
    "nothing where a block belongs": (
        ("kafka:\n  servers: kafka-1:9092", "kafka:"),
        "  line 2: kafka: must be a block of `key: value` lines, not nothing\n      indent its keys below it",
    ),
    "text where a number belongs": (
        ("state:", 'rate: {records_per_batch: "1000"}\nstate:'),
        "  line 12: rate.records_per_batch: must be a whole number, not `1000`\n      write digits only, without quotes, separators or a unit",
    ),
    "a number with a unit": (
        ("state:", "rate: {records_per_batch: 500k}\nstate:"),
        "  line 12: rate.records_per_batch: must be a whole number, not `500k`\n      write digits only, without quotes, separators or a unit",
    ),
    "a truth where a number belongs": (
        ("state:", "rate: {records_per_batch: true}\nstate:"),
        "  line 12: rate.records_per_batch: must be a whole number, not true\n      write digits only, without quotes, separators or a unit",
    ),
    "a number below the least": (
        ("state:", "rate: {records_per_batch: 0}\nstate:"),
        "  line 12: rate.records_per_batch: must be 1 or more, not `0`\n      write a number of 1 or more",
    ),
    "a number above the most": (
        ("state:", "rate: {records_per_batch: 1000000001}\nstate:"),
        "  line 12: rate.records_per_batch: must be 1,000,000,000 or less, not `1000000001`\n      write a number of 1,000,000,000 or less",
    ),
    "a word that is not among the choices": (
        ("  start:", "  on_gap: stpo\n  start:"),
        "  line 6: source.on_gap: must be stop, not `stpo`\n      did you mean `stop`?",
    ),
    "a choice that is not built yet": (
        ("  start:", "  on_gap: record\n  start:"),
        "  line 6: source.on_gap: this version of Penstock does not record gaps yet\n      write on_gap: stop",
    ),
    "an empty list": (("[payments]", "[]"), "  line 5: source.topics: is empty\n      fill it in, or leave the whole key out"),
    "empty text": (("state/payments", '""'), "  line 12: state: is empty\n      fill it in, or leave the whole key out"),
    "a very long value is cut": (
        ("start: earliest", f"on_gap: {'x' * 200}"),
        f"  line 6: source.on_gap: must be stop, not `{'x' * 60}…`\n      known here: stop",
    ),
}

KINDS_OF_BLOCKS = {
    "no type": (
        ("{type: delta, path: lake/payments}", "{path: lake/payments}"),
        "  line 11: sink: `type` is missing\n      choose one: type: delta, type: console",
    ),
    "no block": (
        ("{type: delta, path: lake/payments}", "delta"),
        "  line 11: sink: must be a block that begins with `type:`, not `delta`\n      choose one: type: delta, type: console",
    ),
    "a near miss of a type": (("type: delta", "type: dleta"), "  line 11: sink.type: there is no sink `dleta`\n      did you mean `delta`?"),
    "an unknown type": (("type: delta", "type: mysql"), "  line 11: sink.type: there is no sink `mysql`\n      known here: delta, console"),
    "a type of a later version": (
        ("type: delta", "type: kafka"),
        "  line 11: sink.type: this version of Penstock does not have the sink `kafka` yet\n      known here: delta, console",
    ),
    "an unknown decoder": (("type: json", "type: jsno"), "  line 8: decode.type: there is no decoder `jsno`\n      did you mean `json`?"),
    "a list of steps that is none": (
        ('\n  - {type: filter, where: "id > 0"}', " {type: filter}"),
        "  line 9: transform: must be a list, not a block\n      write `[a, b]`, or one `- ` line each",
    ),
    "a step that is no block": (
        ('{type: filter, where: "id > 0"}', "id > 0"),
        "  line 10: transform[0]: must be a block that begins with `type:`, not `id > 0`\n      choose one: type: filter, type: select, type: sql",
    ),
    "an empty expression": (
        ('"id > 0"', '" "'),
        "  line 10: transform[0].where: is empty\n      write a Spark SQL expression, or leave the step out",
    ),
    "a mode of a later version": (
        ("path: lake/payments", "path: lake/payments, mode: upsert, key: [id]"),
        "  line 11: sink.mode: this version of Penstock does not have the mode `upsert` yet\n"
        "      write mode: append\n"
        "  line 11: sink.key: this version of Penstock does not have `key` yet\n"
        "      leave it out: rows are appended",
    ),
    "a catalog table": (
        ("path: lake/payments", "table: lake.payments"),
        "  line 11: sink.path: is missing\n"
        "      add it: the table's directory or URI; it is created if it is not there\n"
        "  line 11: sink.table: this version of Penstock does not have `table` yet\n"
        "      name the table by its path: path: lake/payments",
    ),
}

VALUES = {
    "a name with capitals": (
        ("name: payments", "name: Payments"),
        "  line 1: name: `Payments` is no name for a pipeline\n"
        "      use up to 63 lower-case letters, digits, `-` and `_`, beginning with a letter or digit: payments",
    ),
    "a topic that Kafka would refuse": (
        ("[payments]", "[payments, pay ments, ..]"),
        "  line 5: source.topics[1]: `pay ments` is no name that Kafka gives a topic\n"
        "      a topic has up to 249 letters, digits, `.`, `_` and `-`; a pattern cannot stand here\n"
        "  line 5: source.topics[2]: `..` is no name that Kafka gives a topic\n"
        "      a topic has up to 249 letters, digits, `.`, `_` and `-`; a pattern cannot stand here",
    ),
    "a topic named twice": (("[payments]", "[a, b, a]"), "  line 5: source.topics: `a` is named twice\n      name each topic once"),
    "a server without a port": (("kafka-1:9092", "kafka-1"), "  line 3: kafka.servers: `kafka-1` has no port\n      add it: kafka-1:9092"),
    "a server with a scheme": (
        ("kafka-1:9092", "kafka://kafka-1:9092"),
        "  line 3: kafka.servers: `kafka://kafka-1:9092` begins with a scheme\n      leave the scheme out: kafka-1:9092",
    ),
    "a port that is none": (
        ("kafka-1:9092", "kafka-1:90922"),
        "  line 3: kafka.servers: `90922` in `kafka-1:90922` is no port\n      a port is a number from 1 to 65535, usually 9092",
    ),
    "a host that is none": (
        ("kafka-1:9092", "ka fka:9092"),
        "  line 3: kafka.servers: `ka fka` in `ka fka:9092` is no host name\n      write host:port, an IPv6 address in brackets: [::1]:9092",
    ),
    "several servers, each with its fault": (
        ("kafka-1:9092", "a, b:9092,, c:0"),
        "  line 3: kafka.servers: `a` has no port\n"
        "      add it: a:9092\n"
        "  line 3: kafka.servers: a server's address is empty\n"
        "      separate addresses by one comma: kafka-1:9092,kafka-2:9092\n"
        "  line 3: kafka.servers: `0` in `c:0` is no port\n"
        "      a port is a number from 1 to 65535, usually 9092",
    ),
    "a trigger that is none": (
        ("every 10 seconds", "10s"),
        "  line 7: trigger: `10s` is no trigger\n      write `every 10 seconds` (or milliseconds, minutes, hours), `continuously` or `until caught up`",
    ),
    "a trigger of no time": (
        ("every 10 seconds", "every 0 seconds"),
        "  line 7: trigger: `every 0 seconds` is no trigger\n"
        "      write `every 10 seconds` (or milliseconds, minutes, hours), `continuously` or `until caught up`",
    ),
    "a start that is none": (
        ("start: earliest", "start: begin"),
        "  line 6: source.start: `begin` is no place to start\n"
        "      write earliest, latest, a time with its offset (2026-11-01T00:00:00Z) or offsets: {payments: {0: 1500, 1: latest}}",
    ),
    "a time without an offset": (
        ("start: earliest", "start: 2026-11-01T00:00:00"),
        "  line 6: source.start: `2026-11-01T00:00:00` does not say how far from UTC it is\n"
        "      add it: 2026-11-01T00:00:00Z for UTC, or for example 2026-11-01T00:00:00+02:00",
    ),
    "a day that no calendar has": (
        ("start: earliest", "start: 2026-02-30T00:00:00Z"),
        "  line 6: source.start: `2026-02-30T00:00:00Z` is no place to start\n"
        "      write earliest, latest, a time with its offset (2026-11-01T00:00:00Z) or offsets: {payments: {0: 1500, 1: latest}}",
    ),
    "offsets that are none": (
        ("start: earliest", "start: {payments: {0: -1, one: 5, 2: begin}}"),
        "  line 6: source.start.payments.0: `-1` is no offset\n"
        "      write a number from 0, earliest or latest\n"
        "  line 6: source.start.payments.one: `one` is no partition\n"
        "      partitions are numbered from 0\n"
        "  line 6: source.start.payments.2: `begin` is no offset\n"
        "      write a number from 0, earliest or latest",
    ),
    "offsets of a topic that is not read": (
        ("start: earliest", "start: {payment: {0: 1}}"),
        "  line 6: source.start.payment: `payment` is not among the topics\n      did you mean `payments`?",
    ),
    "a topic without partitions": (
        ("start: earliest", "start: {payments: 5}"),
        "  line 6: source.start.payments: there are no partitions here\n      name each with its offset: {payments: {0: 1500, 1: latest}}",
    ),
    "two things in one place": (
        ("state/payments", "lake/../lake/payments/"),
        "  line 11: sink.path: `lake/payments` is also the place of `state`\n      give each a directory of its own",
    ),
    "a home directory": (
        ("lake/payments", "~/lake"),
        "  line 11: sink.path: `~/lake` begins with `~`, which only a shell expands\n      write ${env:HOME}/lake",
    ),
    "a schema file that is not there": (
        ('"id BIGINT"', "schemas/payment.json"),
        "  line 8: decode.schema: `schemas/payment.json`: there is no such file\n      looked for <here>/schemas/payment.json",
    ),
}


SCHEMAS = {
    "a type that is none": (
        ('"id BIGINT"', '"id BIGNIT"'),
        "  line 8: decode.schema: column 4: expected a type, found 'BIGNIT'\n"
        "      one of STRING, BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), DATE, TIMESTAMP, BINARY, ARRAY<…>, "
        "MAP<STRING, …> or STRUCT<…>",
    ),
    "a schema that is no text": (
        ('"id BIGINT"', "{id: BIGINT}"),
        "  line 8: decode.schema: must be text, not a block\n      write it as plain text",
    ),
    "an epoch that fits no field": (
        ('"id BIGINT"', '"id BIGINT, at TIMESTAMP", epochs: {at: millis, on: seconds}'),
        "  line 8: decode.epochs: `at`: 'millis' is no unit of an epoch\n"
        "      one of seconds, milliseconds, microseconds, nanoseconds\n"
        "  line 8: decode.epochs: `on`: the schema has no TIMESTAMP of that path\n"
        "      name a timestamp field, nested ones with dots",
    ),
    "a key of a later decoder": (
        ('"id BIGINT"', '"id BIGINT", rescue_column: rest'),
        "  line 8: decode.rescue_column: this version of Penstock does not have `rescue_column` yet\n"
        "      leave it out: unknown_fields says what becomes of other keys",
    ),
}

FAULTS = SCHEMAS | KEYS | TYPES | KINDS_OF_BLOCKS | VALUES


@pytest.mark.parametrize(("change", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_said_with_path_line_and_remedy(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    assert faults(tmp_path, *change) == message


def test_every_fault_is_said_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text("name: X\nkafka: {}\nsource: {topics: a, start: 5}\ntrigger: now\ndecode: {type: xml}\nsink: {type: delta}\nstate: 1\nflows: []\n")
    with pytest.raises(SpecError) as caught:
        load(file, KINDS)
    assert [(fault.line, fault.path) for fault in caught.value.faults] == [
        (1, "name"),
        (2, "kafka.servers"),
        (3, "source.topics"),
        (3, "source.start"),
        (4, "trigger"),
        (5, "decode.type"),
        (6, "sink.path"),
        (7, "state"),
        (8, "flows"),
    ]


def test_a_topic_with_dots_is_quoted_in_the_path_of_its_fault(tmp_path: Path) -> None:
    message = faults(tmp_path, "topics: [payments]\n  start: earliest", "topics: [a.b]\n  start: {a.b: {0: x}}")
    assert message == '  line 6: source.start."a.b".0: `x` is no offset\n      write a number from 0, earliest or latest'


def test_a_fault_in_a_schema_file_names_the_file_and_the_place_in_it(tmp_path: Path) -> None:
    (tmp_path / "payment.json").write_text('{"type": "object", "properties": {"id": {"type": "strng"}}}')
    (tmp_path / "payment.ddl").write_text("id BIGINT,\n  amount\n")
    said = faults(tmp_path, '"id BIGINT"', "payment.json").splitlines()[0]
    assert said == "  line 8: decode.schema: payment.json: `/properties/id/type`: a column has exactly one type"
    said = faults(tmp_path, '"id BIGINT"', "payment.ddl").splitlines()[0]
    assert said.startswith("  line 8: decode.schema: payment.ddl: line ")
    said = faults(tmp_path, "", "", "decode.schema=payment.json").splitlines()[0]
    assert said == "  decode.schema: payment.json: `/properties/id/type`: a column has exactly one type (from --set)"
