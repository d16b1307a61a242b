"""From a spec to a plan: every step, every place absolute, and the same plan from the resolved text."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.builtin import KINDS
from penstock.plan.build import build
from penstock.plan.passes import passes
from penstock.plan.steps import (
    Continuously,
    Every,
    Filter,
    FixedRate,
    Query,
    RunPlan,
    Select,
    StartAtOffsets,
    StartAtTime,
    UntilCaughtUp,
)
from penstock.spec import Pipeline, Surroundings, load_resolved

BLOCKS: dict[str, Any] = {
    "name": "payments",
    "kafka": {"servers": "kafka-1:9092, kafka-2:9092"},
    "source": {"topics": ["payments", "refunds"]},
    "decode": {"type": "json", "schema": "id BIGINT"},
    "sink": {"type": "delta", "path": "lake/payments"},
    "state": "state/payments",
}
HERE = __file__.rsplit("/", 1)[0]


def plan(**changes: Any) -> RunPlan:
    return build(Pipeline(**(BLOCKS | changes)).spec(KINDS), KINDS)


def test_relative_places_become_absolute_and_uris_stay() -> None:
    built = plan(dead_letters={"type": "delta", "path": "s3a://lake/dead"})
    assert built.flow.sink.options.model_dump() == {"path": f"{HERE}/lake/payments", "mode": "append"}
    assert built.flow.dead_letters is not None
    assert built.flow.dead_letters.options.model_dump() == {"path": "s3a://lake/dead", "mode": "append"}
    assert built.state == f"{HERE}/state/payments"
    assert plan(state="/var/state").state == "/var/state"


def test_the_sink_brings_its_promise() -> None:
    assert plan().flow.sink.promise == "exactly-once, atomic per batch"
    assert plan(sink={"type": "console"}).flow.sink.promise == "at-least-once: a batch that is repeated is printed again"


def test_the_source_is_taken_over_whole() -> None:
    source = plan().source
    assert (source.servers, source.topics) == ("kafka-1:9092,kafka-2:9092", ("payments", "refunds"))
    assert (source.start, source.on_gap, source.reader) == ("earliest", "stop", "spark")


@pytest.mark.parametrize(
    ("written", "start"),
    [
        ("latest", "latest"),
        ("2026-11-01T00:00:00Z", StartAtTime(1_793_491_200_000)),
        ({"payments": {0: 1500, 1: "latest"}}, StartAtOffsets({"payments": {0: 1500, 1: "latest"}}, "earliest")),
    ],
)
def test_every_way_to_start_is_a_value(written: Any, start: object) -> None:
    assert plan(source={"topics": ["payments"], "start": written}).source.start == start


@pytest.mark.parametrize(
    ("written", "trigger"),
    [("every 10 seconds", Every(10.0)), ("continuously", Continuously()), ("until caught up", UntilCaughtUp())],
)
def test_every_trigger_is_a_value(written: str, trigger: object) -> None:
    assert plan(trigger=written).trigger == trigger


def test_without_a_rate_a_batch_takes_half_a_million_records() -> None:
    assert plan().rate == FixedRate(500_000)
    assert plan(rate={"records_per_batch": 7}).rate == FixedRate(7)


STEPS = [
    {"type": "filter", "where": "id > 0"},
    {"type": "select", "columns": ["*", "id + 1 AS next"]},
    {"type": "sql", "query": "SELECT * FROM input"},
]


def test_transforms_become_steps_in_their_order() -> None:
    assert plan(transform=STEPS).flow.transforms == (Filter("id > 0"), Select(("*", "id + 1 AS next")), Query("SELECT * FROM input"))


def test_without_sql_decode_and_write_are_one_pass() -> None:
    built = plan(dead_letters={"type": "console"})
    assert [(each.engine, each.steps) for each in passes(built)] == [
        ("kafka_source", (built.source,)),
        ("python", (built.flow.decode, built.flow.sink, built.flow.dead_letters)),
    ]


def test_sql_stands_between_two_passes() -> None:
    built = plan(transform=STEPS)
    assert [(each.engine, each.steps) for each in passes(built)] == [
        ("kafka_source", (built.source,)),
        ("python", (built.flow.decode,)),
        ("sql", built.flow.transforms),
        ("python", (built.flow.sink,)),
    ]


def test_the_plan_of_the_resolved_text_is_the_same_plan() -> None:
    built = plan(transform=STEPS, dead_letters={"type": "delta", "path": "lake/dead"})
    assert build(load_resolved(built.spec, KINDS, surroundings=Surroundings({})), KINDS) == built
