"""A resolved spec is the whole spec: `load_resolved(resolved_text(spec)) == spec`, whatever became of the files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.builtin import KINDS
from penstock.errors import SpecError
from penstock.spec import Pipeline, PipelineSpec, Surroundings, load, load_resolved, resolved_text

EXAMPLE = Path(__file__).parents[2] / "examples" / "payments"
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="~$"), min_size=1, max_size=30).filter(str.strip)
LOCATION = TEXT.filter(lambda text: "\0" not in text)
TOPIC = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True).filter(lambda name: name not in (".", ".."))
POSITION = st.one_of(st.sampled_from(["earliest", "latest"]), st.integers(0, (1 << 63) - 1))
SERVER = st.builds("{}:{}".format, st.from_regex(r"[a-z][a-z0-9-]{0,10}", fullmatch=True), st.integers(1, 65_535))
SINK = st.one_of(
    st.fixed_dictionaries({"type": st.just("console")}, optional={"rows": st.integers(1, 1_000)}),
    st.builds(lambda path: {"type": "delta", "path": path}, LOCATION),
)
TRANSFORM = st.one_of(
    st.builds(lambda where: {"type": "filter", "where": where}, TEXT),
    st.builds(lambda columns: {"type": "select", "columns": columns}, st.lists(TEXT, min_size=1, max_size=3)),
    st.builds(lambda query: {"type": "sql", "query": query}, TEXT),
)


@st.composite
def pipelines(draw: st.DrawFn) -> dict[str, Any]:
    topics = draw(st.lists(TOPIC, min_size=1, max_size=3, unique=True))
    offsets = st.dictionaries(st.sampled_from(topics), st.dictionaries(st.integers(0, 99), POSITION, min_size=1, max_size=3), min_size=1)
    source = {"topics": topics, "start": draw(st.one_of(st.sampled_from(["earliest", "latest", "2026-11-01T00:00:00+02:00"]), offsets))}
    blocks = {
        "name": draw(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}", fullmatch=True)),
        "kafka": {"servers": ",".join(draw(st.lists(SERVER, min_size=1, max_size=3)))},
        "source": source | draw(st.fixed_dictionaries({}, optional={"on_gap": st.just("stop")})),
        "decode": {"type": "json", "schema": "id BIGINT, name STRING"},
        "sink": draw(SINK),
        "state": draw(LOCATION),
    }
    optional = {
        "trigger": st.sampled_from(["continuously", "until caught up", "every 1.5  minutes", "every second"]),
        "rate": st.builds(lambda count: {"records_per_batch": count}, st.integers(1, 1_000_000_000)),
        "transform": st.lists(TRANSFORM, max_size=3),
        "dead_letters": SINK,
    }
    return blocks | draw(st.fixed_dictionaries({}, optional=optional))


def checked(blocks: dict[str, Any]) -> PipelineSpec | None:
    """None where the drawn places happen to be one and the same."""
    try:
        return Pipeline(**blocks).spec(KINDS)
    except SpecError as error:
        assert all("` is also the place of `" in fault.what for fault in error.faults)
        return None


@given(pipelines())
def test_a_resolved_spec_gives_the_equal_spec_and_the_same_text(blocks: dict[str, Any]) -> None:
    spec = checked(blocks)
    if spec is not None:
        text = resolved_text(spec)
        again = load_resolved(text, KINDS)
        assert again == spec
        assert resolved_text(again) == text


def test_the_example_is_resolved_once_and_needs_its_files_no_more(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "payments")
    spec = load(tmp_path / "payments" / "pipeline.yaml", KINDS, surroundings=Surroundings({}))
    text = resolved_text(spec)
    shutil.rmtree(tmp_path / "payments")
    assert load_resolved(text, KINDS) == spec
    assert '"payment_id"' in json.loads(text)["pipeline"]["decode"]["schema"]


def test_defaults_are_written_out_so_that_a_later_version_changes_none(tmp_path: Path) -> None:
    spec = load(EXAMPLE / "pipeline.yaml", KINDS, surroundings=Surroundings({}))
    pipeline = json.loads(resolved_text(spec))["pipeline"]
    assert pipeline["rate"] == {"records_per_batch": 500_000}
    assert pipeline["source"] == {"topics": ["payments"], "start": "earliest", "on_gap": "stop", "reader": "spark"}


def test_the_same_file_gives_the_same_text_every_time() -> None:
    one, two = (resolved_text(load(EXAMPLE / "pipeline.yaml", KINDS, surroundings=Surroundings({}))) for _ in range(2))
    assert one == two


def test_a_text_of_another_format_is_refused() -> None:
    with pytest.raises(SpecError) as caught:
        load_resolved('{"format": 2}', KINDS)
    assert str(caught.value) == (
        "resolved spec: 1 fault\n  format: this text has format 2, this version of Penstock reads 1\n      run the version of Penstock that wrote it"
    )
