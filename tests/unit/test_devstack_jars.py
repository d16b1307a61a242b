"""Archives: fetched when missing, never used unverified, harmless under kills and races. Ivy is a small script here."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pytest

from penstock.devstack import ivy, jars
from penstock.devstack.ivy import module, proxy_options
from penstock.devstack.jars import fetch, jars_for, obtain, verify
from penstock.devstack.lock import Jar, locked_sets
from penstock.devstack.progress import Progress
from penstock.errors import Fatal, Retryable

# Stands for `java -jar ivy.jar …`: reads the Ivy file, writes "<name> <revision>" into every artifact it asks for.
IVY = """
import os, sys, time
from pathlib import Path
from xml.etree import ElementTree
given = dict(zip(sys.argv, sys.argv[1:]))
out = Path(given["-retrieve"]).parent
out.mkdir()
for entry in ElementTree.parse(given["-ivy"]).iter("dependency"):
    artifact = entry.find("artifact")
    (out / f"{artifact.get('name')}-{entry.get('rev')}.{artifact.get('ext')}").write_text(f"{artifact.get('name')} {entry.get('rev')}")
"""


def jar(name: str, revision: str = "1.0", *, body: str | None = None) -> Jar:
    content = (body or f"{name} {revision}").encode()
    return Jar("org.example", name, revision, f"{name}-{revision}.jar", len(content), hashlib.sha256(content).hexdigest())


def fake_java(folder: Path, script: str) -> Path:
    java = folder / "java"
    java.write_text(f"#!{sys.executable} -IS\n{textwrap.dedent(script)}")
    java.chmod(0o755)
    return java


def put(wanted: Sequence[Jar], folder: Path, progress: Progress) -> None:
    """A fetch that needs no process."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in wanted:
        (folder / one.file).write_text(f"{one.name} {one.revision}")


def left_behind(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.name.startswith("fetch-"))


class CountingJar(Jar):
    """A jar that counts how often its file was read."""

    read = 0

    def mismatch(self, path: Path) -> str | None:
        type(self).read += 1
        return super().mismatch(path)


def test_missing_archives_are_fetched_and_given_in_order(tmp_path: Path) -> None:
    wanted = [jar("b"), jar("a")]
    assert obtain(wanted, tmp_path, fetch=put) == (tmp_path / "b-1.0.jar", tmp_path / "a-1.0.jar")


def test_what_is_there_and_right_is_not_fetched_again(tmp_path: Path) -> None:
    put([jar("a")], tmp_path, lambda *_: None)
    assert obtain([jar("a")], tmp_path, fetch=None) == (tmp_path / "a-1.0.jar",)


def test_offline_names_what_is_missing_and_the_way_out(tmp_path: Path) -> None:
    put([jar("a")], tmp_path, lambda *_: None)
    with pytest.raises(Fatal) as caught:
        obtain([jar("a"), jar("b"), jar("c")], tmp_path, fetch=None)
    assert str(caught.value) == (
        "2 archives missing, and fetching is forbidden (--offline or PENSTOCK_OFFLINE): b-1.0.jar, c-1.0.jar\n"
        f"where: {tmp_path}\n"
        "next:  run once with a network, without --offline and PENSTOCK_OFFLINE, or copy the folder from a machine that has them"
    )


def test_the_environment_can_forbid_to_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.setenv("PENSTOCK_OFFLINE", "1")
    with pytest.raises(Fatal, match=r"^4 archives missing"):
        jars_for("spark-4.1")


def test_an_unknown_set_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(Fatal, match="no set of archives is called spark-9") as caught:
        jars_for("spark-9")
    assert caught.value.next_step == f"there are {', '.join(locked_sets())}"


def test_a_file_of_another_content_is_named_with_both_sums(tmp_path: Path) -> None:
    right = jar("a")
    (tmp_path / right.file).write_text("A 1.0")
    found = hashlib.sha256(b"A 1.0").hexdigest()
    with pytest.raises(Fatal) as caught:
        obtain([right], tmp_path, fetch=put)
    assert caught.value.where == f"{tmp_path / right.file} has SHA-256 {found}, the lock says {right.sha256}"
    assert caught.value.code == "jar_mismatch"


def test_a_file_cut_short_is_named_with_both_sizes(tmp_path: Path) -> None:
    (tmp_path / "a-1.0.jar").write_text("a")
    with pytest.raises(Fatal, match="an archive in the cache is not the one") as caught:
        verify([jar("a")], tmp_path)
    assert caught.value.where == f"{tmp_path / 'a-1.0.jar'} has 1 bytes, the lock says 5"


def test_a_verified_file_is_not_read_again_until_it_changes(tmp_path: Path) -> None:
    plain = jar("a")
    counting = CountingJar(plain.organisation, plain.name, plain.revision, plain.file, plain.size, plain.sha256)
    put([plain], tmp_path, lambda *_: None)
    path = tmp_path / plain.file
    CountingJar.read = 0
    verify([counting], tmp_path)
    verify([counting], tmp_path)
    assert CountingJar.read == 1
    before = path.stat()
    path.write_text("A 1.0")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # the same size, and the old time put back
    with pytest.raises(Fatal):
        verify([counting], tmp_path)
    assert CountingJar.read == 2


def test_a_new_lock_for_the_same_file_name_is_noticed(tmp_path: Path) -> None:
    put([jar("a")], tmp_path, lambda *_: None)
    verify([jar("a")], tmp_path)
    with pytest.raises(Fatal):
        verify([jar("a", body="A 1.0")], tmp_path)


def test_a_damaged_memory_costs_a_second_look_only(tmp_path: Path) -> None:
    put([jar("a")], tmp_path, lambda *_: None)
    (tmp_path / "verified.json").write_text('["not", ')
    verify([jar("a")], tmp_path)
    assert "a-1.0.jar" in (tmp_path / "verified.json").read_text()


def test_a_fetch_brings_everything_and_reports_all_bytes(tmp_path: Path) -> None:
    wanted = [jar(f"lib{number}") for number in range(7)]
    seen: list[tuple[str, int, int]] = []
    fetch(wanted, tmp_path / "cache/jars", lambda *told: seen.append(told), java=fake_java(tmp_path, IVY))
    assert sorted(path.name for path in (tmp_path / "cache/jars").iterdir()) == [one.file for one in wanted]
    total = sum(one.size for one in wanted)
    assert seen[-1] == ("fetching 7 archives", total, total)
    assert left_behind(tmp_path / "cache") == []


def test_two_versions_of_one_module_are_both_brought(tmp_path: Path) -> None:
    fetch([jar("a", "1.0"), jar("a", "2.0")], tmp_path / "jars", java=fake_java(tmp_path, IVY))
    assert {path.name for path in (tmp_path / "jars").iterdir()} == {"a-1.0.jar", "a-2.0.jar"}


def test_a_wrong_download_is_an_error_and_nothing_is_kept(tmp_path: Path) -> None:
    other = jar("b", body="something else")
    with pytest.raises(Fatal, match=r"^what was downloaded is not what Penstock was released with; nothing was kept\n") as caught:
        fetch([jar("a"), other], tmp_path / "cache/jars", java=fake_java(tmp_path, IVY))
    assert f"the lock says {other.size}" in caught.value.where
    assert list((tmp_path / "cache/jars").iterdir()) == []
    assert left_behind(tmp_path / "cache") == []


def test_a_failed_fetch_says_what_ivy_said_last_without_passwords(tmp_path: Path) -> None:
    java = fake_java(tmp_path, "print('..... (1kB)'); print('\\t:: cannot reach https://me:hunter22@mirror/x'); raise SystemExit(3)")
    with pytest.raises(Retryable) as caught:
        fetch([jar("a")], tmp_path / "cache/jars", java=java)
    assert str(caught.value) == (
        "fetching 1 archive failed: Ivy ended with exit code 3\n"
        "where: cannot reach https://***@mirror/x\n"
        "next:  check the network and run it again; behind a company's mirror let PENSTOCK_IVY_SETTINGS name an Ivy settings file"
    )
    assert left_behind(tmp_path / "cache") == []


def test_a_fetch_that_brings_too_little_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Retryable, match=r"^fetching 1 archive failed: Ivy brought no a-1\.0\.jar\n"):
        fetch([jar("a")], tmp_path / "jars", java=fake_java(tmp_path, "pass"))


def test_a_fetch_in_which_nothing_moves_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "STALL_SECONDS", 0.3)
    java = fake_java(tmp_path, f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    with pytest.raises(Retryable, match="Ivy brought nothing for"):
        fetch([jar("a")], tmp_path / "jars", java=java)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_the_users_own_settings_file_reaches_ivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_IVY_SETTINGS", "/company/ivysettings.xml")
    with pytest.raises(Retryable) as caught:
        fetch([jar("a")], tmp_path / "jars", java=fake_java(tmp_path, "import sys; raise SystemExit(' '.join(sys.argv))"))
    assert " -settings /company/ivysettings.xml " in caught.value.where


def test_two_fetches_at_once_do_each_other_no_harm(tmp_path: Path) -> None:
    wanted, java = [jar(f"lib{number}") for number in range(5)], fake_java(tmp_path, IVY)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(fetch, wanted, tmp_path / "cache/jars", java=java) for _ in range(2)]
        for run in runs:
            run.result(60)
    assert len(obtain(wanted, tmp_path / "cache/jars", fetch=None)) == 5


def test_a_killed_fetch_leaves_nothing_that_is_trusted(tmp_path: Path) -> None:
    slow = IVY.replace("write_text(f", "write_text('half'); Path(given['-retrieve']).parents[2].joinpath('begun').touch(); time.sleep(5); (f")
    java = fake_java(tmp_path, slow)
    program = f"""
        from pathlib import Path
        from penstock.devstack.jars import fetch
        from penstock.devstack.lock import Jar
        fetch([{jar("a")!r}], Path({str(tmp_path / "cache/jars")!r}), java=Path({str(java)!r}))
    """
    source = str(Path(jars.__file__).parents[2])
    running = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], env=os.environ | {"PYTHONPATH": source})
    until = time.monotonic() + 20
    while not list((tmp_path).glob("cache/fetch-*/begun")) and time.monotonic() < until:
        time.sleep(0.02)
    running.kill()
    assert running.wait(10) == -signal.SIGKILL
    assert len(left_behind(tmp_path / "cache")) == 1
    assert list((tmp_path / "cache/jars").iterdir()) == []


def test_what_killed_fetches_left_is_swept_after_a_day(tmp_path: Path) -> None:
    old, young = tmp_path / "cache/fetch-old", tmp_path / "cache/fetch-young"
    for folder, age in ((old, 90_000), (young, 60)):
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - age, time.time() - age))
    fetch([jar("a")], tmp_path / "cache/jars", java=fake_java(tmp_path, IVY))
    assert left_behind(tmp_path / "cache") == ["fetch-young"]


def test_the_ivy_file_asks_for_exactly_what_is_locked() -> None:
    packed = Jar("io.example", "app", "3.3", "app-3.3-all.tar.gz", 1, "0" * 64, classifier="all")
    (entry,) = ElementTree.fromstring(module([packed])).iter("dependency")
    (artifact,) = entry
    assert entry.attrib == {"org": "io.example", "name": "app", "rev": "3.3", "transitive": "false", "conf": "default->default"}
    assert artifact.attrib == {"name": "app", "type": "jar", "ext": "tar.gz", "{http://ant.apache.org/ivy/maven}classifier": "all"}


def test_a_proxy_of_the_environment_is_told_without_its_password() -> None:
    told = proxy_options({"HTTPS_PROXY": "http://me:hunter22@proxy.example:3128", "http_proxy": "plain.example:80"})
    assert told == ["-Dhttps.proxyHost=proxy.example", "-Dhttps.proxyPort=3128", "-Dhttp.proxyHost=plain.example", "-Dhttp.proxyPort=80"]
    assert proxy_options({}) == []


def test_the_lock_is_complete_and_names_no_host() -> None:
    assert {"broker", "spark-4.1", "delta-4.1"} <= set(locked_sets())
    every = [one for entries in locked_sets().values() for one in entries]
    assert all(re.fullmatch("[0-9a-f]{64}", one.sha256) and one.size > 0 and one.extension == "jar" for one in every)
    assert len({one.file for one in every}) == len({(one.file, one.sha256) for one in every})
    text = files("penstock.devstack").joinpath("jars.lock.json").read_text()
    assert "://" not in text + ivy.SETTINGS


def test_the_spark_sets_hold_nothing_that_pyspark_has() -> None:
    shipped = {re.sub(r"-\d.*", "", path.stem) for path in ivy.pyspark_jars().glob("*.jar")}
    assert len(shipped) > 100
    assert [one.name for name in ("spark-4.1", "delta-4.1") for one in locked_sets()[name] if one.name in shipped] == []
