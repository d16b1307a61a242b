"""Where the dev stack keeps things on this machine: a cache that may be thrown away, and the state of what runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """`$PENSTOCK_CACHE`, else `$XDG_CACHE_HOME/penstock`, else `~/.cache/penstock`; losing it costs one download."""
    own = environment.get("PENSTOCK_CACHE")
    return Path(own).expanduser().absolute() if own else _below(environment, "XDG_CACHE_HOME", ".cache") / "penstock"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_STATE_HOME/penstock/dev`, else `~/.local/state/penstock/dev`: the detached broker's data, log and state file."""
    return _below(environment, "XDG_STATE_HOME", ".local/state") / "penstock" / "dev"


def log_file(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_STATE_HOME/penstock/logs/<name>.log`, else below `~/.local/state`: what Spark says while this pipeline runs."""
    return _below(environment, "XDG_STATE_HOME", ".local/state") / "penstock" / "logs" / f"{name}.log"


def _below(environment: Mapping[str, str], variable: str, fallback: str) -> Path:
    # The XDG rules: a relative path in the variable is to be ignored.
    given = Path(environment.get(variable, ""))
    return given if given.is_absolute() else Path.home() / fallback


def write_atomically(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Put `text` at `path` so that a reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", encoding="utf-8", delete=False) as stream:
        own = Path(stream.name)
        try:
            stream.write(text)
            stream.flush()
            own.chmod(mode)
            own.replace(path)
        except BaseException:
            own.unlink(missing_ok=True)
            raise
