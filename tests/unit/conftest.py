"""The command inside the test's own process: everything that a refusal needs no process of its own for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.refusal import Said, files_in
from penstock.cli import main


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """`penstock …` in `tmp_path`, which it must leave as it found it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def command(*arguments: str) -> Said:
        before = files_in(tmp_path)
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        out, err = capsys.readouterr()
        assert out == "", "a refusal is said on standard error"
        assert files_in(tmp_path) == before, "a refusal writes nothing"
        return Said(int(caught.value.code or 0), err.replace(str(tmp_path), "<here>"))

    return command
