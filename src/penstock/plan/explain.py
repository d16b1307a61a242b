"""The plan for people: what will be read, done and written, under which promise, and where values came from."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import assert_never

from penstock.plan.passes import Step, passes, why
from penstock.plan.shown import Shown
from penstock.plan.steps import Decode, Filter, Query, ReadKafka, RunPlan, Select, StartAtOffsets, Write

WIDTH = 80
_LABEL = 16
_ENGINE = 24  # the longest engine below, and two spaces

ENGINES = {"kafka_source": "Spark's Kafka source", "python": "Python in the tasks", "sql": "Spark SQL"}


def explain(plan: RunPlan) -> str:
    """The plan as text for a terminal of 80 columns."""
    shown = Shown.of(plan)
    sections = [_read(plan, shown), _batch(plan, shown), _written(plan, shown), _outside(shown)]
    return "\n\n".join([f"pipeline {plan.name}", *("\n".join(section) for section in sections if section)])


def _read(plan: RunPlan, shown: Shown) -> list[str]:
    topics = plan.source.topics
    gap = "stop" if plan.source.on_gap == "stop" else "go on, and record it"
    rate = f"at most {plan.rate.records_per_batch:,} records a batch"
    return [
        *entry("source", f"{'topic' if len(topics) == 1 else 'topics'} {shown.text('source.topics')} at {shown.text('kafka.servers')}"),
        *entry("", f"first start: {_start(plan, shown)}{shown.note('source.start')}"),
        *entry("", f"on a gap: {gap}{shown.note('source.on_gap')}"),
        *entry("reader", f"{plan.source.reader}: Spark's Kafka source, committed transactions only"),
        *entry("trigger", shown.text("trigger") + shown.note("trigger")),
        *entry("rate", rate + shown.note("rate.records_per_batch")),
    ]


def _start(plan: RunPlan, shown: Shown) -> str:
    start = plan.source.start
    if isinstance(start, StartAtOffsets):
        named = (f"{topic} {part}: {at}" for topic, parts in start.offsets.items() for part, at in parts.items())
        return f"{', '.join(named)}; every other partition: {start.otherwise}"
    written = shown.text("source.start")
    return written if written in ("earliest", "latest") else f"records from {written} on"


def _batch(plan: RunPlan, shown: Shown) -> list[str]:
    lines: list[str] = []
    for number, each in enumerate(passes(plan), 1):
        engine = f"{number}  {ENGINES[each.engine]:<{_ENGINE}}"
        for step in each.steps:
            lines += entry("" if lines else "each batch", sentence(step, plan, shown), before=engine)
            engine = " " * len(engine)
    return [*lines, *entry("", why(plan.flow))]


def sentence(step: Step, plan: RunPlan, shown: Shown) -> str:
    """One step, as the plan names it."""
    match step:
        case ReadKafka():
            return "read"
        case Decode():
            schema = shown.origins.get("decode.schema")
            return f"decode {step.kind}" + (f" by {schema.file}" if schema and schema.file else "")
        case Filter(where):
            return f"filter {where}"
        case Select(columns):
            return f"select {', '.join(columns)}"
        case Query(sql):
            return f"sql {sql}"
        case Write():
            return f"write {'rows' if step is plan.flow.sink else 'dead letters'} to {step.kind}"
        case _:
            assert_never(step)


def _written(plan: RunPlan, shown: Shown) -> list[str]:
    lines = _target("sink", plan.flow.sink, shown.pipeline["sink"])
    if plan.flow.dead_letters is None:
        lines += entry("dead letters", "none: a record that cannot be decoded stops the pipeline")
    else:
        lines += _target("dead letters", plan.flow.dead_letters, shown.pipeline["dead_letters"])
    return [*lines, *entry("state", shown.text("state")), *entry("", f"relative paths start from {shown.directory}")]


def _target(label: str, write: Write, written: Mapping[str, Any]) -> list[str]:
    options = "".join(f", {key} {value}" for key, value in written.items() if key not in ("type", "path"))
    return [*entry(label, f"{write.kind} {written.get('path', '')}".strip() + options), *entry("", write.promise)]


def _outside(shown: Shown) -> list[str]:
    outside = {path: origin for path, origin in shown.origins.items() if origin.kind not in ("default", "file")}
    widest = max(map(len, outside), default=0) + 2
    lines: list[str] = []
    for path, origin in outside.items():
        lines += entry("" if lines else "set outside", str(origin), before=f"{path:<{widest}}")
    return lines


def entry(label: str, text: str, *, before: str = "") -> list[str]:
    """A labelled line as all of the plan's are, wrapped so that what goes on stands under what began; nothing is broken within a word."""
    margin = _LABEL + len(before)
    lines = textwrap.wrap(" ".join(text.split()), max(WIDTH - margin, 20), break_long_words=False, break_on_hyphens=False) or [""]
    return _lines(f"{f'  {label}':<{_LABEL}}{before}", lines, " " * margin)


def _lines(first: str, lines: Iterable[str], others: str) -> list[str]:
    return [f"{others if index else first}{line}".rstrip() for index, line in enumerate(lines)]
