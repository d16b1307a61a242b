"""Make src/penstock/devstack/jars.lock.json anew: the coordinates below in, sizes and SHA-256 sums out.

Run it after changing a version: `python tools/relock_jars.py [set …]` (no set named: all of them). It asks Ivy, out of
PySpark's own folder, for each recipe's whole closure, drops what the recipe excludes and what PySpark ships itself,
and writes what is left. Ivy's settings name no host; `PENSTOCK_IVY_SETTINGS` points to others. Review the diff.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from penstock.devstack.ivy import pyspark_jars
from penstock.devstack.java import find_java

LOCK = Path(__file__).resolve().parent.parent / "src/penstock/devstack/jars.lock.json"
SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="true"/></resolvers>
</ivysettings>"""
ROUND_LIMIT_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one set is made of. `excluded` are globs of "organisation:name"; a set that is not `closed` takes only what is named."""

    wanted: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    closed: bool = True
    beside_pyspark: bool = False


# What the broker's POMs ask for and a broker without Connect never loads: its REST server (Jetty, Jersey, HK2, Jakarta,
# Swagger), plugin discovery, YAML, and what commons-validator drags along. scala-reflect serves macros at compile time only.
BROKER_LEAVES_OUT = (
    "org.eclipse.jetty*:*", "org.glassfish*:*", "jakarta.*:*", "javax.*:*", "com.sun.*:*", "io.swagger*:*", "org.apache.kafka:connect-*",
    "io.github.classgraph:*", "org.codehaus.plexus:*", "org.apache.maven:*", "org.javassist:*", "org.yaml:*", "org.jspecify:*",
    "com.fasterxml.jackson.jakarta*:*", "com.fasterxml.jackson.module:*", "com.fasterxml.jackson.dataformat:jackson-dataformat-yaml",
    "commons-*:commons-logging", "commons-*:commons-digester", "commons-*:commons-beanutils", "commons-*:commons-collections",
    "org.scala-lang:scala-reflect",
)  # fmt: skip
KAFKA = "4.3.1"
RECIPES = {
    # log4j-slf4j-impl binds SLF4J 1.7 (Kafka's) to Log4j 2, which Kafka's classes name directly; the distribution adds it, the POM does not.
    "broker": Recipe(
        (f"org.apache.kafka:kafka_2.13:{KAFKA}", f"org.apache.kafka:kafka-tools:{KAFKA}", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
        BROKER_LEAVES_OUT,
    ),
    # Named one by one: the connector's POM asks for a token provider of its own version, which is not to be had.
    "spark-4.1": Recipe(
        (
            "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.3",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
            "org.apache.kafka:kafka-clients:3.9.1",
            "org.apache.commons:commons-pool2:2.12.1",
        ),
        closed=False,
        beside_pyspark=True,
    ),
    # PySpark has commons-logging's classes in jcl-over-slf4j, its RoaringBitmap needs no shims, and whoever has a Unity Catalog has its client.
    # The kernel stays: DeltaCatalog names its classes.
    "delta-4.1": Recipe(
        ("io.delta:delta-spark_4.1_2.13:4.4.0",),
        ("org.apache.hadoop:*", "org.scala-lang:*", "commons-logging:*", "org.roaringbitmap:shims", "io.unitycatalog:*", "com.fasterxml*:*", "javax.*:*"),
        beside_pyspark=True,
    ),
}


def main(names: Sequence[str]) -> int:
    """Relock the sets named, or all of them; the others keep their entries."""
    unknown = set(names) - set(RECIPES)
    if unknown:
        print(f"no such set: {', '.join(sorted(unknown))}; there are {', '.join(RECIPES)}", file=sys.stderr)
        return 2
    old = json.loads(LOCK.read_text())["sets"] if LOCK.exists() else {}
    sets: dict[str, list[dict[str, str | int]]] = {name: resolved(name) if not names or name in names else old[name] for name in RECIPES}
    refuse_clashes(sets)
    LOCK.write_text(json.dumps({"format": 1, "sets": sets}, indent=1) + "\n")
    for name, entries in sets.items():
        print(f"{name}: {len(entries)} files, {sum(int(entry['size']) for entry in entries) / 1e6:.1f} MB")
    return 0


def resolved(name: str) -> list[dict[str, str | int]]:
    """The lock's entries of one set, sorted by file name."""
    recipe = RECIPES[name]
    shipped = {re.sub(r"-\d.*", "", path.stem) for path in pyspark_jars().glob("*.jar")} if recipe.beside_pyspark else set()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        (work / "settings.xml").write_text(SETTINGS)
        (work / "ivy.xml").write_text(ivy_file(recipe))
        run_ivy(work)
        entries = [entry for entry in described(work) if entry["name"] not in shipped]
    return sorted(entries, key=lambda entry: str(entry["file"]))


def ivy_file(recipe: Recipe) -> str:
    """The module that Ivy resolves for a recipe."""
    lines = ['<ivy-module version="2.0"><info organisation="penstock" module="set"/>', '<configurations><conf name="default"/></configurations><dependencies>']
    confs = "default->runtime,master" if recipe.closed else "default->master"
    for wanted in recipe.wanted:
        organisation, name, revision = wanted.split(":")
        lines.append(f'<dependency org="{organisation}" name="{name}" rev="{revision}" conf="{confs}"/>')
    for excluded in recipe.excluded:
        # Ivy's own glob matcher needs one more library.
        organisation, name = (part.replace(".", r"\.").replace("*", ".*") for part in excluded.split(":"))
        lines.append(f'<exclude org="{organisation}" module="{name}" matcher="regexp"/>')
    return "\n".join([*lines, "</dependencies></ivy-module>"])


def run_ivy(work: Path) -> None:
    """Resolve `work`/ivy.xml; every artifact and the report lie in `work`/cache then."""
    settings = os.environ.get("PENSTOCK_IVY_SETTINGS", str(work / "settings.xml"))
    ivy = next(pyspark_jars().glob("ivy-*.jar"))
    command = [find_java().executable, "-jar", ivy, "-settings", settings, "-ivy", work / "ivy.xml", "-cache", work / "cache"]
    answer = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=ROUND_LIMIT_SECONDS, check=False)
    if answer.returncode:
        raise SystemExit(f"Ivy failed ({answer.returncode}):\n" + "\n".join((answer.stdout + answer.stderr).splitlines()[-30:]))


def described(work: Path) -> Iterator[dict[str, str | int]]:
    """A lock entry for every artifact of Ivy's report."""
    report = ElementTree.parse(work / "cache" / "penstock-set-default.xml")
    for module in report.iter("module"):
        for revision in module.iter("revision"):
            for artifact in revision.iter("artifact"):
                body = Path(artifact.attrib["location"]).read_bytes()
                classifier = next((value for key, value in artifact.attrib.items() if key.endswith("classifier")), "")
                stem = "-".join(filter(None, (artifact.attrib["name"], revision.attrib["name"], classifier)))
                yield {
                    "organisation": module.attrib["organisation"],
                    "name": module.attrib["name"],
                    "revision": revision.attrib["name"],
                    **({"classifier": classifier} if classifier else {}),
                    "file": f"{stem}.{artifact.attrib['ext']}",
                    "size": len(body),
                    "sha256": hashlib.sha256(body).hexdigest(),
                }


def refuse_clashes(sets: dict[str, list[dict[str, str | int]]]) -> None:
    """All sets share one folder, so one file name must mean one file."""
    sums: dict[str | int, str | int] = {}
    for entries in sets.values():
        for entry in entries:
            if sums.setdefault(entry["file"], entry["sha256"]) != entry["sha256"]:
                raise SystemExit(f"two different files are called {entry['file']}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
