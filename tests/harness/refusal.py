"""A refusal as its user meets it: the file, the command, all that it says, and what lies in the folder before and after."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.process import PENSTOCK

NOBODY = "127.0.0.1:1"
"""An address at which no broker answers: whoever is refused before Kafka is asked never notices."""

LOG = "<home>/penstock/logs/payments.log"
"""Where Spark says what it says, instead of the terminal."""


@dataclass(frozen=True)
class Said:
    """How the command ended and all that stood on the terminal, this folder written as `<here>`, that of its logs as `<home>`."""

    code: int
    text: str


def pipeline_file(folder: Path, **changes: Any) -> Path:
    """A valid pipeline in `folder`; a change replaces a block, None removes it."""
    blocks: dict[str, Any] = {
        "name": "payments",
        "kafka": {"servers": NOBODY},
        "source": {"topics": ["payments"]},
        "trigger": "until caught up",
        "decode": {"type": "json", "schema": "n BIGINT NOT NULL, text STRING"},
        "sink": {"type": "delta", "path": "lake/rows"},
        "dead_letters": {"type": "delta", "path": "lake/dead"},
        "state": "state",
        **changes,
    }
    file = folder / "pipeline.yaml"
    file.write_text(json.dumps({key: value for key, value in blocks.items() if value is not None}, indent=1))
    return file


def files_in(folder: Path) -> dict[str, bytes]:
    """Everything that lies in the folder, with its content; folders end with a slash."""
    return {
        f"{path.relative_to(folder)}{'/' if path.is_dir() else ''}": path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
        if "__pycache__" not in path.parts
    }


def penstock(folder: Path, *arguments: str, environment: Mapping[str, str | None] | None = None, before: tuple[str, ...] = ()) -> Said:
    """The command in a process of its own, in `folder`. `before` is what starts it, such as `unshare`."""
    home = folder.with_name(f"{folder.name} home")
    changed = {**os.environ, "XDG_STATE_HOME": str(home), **(environment or {})}
    done = subprocess.run(
        [*before, sys.executable, PENSTOCK, *arguments],
        cwd=folder,
        env={key: value for key, value in changed.items() if value is not None},
        timeout=150,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return Said(done.returncode, done.stdout.replace(str(home), "<home>").replace(str(folder), "<here>"))
