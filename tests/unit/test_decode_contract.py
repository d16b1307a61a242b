"""The decode contract and its tests belong together: each clause names tests, and they exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/contracts/decode.md").read_text()


def test_the_clauses_are_numbered_without_a_gap_and_each_says_must() -> None:
    clauses = re.findall(r"^(\d+)\. (.*)$", TEXT, re.MULTILINE)
    assert [int(number) for number, _ in clauses] == list(range(1, len(clauses) + 1))
    assert not [number for number, clause in clauses if "MUST" not in clause or " — `" not in clause]


def test_every_test_that_a_clause_names_exists() -> None:
    names = re.findall(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`", TEXT)
    assert len(names) > 33
    for file, name in names:
        path = ROOT / (file or "tests/unit/test_decode_json.py")
        assert f"def {name}(" in path.read_text(), f"{path.name} has no {name}"
