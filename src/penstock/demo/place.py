"""The demo's folder: where everything of it lies, and who removes it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from penstock.demo import sweep

TOPIC = "payments"
SERVERS_IN_FILE, RECORDS_IN_FILE = "127.0.0.1:9092", "125000"
ASK_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parts of one demo lie; the pipeline's own as its file says."""

    folder: Path

    @property
    def pipeline(self) -> Path:
        return self.folder / "pipeline.yaml"

    @property
    def log(self) -> Path:
        """What the pipeline says, in all its runs."""
        return self.folder / "run.log"

    @property
    def kafka(self) -> Path:
        return self.folder / "kafka"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def table(self) -> Path:
        return self.folder / "lake/payments"

    @property
    def dead_letters(self) -> Path:
        return self.folder / "lake/payments_dead"

    @property
    def state(self) -> Path:
        return self.folder / "state/payments"

    def write_pipeline(self, servers: str, records_per_batch: int) -> str:
        """Write the pipeline's file as it is shipped, for this broker and this size of batches; the answer is its text."""
        shipped = files("penstock.demo").joinpath("pipeline.yaml").read_text(encoding="utf-8")
        text = shipped.replace(SERVERS_IN_FILE, servers).replace(RECORDS_IN_FILE, str(records_per_batch))
        self.pipeline.write_text(text, encoding="utf-8")
        return text


@contextmanager
def temporary_place(*, keep: bool) -> Iterator[Place]:
    """A new folder that goes when the block ends or this process does, even by SIGKILL, unless it is to be kept."""
    place = Place(Path(tempfile.mkdtemp(prefix="penstock-demo-")))
    for part in (place.kafka, place.temporary):
        part.mkdir()
    sweeper = None if keep else _sweeper(place.folder)
    try:
        yield place
    finally:
        if sweeper is not None:
            shutil.rmtree(place.folder, ignore_errors=True)
            sweeper.wait(ASK_SECONDS)


def _sweeper(folder: Path) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-I", "-S", sweep.__file__, str(os.getpid()), str(folder)]
    # A session of its own, so that Ctrl-C in the terminal does not reach it.
    return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/")
