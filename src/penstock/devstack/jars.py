"""The archives that a JVM of ours is started with: from the per-user cache, fetched when missing, never used unverified.

They lie in `jars/` of the cache, one file a name, shared by all sets and all environments of the user. A file is compared
with the lock once; size and times are remembered, so that later starts read no 100 MB, yet notice a file that changed.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from penstock.devstack.ivy import IvyRun
from penstock.devstack.java import find_java
from penstock.devstack.lock import Jar, counted, locked_sets
from penstock.devstack.places import cache_directory, write_atomically
from penstock.devstack.progress import Progress, silent
from penstock.devstack.trust import trust_options
from penstock.errors import Fatal

Fetch: TypeAlias = Callable[[Sequence[Jar], Path, Progress], None]

RUNS = 2  # side by side: a download waits for round trips more than for bytes, and each run costs a JVM
STALL_SECONDS = 120
LEFT_BEHIND_SECONDS = 86_400
LOOK_EVERY_SECONDS = 0.2


def jars_for(*sets: str, offline: bool | None = None, progress: Progress = silent) -> tuple[Path, ...]:
    """The verified archives of the sets named, such as "broker" or "spark-4.1"; those missing are fetched first.

    `offline` (or PENSTOCK_OFFLINE=1) never starts a download: what is missing is one error that names it.
    """
    unknown = [name for name in sets if name not in locked_sets()]
    if unknown:
        raise Fatal(f"no set of archives is called {', '.join(unknown)}", code="jars_unknown", next_step=f"there are {', '.join(locked_sets())}")
    stay_offline = _offline(os.environ) if offline is None else offline
    wanted = {jar.file: jar for name in sets for jar in locked_sets()[name]}
    return obtain(list(wanted.values()), cache_directory() / "jars", fetch=None if stay_offline else fetch, progress=progress)


def obtain(jars: Sequence[Jar], folder: Path, *, fetch: Fetch | None, progress: Progress = silent) -> tuple[Path, ...]:
    """The verified files of `jars` in `folder`; those missing are brought by `fetch`, or are an error where there is none."""
    verify(jars, folder)
    missing = [jar for jar in jars if not (folder / jar.file).exists()]
    if missing and fetch is None:
        raise Fatal(
            f"{counted(missing)} missing, and fetching is forbidden (--offline or PENSTOCK_OFFLINE): {', '.join(jar.file for jar in missing)}",
            code="jars_missing",
            where=str(folder),
            next_step="run once with a network, without --offline and PENSTOCK_OFFLINE, or copy the folder from a machine that has them",
        )
    if missing and fetch is not None:
        fetch(missing, folder, progress)
        verify(jars, folder)
    return tuple(folder / jar.file for jar in jars)


def verify(jars: Sequence[Jar], folder: Path) -> None:
    """Compare what is there of `jars` with the lock; `Fatal` names every file that differs, with both sums."""
    memory = folder / "verified.json"
    known = _remembered(memory)
    fresh: dict[str, object] = {}
    wrong: list[str] = []
    for jar in jars:
        path = folder / jar.file
        if not path.is_file():
            continue
        seen = [*_fingerprint(path), jar.sha256]
        if known.get(jar.file) != seen:
            problem = jar.mismatch(path)
            wrong += [problem] if problem else []
            fresh |= {} if problem else {jar.file: seen}
    if fresh:  # two processes may write this at once: what one forgets is hashed again, nothing more
        write_atomically(memory, json.dumps(known | fresh, indent=0))
    if wrong:
        raise Fatal(
            "an archive in the cache is not the one that Penstock was released with; it was not used",
            code="jar_mismatch",
            where="; ".join(wrong),
            next_step="delete that file: the next start fetches it anew",
        )


def fetch(jars: Sequence[Jar], folder: Path, progress: Progress = silent, *, java: Path | None = None) -> None:
    """Download `jars` into `folder`, all of them or none: what arrives is checked in a private folder, then renamed.

    Harmless when two processes do it at once, and when it is killed: nothing unchecked ever bears a final name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetch-") as temporary:
        runs: list[IvyRun] = []
        try:
            starter, options = _starter(java, Path(temporary))
            for index, share in enumerate(_shares(jars)):
                runs.append(IvyRun(share, Path(temporary) / str(index), java=starter, options=options))
            _watch(runs, progress)
        finally:
            for run in runs:
                run.end()
        arrived = {jar: run.arrived(jar) for run in runs for jar in run.jars}
        wrong = [problem for jar, path in arrived.items() if (problem := jar.mismatch(path))]
        if wrong:
            raise Fatal(
                "what was downloaded is not what Penstock was released with; nothing was kept",
                code="jar_mismatch",
                where="; ".join(wrong),
                next_step="ask whoever runs the repository that your Ivy settings name; a file that differs is never started",
            )
        for jar, path in arrived.items():
            path.replace(folder / jar.file)


def _starter(java: Path | None, folder: Path) -> tuple[Path, Sequence[str]]:
    """The java to download with, and the options it needs to trust whom this machine trusts."""
    if java is not None:
        return java, ()
    found = find_java()
    return found.executable, trust_options(folder) if found.came_along else ()


def _watch(runs: Sequence[IvyRun], progress: Progress) -> None:
    """Wait for `runs`; `Retryable` as soon as one fails, or when nothing has arrived for two minutes."""
    total = sum(jar.size for run in runs for jar in run.jars)
    label = f"fetching {counted([jar for run in runs for jar in run.jars])}"
    done, moved = 0, time.monotonic()
    while [run for run in runs if run.running()]:  # each is asked, so that a failure is seen at once
        now = sum(run.bytes_so_far() for run in runs)
        if now != done:
            done, moved = now, time.monotonic()
        elif time.monotonic() - moved > STALL_SECONDS:
            raise runs[0].failure(f"brought nothing for {STALL_SECONDS} seconds")
        progress(label, done, total)
        time.sleep(LOOK_EVERY_SECONDS)
    progress(label, total, total)


def _shares(jars: Sequence[Jar]) -> list[list[Jar]]:
    """`jars` in at most `RUNS` parts that take about as long: the number counts, so the heavy ones are dealt out in turn."""
    heaviest_first = sorted(jars, key=lambda jar: jar.size, reverse=True)
    return [part for index in range(RUNS) if (part := heaviest_first[index::RUNS])]


def _sweep(folder: Path) -> None:
    """Remove what downloads left behind that were killed a day ago or more."""
    for left in folder.glob("fetch-*"):
        if time.time() - left.stat().st_mtime > LEFT_BEHIND_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def _remembered(memory: Path) -> dict[str, object]:
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _fingerprint(path: Path) -> tuple[int, int, int]:
    # The change time too: unlike the modification time it cannot be set back by whoever edits the file.
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _offline(environment: Mapping[str, str]) -> bool:
    return environment.get("PENSTOCK_OFFLINE", "").lower() in {"1", "true", "yes"}
