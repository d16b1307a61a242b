"""A plan's values as they may be shown: paths as they were written, secrets as references, each with its origin."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.plan.steps import RunPlan
from penstock.spec import Origin


@dataclass(frozen=True, slots=True)
class Shown:
    """What the resolved spec of a plan holds; `origins` by path as faults name it: `transform[0].where`."""

    pipeline: Mapping[str, Any]
    directory: str
    origins: Mapping[str, Origin]

    @staticmethod
    def of(plan: RunPlan) -> Shown:
        """Taken from the spec that the plan carries, which holds no secret."""
        whole = json.loads(plan.spec)
        origins = {_dotted(path): Origin(*origin) for path, *origin in whole["origins"]}
        return Shown(whole["pipeline"], whole["directory"], origins)

    def text(self, path: str) -> str:
        """The value at a dotted path; a list with commas."""
        value: Any = self.pipeline
        for step in path.split("."):
            value = value[step]
        return ", ".join(value) if isinstance(value, list) else str(value)

    def note(self, path: str) -> str:
        """` (default)` for what nobody wrote, else nothing."""
        return " (default)" if path in self.origins and self.origins[path].kind == "default" else ""


def _dotted(path: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]
