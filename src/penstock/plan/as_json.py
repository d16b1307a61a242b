"""The plan for programs: what `explain` says, as values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from penstock.plan.explain import sentence
from penstock.plan.passes import passes, why
from penstock.plan.shown import Shown
from penstock.plan.steps import RunPlan, Write


def as_json(plan: RunPlan) -> dict[str, Any]:
    """The values of `penstock plan --json`; secrets are references, paths as they were written."""
    shown = Shown.of(plan)
    pipeline = shown.pipeline
    return {
        "name": plan.name,
        "servers": pipeline["kafka"]["servers"],
        "source": pipeline["source"],
        "trigger": pipeline["trigger"],
        "rate": pipeline["rate"],
        "passes": [{"engine": each.engine, "steps": [sentence(step, plan, shown) for step in each.steps]} for each in passes(plan)],
        "why": why(plan.flow),
        "sink": _target(plan.flow.sink, pipeline["sink"]),
        "dead_letters": _target(plan.flow.dead_letters, pipeline["dead_letters"]),
        "state": pipeline["state"],
        "directory": shown.directory,
        "origins": {path: {key: value for key, value in asdict(origin).items() if value} for path, origin in shown.origins.items()},
    }


def _target(write: Write | None, written: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if write is None or written is None else {**written, "promise": write.promise}
