"""`penstock validate`."""

from __future__ import annotations

import json

from penstock.builtin import KINDS
from penstock.cli.arguments import AsJson, Settings, Target
from penstock.cli.target import load_target


def validate(target: Target, settings: Settings = None, as_json: AsJson = False) -> None:
    """Check a pipeline, show every fault; changes nothing."""
    spec = load_target(target, KINDS, settings or ())
    if as_json:
        print(json.dumps({"valid": True, "name": spec.name}))
        return
    topics = "topic " + spec.source.topics[0] if len(spec.source.topics) == 1 else f"{len(spec.source.topics)} topics"
    print(f"{target}: valid: pipeline {spec.name}, {topics} into {spec.sink.kind}")
