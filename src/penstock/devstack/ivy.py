"""One run of Apache Ivy, which lies in PySpark's own folder: no other tool is needed, and no host is named by us.

Every archive is asked for by itself ("transitive" off, no POM read), so Ivy decides nothing and is quick.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from penstock.devstack.lock import Jar, counted
from penstock.errors import Fatal, Retryable

# `ibiblio` knows its own root; without "usepoms" no metadata is read; without "checksums" no side file: the lock's sums are stronger.
SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false" checksums=""/></resolvers>
</ivysettings>
"""
PATTERN = "[artifact]-[revision](-[classifier]).[ext]"
END_SECONDS = 5
TOLD_LINES = 8


def pyspark_jars() -> Path:
    """The folder of archives that PySpark ships, found without importing it."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise Fatal("PySpark is not installed in this environment", code="pyspark_missing", next_step="`pip install penstock` brings it along")
    return Path(spec.origin).parent / "jars"


class IvyRun:
    """An Ivy process that brings `jars` into `folder`/out; it touches nothing outside `folder`."""

    def __init__(self, jars: Sequence[Jar], folder: Path, *, java: Path, options: Sequence[str] = (), environment: Mapping[str, str] = os.environ) -> None:
        folder.mkdir(parents=True)
        self.jars, self._folder = tuple(jars), folder
        (folder / "settings.xml").write_text(SETTINGS, encoding="utf-8")
        (folder / "ivy.xml").write_text(module(jars), encoding="utf-8")
        self._settings = environment.get("PENSTOCK_IVY_SETTINGS") or str(folder / "settings.xml")
        command: list[str | Path] = [
            java,
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            f"-Divy.default.ivy.user.dir={folder / 'user'}",
            *proxy_options(environment),
            *options,
        ]
        command += ["-jar", _ivy_jar(), "-settings", self._settings, "-ivy", folder / "ivy.xml", "-cache", folder / "cache"]
        command += ["-retrieve", f"{folder}/out/{PATTERN}", "-warn"]
        with (folder / "ivy.log").open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def bytes_so_far(self) -> int:
        """How much has been downloaded; never more than what `jars` weigh."""
        sizes = (_size(path) for path in (self._folder / "cache").rglob("*") if path.suffix not in {".xml", ".properties"})
        return min(sum(sizes), sum(jar.size for jar in self.jars))

    def running(self) -> bool:
        """True until Ivy is done; `Retryable` with the end of its output when it failed."""
        code = self._process.poll()
        if code:
            raise self.failure(f"ended with exit code {code}")
        return code is None

    def arrived(self, jar: Jar) -> Path:
        """Where `jar` lies after a run that succeeded."""
        path = self._folder / "out" / jar.file
        if not path.is_file():
            raise self.failure(f"brought no {jar.file}")
        return path

    def failure(self, how: str) -> Retryable:
        """The error to raise when Ivy `how`, with what it said last."""
        said = (self._folder / "ivy.log").read_text(encoding="utf-8", errors="replace")
        said = re.sub(r"://[^/\s@]+@", "://***@", said)  # a settings file may hold a password in an address
        kept = [line.strip(" :\t") for line in said.splitlines() if line.strip(" :\t.") and not line.startswith("..")]  # less progress dots
        return Retryable(
            f"fetching {counted(self.jars)} failed: Ivy {how}",
            code="jars_fetch_failed",
            where=" | ".join(kept[-TOLD_LINES:]) or self._settings,
            next_step="check the network and run it again; behind a company's mirror let PENSTOCK_IVY_SETTINGS name an Ivy settings file",
        )

    def end(self) -> None:
        """Make sure that the process is gone."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(END_SECONDS)


def module(jars: Sequence[Jar]) -> str:
    """The Ivy file that asks for exactly `jars`."""
    lines = [
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">',
        '<info organisation="penstock" module="jars"/><configurations><conf name="default"/></configurations><dependencies>',
    ]
    for jar in jars:
        classifier = f" m:classifier={quoteattr(jar.classifier)}" if jar.classifier else ""
        artifact = f'<artifact name={quoteattr(jar.name)} type="jar" ext={quoteattr(jar.extension)}{classifier}/>'
        named = f"org={quoteattr(jar.organisation)} name={quoteattr(jar.name)} rev={quoteattr(jar.revision)}"
        lines.append(f'<dependency {named} transitive="false" conf="default->default">{artifact}</dependency>')
    # Two sets may want two versions of one module (kafka-clients): keep both, each by its own file name.
    return "\n".join([*lines, '<conflict manager="all"/></dependencies></ivy-module>'])


def proxy_options(environment: Mapping[str, str]) -> list[str]:
    """What tells a JVM of the proxy in HTTPS_PROXY or HTTP_PROXY; a password in it is left out, for arguments can be seen by anyone."""
    options = []
    for scheme in ("https", "http"):
        given = environment.get(f"{scheme}_proxy") or environment.get(f"{scheme.upper()}_PROXY") or ""
        address = urlsplit(given if "//" in given else f"//{given}")
        if address.hostname:
            options.append(f"-D{scheme}.proxyHost={address.hostname}")
            options += [f"-D{scheme}.proxyPort={address.port}"] if address.port else []
    return options


def _ivy_jar() -> Path:
    found = sorted(pyspark_jars().glob("ivy-*.jar"))
    if not found:
        raise Fatal("PySpark's folder holds no Ivy", code="pyspark_damaged", where=str(pyspark_jars()), next_step="install PySpark again")
    return found[-1]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:  # Ivy renames a part to its final name while we look
        return 0
