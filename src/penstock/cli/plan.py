"""`penstock plan`."""

from __future__ import annotations

import json

from penstock.builtin import KINDS
from penstock.cli.arguments import AsJson, Settings, Target
from penstock.cli.target import load_target
from penstock.plan.as_json import as_json as plan_as_json
from penstock.plan.build import build
from penstock.plan.explain import explain


def plan(target: Target, settings: Settings = None, as_json: AsJson = False) -> None:
    """Show what a pipeline will do and promises; changes nothing."""
    built = build(load_target(target, KINDS, settings or ()), KINDS)
    print(json.dumps(plan_as_json(built), ensure_ascii=False, indent=2) if as_json else explain(built))
