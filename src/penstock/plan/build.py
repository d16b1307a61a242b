"""From a checked spec to the plan of a run: pure, so that the same spec always gives the same plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.kinds import Kinds, Location, Options
from penstock.plan.steps import (
    Continuously,
    Decode,
    Every,
    Filter,
    FixedRate,
    Flow,
    Query,
    ReadKafka,
    RunPlan,
    Select,
    Start,
    StartAtOffsets,
    StartAtTime,
    Transform,
    Trigger,
    UntilCaughtUp,
    Write,
)
from penstock.spec import CONTINUOUSLY, UNTIL_CAUGHT_UP, Chosen, PipelineSpec, epoch_millis, every_seconds, resolved_text

MAIN_FLOW = "main"

_STEPS: Mapping[str, Callable[[Any], Transform]] = {
    "filter": lambda options: Filter(options.where),
    "select": lambda options: Select(options.columns),
    "sql": lambda options: Query(options.query),
}


def build(spec: PipelineSpec, kinds: Kinds) -> RunPlan:
    """What will happen when this pipeline runs; nothing is looked at but the spec."""
    flow = Flow(
        name=MAIN_FLOW,
        decode=Decode(spec.decode.kind, placed(spec.decode.options, spec.directory)),
        transforms=tuple(_STEPS[each.kind](each.options) for each in spec.transform),
        sink=_write(spec.sink, spec, kinds),
        dead_letters=None if spec.dead_letters is None else _write(spec.dead_letters, spec, kinds),
    )
    source = ReadKafka(spec.kafka.servers, spec.source.topics, _start(spec), spec.source.on_gap, spec.source.reader)
    rate = FixedRate(spec.rate.records_per_batch)
    return RunPlan(spec.name, source, flow, _trigger(spec.trigger), rate, absolute(spec.state, spec.directory), resolved_text(spec))


def _write(chosen: Chosen, spec: PipelineSpec, kinds: Kinds) -> Write:
    return Write(chosen.kind, placed(chosen.options, spec.directory), kinds.sinks[chosen.kind].promise)


def _start(spec: PipelineSpec) -> Start:
    start = spec.source.start
    if isinstance(start, dict):
        return StartAtOffsets({topic: dict(parts) for topic, parts in start.items()})  # type: ignore[arg-type]
    millis = epoch_millis(start)
    if millis is not None:
        return StartAtTime(millis)
    return "latest" if start == "latest" else "earliest"


def _trigger(text: str) -> Trigger:
    if text == CONTINUOUSLY:
        return Continuously()
    if text == UNTIL_CAUGHT_UP:
        return UntilCaughtUp()
    seconds = every_seconds(text)
    assert seconds is not None
    return Every(seconds)


def placed(options: Options, directory: str) -> Options:
    """The options with every path that is relative to the pipeline's file made absolute."""
    changes: dict[str, str] = {}
    for name, info in type(options).model_fields.items():
        value = getattr(options, name)
        if isinstance(value, str) and any(isinstance(mark, Location) for mark in info.metadata):
            changes[name] = absolute(value, directory)
    return options.model_copy(update=changes) if changes else options


def absolute(location: str, directory: str) -> str:
    """A URI as it is, a path as an absolute one."""
    return location if "://" in location else str(Path(directory) / location)
