"""`${env:NAME:-default}` and `${file:/path}` in any value: looked up when the pipeline is loaded, each with a note of its origin.

What comes out of a file is a secret: it is never shown, and the resolved text of a spec keeps the reference in its place.
`$${` stands for `${` itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Literal

from penstock.spec.document import Block, Finding, Loose, Path, Value

MAX_SECRET_BYTES = 64 * 1024  # a PEM chain fits many times
_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<kind>[^}:]*)(?::(?P<rest>[^}]*))?(?P<end>\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one value came from, if not from the pipeline's own text.

    `name` is the environment variable of `environment` (set) and `fallback` (not set, so the text after `:-` holds), and the
    whole reference of `secret`; `file`, `override` (`--set`) and `default` (written nowhere) need none. `file` is the name
    of the file whose text stands here, wherever that name came from.
    """

    kind: Literal["environment", "fallback", "secret", "file", "override", "default"]
    name: str = ""
    file: str = ""

    def __str__(self) -> str:
        match self.kind:
            case "environment":
                return f"from the environment variable {self.name}"
            case "fallback":
                return f"default of ${{env:{self.name}}}, which is not set"
            case "secret":
                return "secret"
            case "file":
                return f"from {self.file}"
            case "override":
                return "from --set"
            case "default":
                return "default"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What references are looked up in: the environment, and the only directories that `${file:}` may read."""

    environment: Mapping[str, str]
    secret_directories: tuple[str, ...] = ("/run/secrets", "/var/run/secrets")

    @staticmethod
    def here() -> Surroundings:
        """Those of this process; `PENSTOCK_SECRET_DIRECTORIES` (separated by `:`) replaces the list of directories."""
        named = os.environ.get("PENSTOCK_SECRET_DIRECTORIES")
        if named is None:
            return Surroundings(os.environ)
        return Surroundings(os.environ, tuple(each for each in named.split(":") if each))


class _Unresolved(Exception):
    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what, self.remedy = what, remedy


def resolve(values: Block, surroundings: Surroundings) -> tuple[Block, dict[Path, Origin], list[Finding]]:
    """The values with every reference looked up, where each came from, and those that lead nowhere (left as they are)."""
    origins: dict[Path, Origin] = {}
    findings: list[Finding] = []

    def looked_up(value: Value, path: Path) -> Value:
        if isinstance(value, dict):
            return {key: looked_up(each, (*path, key)) for key, each in value.items()}
        if isinstance(value, tuple):
            return tuple(looked_up(each, (*path, index)) for index, each in enumerate(value))
        if not isinstance(value, str) or "${" not in value:
            return value
        try:
            text, origin = _text(value, surroundings)
        except _Unresolved as failure:
            findings.append(Finding(path, failure.what, failure.remedy))
            origins[path] = Origin("secret", value)  # the value is unknown: nothing else may be said of it
            return Loose(value)
        if origin is not None:
            origins[path] = origin
        return Loose(text) if origin is not None else text

    resolved = {key: looked_up(value, (key,)) for key, value in values.items()}
    return resolved, origins, findings


def _text(value: str, surroundings: Surroundings) -> tuple[str, Origin | None]:
    origins: list[Origin] = []

    def replacement(found: re.Match[str]) -> str:
        if found.group() == "$${":
            return "${"
        text, origin = _one(found, surroundings)
        origins.append(origin)
        return text

    text = _REFERENCE.sub(replacement, value)
    if any(origin.kind == "secret" for origin in origins):
        return text, Origin("secret", value)
    if not origins:
        return text, None
    kind: Literal["environment", "fallback"] = "environment" if any(origin.kind == "environment" for origin in origins) else "fallback"
    return text, Origin(kind, ", ".join(dict.fromkeys(origin.name for origin in origins)))


def _one(found: re.Match[str], surroundings: Surroundings) -> tuple[str, Origin]:
    kind, rest = found["kind"], found["rest"]
    if not found["end"]:
        raise _Unresolved("`${` is never closed", "close the reference with `}`, or write `$${` for the text itself")
    if kind == "env" and rest is not None:
        return _variable(rest, surroundings)
    if kind == "file" and rest is not None:
        return _secret(rest, surroundings), Origin("secret")
    remedy = "write `${env:NAME}`, `${env:NAME:-default}` or `${file:/path}`; `$${` stands for the text itself"
    raise _Unresolved(f"`{found.group()}` is no reference", remedy)


def _variable(rest: str, surroundings: Surroundings) -> tuple[str, Origin]:
    name, has_default, default = rest.partition(":-")
    if not _NAME.fullmatch(name):
        raise _Unresolved(f"`{name}` is no name of an environment variable", "write `${env:NAME}` or `${env:NAME:-default}`")
    if name in surroundings.environment:
        return surroundings.environment[name], Origin("environment", name)
    if has_default:
        return default, Origin("fallback", name)
    raise _Unresolved(f"the environment variable {name} is not set", f"set {name}, or give it a default: `${{env:{name}:-…}}`")


def _secret(path: str, surroundings: Surroundings) -> str:
    real = os.path.realpath(path)
    allowed = [os.path.realpath(each) for each in surroundings.secret_directories]
    if not FilePath(path).is_absolute() or not any(real.startswith(each.rstrip("/") + "/") for each in allowed):
        named = ", ".join(surroundings.secret_directories) or "none"
        what = f"`${{file:{path}}}` is outside the directories that secrets may be read from ({named})"
        raise _Unresolved(what, "move it there, or name its directory in PENSTOCK_SECRET_DIRECTORIES")
    try:
        with FilePath(real).open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
        if len(content) > MAX_SECRET_BYTES:
            raise _Unresolved(f"`{path}` is larger than {MAX_SECRET_BYTES // 1024} KiB", "name the file that holds the secret alone")
        return content.decode("utf-8").rstrip("\r\n")
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise _Unresolved(f"`{path}` cannot be read: {reason}", "check that the secret is mounted and readable here") from None
    except UnicodeDecodeError:
        raise _Unresolved(f"`{path}` is not UTF-8 text", "keep the secret as text") from None
