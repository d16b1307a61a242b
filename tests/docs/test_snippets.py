"""What the pages tell people to type works: every pipeline in them is valid, every command line in them exists."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from penstock.builtin import KINDS
from penstock.cli.app import app
from penstock.errors import SpecError
from penstock.spec import load

UsageError = typer.BadParameter.__bases__[0]  # Typer gives it no name of its own
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^ *```(?P<language>\w+)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|[\s;&|(])(?:\S*/)?penstock\s+(?P<arguments>[^#;&|]*)")


def blocks(text: str, language: str) -> list[str]:
    return [found["text"] for found in BLOCK.finditer(text) if found["language"] == language]


def pipelines(text: str) -> list[str]:
    return [block for block in blocks(text, "yaml") if re.search(r"^name:", block, re.MULTILINE)]


def commands(text: str) -> Iterator[str]:
    """What follows `penstock` on each line of a shell block; comments are no commands."""
    for line in "".join(blocks(text, "sh")).replace("\\\n", " ").splitlines():
        for found in COMMAND.finditer(line.split(" #")[0] if not line.startswith("#") else ""):
            yield found["arguments"].strip()


def parse(arguments: str) -> None:
    """Let the command line's own parser read it, and run nothing; it raises what a user would be told."""
    command: Any = get_command(app)
    given = shlex.split(arguments)
    while hasattr(command, "get_command"):
        context = command.make_context("penstock", given)
        name, command, given = command.resolve_command(context, [*context._protected_args, *context.args])
    command.make_context(name, given)


def valid(text: str, folder: Path) -> None:
    shutil.copytree(ROOT / "examples/payments/schemas", folder / "schemas", dirs_exist_ok=True)
    (folder / "pipeline.yaml").write_text(text)
    load(str(folder / "pipeline.yaml"), KINDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_works(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    for pipeline in pipelines(text):
        valid(pipeline, tmp_path)
    for arguments in commands(text):
        parse(arguments)


def test_the_pages_show_something() -> None:
    texts = [page.read_text() for page in PAGES]
    assert sum(len(pipelines(text)) for text in texts) >= 1
    assert {"dev up", "validate examples/payments/pipeline.yaml", "dev down"} <= {each for text in texts for each in commands(text)}


def test_a_wrong_snippet_is_noticed(tmp_path: Path) -> None:
    shown = "```sh\n.venv/bin/penstock dev up   # penstock nothing\nX=1 penstock run a.yaml --bogus && penstock valdate a.yaml\n# penstock no\n```\n"
    assert list(commands(shown)) == ["dev up", "run a.yaml --bogus", "valdate a.yaml"]
    parse("dev up")
    for wrong in ("run a.yaml --bogus", "valdate a.yaml", "dev sideways", "run", "validate a b", "dev up --port many"):
        with pytest.raises(UsageError):
            parse(wrong)
    (pipeline,) = pipelines((ROOT / "README.md").read_text())
    with pytest.raises(SpecError):
        valid(pipeline.replace("topics:", "topic:"), tmp_path)
