"""What `penstock plan` says, word for word, on a terminal of 80 columns and as JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from penstock.builtin import KINDS
from penstock.plan.as_json import as_json
from penstock.plan.build import build
from penstock.plan.explain import WIDTH, explain
from penstock.plan.steps import RunPlan
from penstock.spec import Pipeline, Surroundings, load

EXAMPLE = Path(__file__).parents[2] / "examples" / "payments"
BLOCKS: dict[str, Any] = {
    "name": "payments",
    "kafka": {"servers": "kafka-1:9092"},
    "source": {"topics": ["payments"]},
    "decode": {"type": "json", "schema": "id BIGINT"},
    "sink": {"type": "delta", "path": "lake/payments"},
    "state": "state/payments",
}


def example(*overrides: str, surroundings: Surroundings | None = None) -> RunPlan:
    return build(load(EXAMPLE / "pipeline.yaml", KINDS, overrides, surroundings=surroundings or Surroundings({})), KINDS)


def at_home(text: str, folder: Path) -> str:
    """The text with `<here>` for the folder, in its line also where the folder's name is too long for it."""
    return re.sub(r"start from\s+<here>", "start from <here>", text.replace(str(folder), "<here>"))


def test_the_plan_of_the_example() -> None:
    assert at_home(explain(example("rate.records_per_batch=1000")), EXAMPLE) == (
        """\
pipeline payments

  source        topic payments at 127.0.0.1:9092
                first start: earliest
                on a gap: stop (default)
  reader        spark: Spark's Kafka source, committed transactions only
  trigger       every 10 seconds
  rate          at most 1,000 records a batch

  each batch    1  Spark's Kafka source    read
                2  Python in the tasks     decode json by schemas/payment.json
                3  Spark SQL               filter amount > 0
                                           select *, upper(currency) AS currency
                4  Python in the tasks     write rows to delta
                                           write dead letters to delta
                The transform is SQL: rows cross to Spark SQL after decoding,
                and back to be written.

  sink          delta lake/payments, mode append
                exactly-once, atomic per batch
  dead letters  delta lake/payments_dead, mode append
                exactly-once, atomic per batch
  state         state/payments
                relative paths start from <here>

  set outside   kafka.servers           default of ${env:KAFKA_SERVERS}, which
                                        is not set
                rate.records_per_batch  from --set"""
    )


def test_the_plan_of_a_pipeline_without_sql_and_without_dead_letters() -> None:
    built = build(Pipeline(**(BLOCKS | {"source": {"topics": ["a", "b"], "start": {"a": {0: 15, 1: "latest"}}}})).spec(KINDS), KINDS)
    assert at_home(explain(built), Path(__file__).parent) == (
        """\
pipeline payments

  source        topics a, b at kafka-1:9092
                first start: a 0: 15, a 1: latest; every other partition:
                earliest
                on a gap: stop (default)
  reader        spark: Spark's Kafka source, committed transactions only
  trigger       every 10 seconds (default)
  rate          at most 500,000 records a batch (default)

  each batch    1  Spark's Kafka source    read
                2  Python in the tasks     decode json
                                           write rows to delta
                No SQL: a record is decoded and written in one pass inside the
                Spark tasks.

  sink          delta lake/payments, mode append
                exactly-once, atomic per batch
  dead letters  none: a record that cannot be decoded stops the pipeline
  state         state/payments
                relative paths start from <here>"""
    )


def test_a_start_at_a_time_is_said_as_it_was_written() -> None:
    built = example("source.start=2026-11-01T00:00:00+02:00")
    assert "                first start: records from 2026-11-01T00:00:00+02:00 on\n" in explain(built)


def test_long_queries_are_wrapped_at_eighty_columns() -> None:
    query = "SELECT *, " + ", ".join(f"amount * {n} AS amount_{n}" for n in range(30)) + "\n  FROM input"
    text = explain(build(Pipeline(**(BLOCKS | {"transform": [{"type": "sql", "query": query}]})).spec(KINDS), KINDS))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "FROM input" in text


def test_a_secret_is_shown_as_its_reference(tmp_path: Path) -> None:
    (tmp_path / "servers").write_text("secret-host:9092\n")
    reference = f"${{file:{tmp_path}/servers}}"
    built = example(f"kafka.servers={reference}", surroundings=Surroundings({}, (str(tmp_path),)))
    assert built.source.servers == "secret-host:9092"
    assert "secret-host" not in explain(built) + str(as_json(built)) + built.spec
    assert f"topic payments at {reference}" in " ".join(explain(built).split())
    assert "kafka.servers           secret" in explain(built) or "kafka.servers  secret" in explain(built)


def test_the_plan_as_values() -> None:
    assert as_json(example("rate.records_per_batch=1000")) | {"directory": "<here>"} == {
        "name": "payments",
        "servers": "127.0.0.1:9092",
        "source": {"topics": ["payments"], "start": "earliest", "on_gap": "stop", "reader": "spark"},
        "trigger": "every 10 seconds",
        "rate": {"records_per_batch": 1000},
        "passes": [
            {"engine": "kafka_source", "steps": ["read"]},
            {"engine": "python", "steps": ["decode json by schemas/payment.json"]},
            {"engine": "sql", "steps": ["filter amount > 0", "select *, upper(currency) AS currency"]},
            {"engine": "python", "steps": ["write rows to delta", "write dead letters to delta"]},
        ],
        "why": "The transform is SQL: rows cross to Spark SQL after decoding, and back to be written.",
        "sink": {"type": "delta", "path": "lake/payments", "mode": "append", "promise": "exactly-once, atomic per batch"},
        "dead_letters": {"type": "delta", "path": "lake/payments_dead", "mode": "append", "promise": "exactly-once, atomic per batch"},
        "state": "state/payments",
        "directory": "<here>",
        "origins": {
            "kafka.servers": {"kind": "fallback", "name": "KAFKA_SERVERS"},
            "rate.records_per_batch": {"kind": "override"},
            "decode.schema": {"kind": "file", "file": "schemas/payment.json"},
            "source.on_gap": {"kind": "default"},
            "source.reader": {"kind": "default"},
            "decode.unknown_fields": {"kind": "default"},
            "sink.mode": {"kind": "default"},
            "dead_letters.mode": {"kind": "default"},
        },
    }
