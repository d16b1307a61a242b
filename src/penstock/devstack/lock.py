"""The lock: which archives make up each set, by coordinates, size and SHA-256; and whether a file is the one it names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO


@dataclass(frozen=True, slots=True)
class Jar:
    """One archive, exactly: where it is published, what its file is called, and what must be in it."""

    organisation: str
    name: str
    revision: str
    file: str
    size: int
    sha256: str
    classifier: str = ""

    @property
    def extension(self) -> str:
        """What follows the name in `file`: "jar", or "tar.gz"."""
        stem = "-".join(filter(None, (self.name, self.revision, self.classifier)))
        return self.file.removeprefix(f"{stem}.")

    def mismatch(self, path: Path) -> str | None:
        """None when `path` is this very archive; otherwise both sizes, or both sums, in words."""
        size = path.stat().st_size
        if size != self.size:
            return f"{path} has {size} bytes, the lock says {self.size}"
        with path.open("rb") as stream:
            found = _sha256(stream)
        return None if found == self.sha256 else f"{path} has SHA-256 {found}, the lock says {self.sha256}"


def counted(jars: Sequence[Jar]) -> str:
    """ "1 archive" or "7 archives"."""
    return "1 archive" if len(jars) == 1 else f"{len(jars)} archives"


def _sha256(stream: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := stream.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


@cache
def locked_sets() -> Mapping[str, tuple[Jar, ...]]:
    """Every set of the lock that this version of Penstock was released with, by its name."""
    lock = json.loads(files("penstock.devstack").joinpath("jars.lock.json").read_text(encoding="utf-8"))
    return MappingProxyType({name: tuple(Jar(**entry) for entry in entries) for name, entries in lock["sets"].items()})
