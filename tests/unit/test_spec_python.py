"""A pipeline in Python: the same spec as the file gives, and faults at the user's own line."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock import Pipeline, SpecError
from penstock.builtin import KINDS
from penstock.spec import load

BLOCKS: dict[str, Any] = {
    "name": "payments",
    "kafka": {"servers": "kafka-1:9092"},
    "source": {"topics": ["payments"], "start": {"payments": {0: 15, 1: "latest"}}},
    "decode": {"type": "json", "schema": "id BIGINT"},
    "transform": [{"type": "filter", "where": "id > 0"}],
    "sink": {"type": "delta", "path": Path("lake/payments")},
    "state": "state/payments",
}
YAML = """\
name: payments
kafka: {servers: "kafka-1:9092"}
source: {topics: [payments], start: {payments: {0: 15, 1: latest}}}
decode: {type: json, schema: "id BIGINT"}
transform: [{type: filter, where: "id > 0"}]
sink: {type: delta, path: lake/payments}
state: state/payments
"""


def test_python_and_yaml_of_the_same_words_give_the_same_spec(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(YAML)
    from_yaml = load(tmp_path / "pipeline.yaml", KINDS)
    from_python = Pipeline(**BLOCKS).spec(KINDS)
    assert from_python == from_yaml.model_copy(update={"directory": str(Path(__file__).parent)})


def test_faults_name_the_line_of_the_call() -> None:
    pipeline, line = Pipeline(**(BLOCKS | {"name": "X", "sink": {"type": "delta", "pth": object()}})), _line()
    with pytest.raises(SpecError) as caught:
        pipeline.spec(KINDS)
    assert str(caught.value) == (
        f"{__file__}: 4 faults\n"
        f"  line {line}: name: `X` is no name for a pipeline\n"
        "      use up to 63 lower-case letters, digits, `-` and `_`, beginning with a letter or digit: payments\n"
        f"  line {line}: sink.pth: a value of the type object cannot stand in a pipeline\n"
        "      write text, a number, a list or a dictionary\n"
        f"  line {line}: sink.path: is missing\n"
        "      add it: the table's directory or URI; it is created if it is not there\n"
        f"  line {line}: sink.pth: there is no such key here\n"
        "      did you mean `path`?"
    )


def _line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_overrides_and_references_work_as_they_do_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGE", "prod")
    pipeline = Pipeline(**(BLOCKS | {"state": "state/${env:STAGE}"}))
    spec = pipeline.spec(KINDS, ["sink={type: console}"])
    assert (spec.state, spec.sink.kind) == ("state/prod", "console")


def test_a_pipeline_shows_where_it_was_written() -> None:
    assert repr(Pipeline(**BLOCKS)).startswith(f"<Pipeline 'payments' at {__file__}:")


def test_the_front_door_has_every_name_it_promises() -> None:
    for name in penstock.__all__:
        assert getattr(penstock, name) is not None
    assert dir(penstock) == sorted(penstock.__all__)
    with pytest.raises(AttributeError, match="module 'penstock' has no attribute 'nothing'"):
        _ = penstock.nothing
