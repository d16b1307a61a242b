"""docs/reference is what the code says, and the tool that makes it leaves no error out in silence."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from penstock.builtin import KINDS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "tools/make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where its dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def test_the_committed_reference_is_what_the_code_says(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert (tool.run(["--check"]), capsys.readouterr().out) == (0, "")


def test_a_file_that_differs_is_named_and_made_anew(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(tool.REFERENCE, tmp_path / "reference")
    monkeypatch.setattr(tool, "REFERENCE", tmp_path / "reference")
    errors = tmp_path / "reference/errors.md"
    errors.write_text(errors.read_text().replace("ledger_corrupt", "ledger_broken"))
    (tmp_path / "reference/old.md").write_text("")
    (tmp_path / "reference/command.md").unlink()
    named = [f"docs/reference/{name} is not what the code says: run `make docs`" for name in ("command.md", "errors.md", "old.md")]
    assert (tool.run(["--check"]), capsys.readouterr().out.splitlines()) == (1, named)
    assert (tool.run([]), capsys.readouterr().out) == (0, "wrote docs/reference/command.md\nwrote docs/reference/errors.md\n")
    (tmp_path / "reference/old.md").unlink()
    assert tool.run(["--check"]) == 0


def test_every_kind_every_command_and_every_code_is_in_it() -> None:
    read = {path.name: path.read_text() for path in (ROOT / "docs/reference").iterdir()}
    for kind in (*KINDS.decoders, *KINDS.transforms, *KINDS.sinks):
        assert f"{{type: {kind}}}" in read["pipeline.md"]
    assert json.loads(read["pipeline.schema.json"])["title"] == "Penstock pipeline"
    for command in ("run", "dev up", "dev down"):
        assert f"# `penstock {command}`\n" in read["command.md"]
    for code in ("bug", "spec_invalid", "token_ahead", "topic_missing", "worker_lost", "commit_failed", "state_unreachable"):
        assert f"| `{code}` |" in read["errors.md"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("kind = Fatal\nraise kind('x', code=chosen)", "room.py:2: an error whose class or code cannot be read: write both where it is made"),
        ("raise Fatal('x', code=chosen)", "room.py:1: an error whose class or code cannot be read: write both where it is made"),
        ("raise _mine('x', code='mine')", "room.py:1: an error whose class or code cannot be read: write both where it is made"),
        ("class Mine(Fatal): ...", "room.py:1: Mine is an error outside errors.py"),
        ("Fatal('x', code='one')\nRetryable('x', code='one')", "room.py: the code one belongs to Fatal and to Retryable: give each its own"),
    ],
)
def test_an_error_that_cannot_be_read_ends_the_tool(code: str, said: str, tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text(code)
    with pytest.raises(SystemExit) as ended:
        tool.error_codes(tmp_path)
    assert str(ended.value) == said


def test_next_steps_are_told_once_and_with_gaps_where_they_depend_on_what_happened(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text(
        "STEP = 'wait'\n"
        "Fatal('x', code='one', next_step=f'ask {who} to wait')\nFatal('x', code='one', next_step=STEP)\nFatal('x', code='one', next_step='wait')\n"
        "Fatal('x', code='two', next_step=found())\nlog('x', code=error.code)\nSpecError([])\n"
    )
    found = tool.error_codes(tmp_path)
    assert {code: (each.branch, each.next_steps) for code, each in found.items()} == {
        "one": ("Fatal", ["ask … to wait", "wait"]),
        "two": ("Fatal", []),
        "spec_invalid": ("SpecError", ["mend the file, then run `penstock validate` again"]),
    }
