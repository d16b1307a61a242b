"""The pipeline as it is seen from outside, by its files alone: what it has planned, what its tables hold, what lies staged."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import msgspec

from penstock.demo.place import Place
from penstock.run.batch_plan import BatchPlan


@dataclass(frozen=True, slots=True)
class Commit:
    """One version of a table that a batch made."""

    version: int
    batch: int
    read: int
    """How many records the batch had read."""
    seen_at: float
    """When the version's file was written, in seconds of the epoch."""


@dataclass(frozen=True, slots=True)
class Sight:
    """How far the pipeline is."""

    planned: int
    """The latest batch with a plan file; -1 where there is none."""
    committed: frozenset[int]
    """The batches whose rows are in the table."""
    records: int
    """How many records those batches read."""
    version: int
    """The table's last version; -1 where there is no table."""

    @property
    def working(self) -> int | None:
        """The batch that has begun and has no row in the table, if there is one."""
        return None if self.planned < 0 or self.planned in self.committed else self.planned


@dataclass(frozen=True, slots=True)
class InFlight:
    """A batch that had begun and was in the table not at all, or with its rows and not yet its dead letters."""

    batch: int
    records: int
    rows_committed: bool
    staged_files: int
    version: int


class TableLog:
    """The commits of one Delta table, read from its log as they appear."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.version = -1
        self.commits: list[Commit] = []
        self.files: set[str] = set()

    def read(self) -> None:
        """Take in the versions that have appeared since."""
        while (path := self._folder / f"_delta_log/{self.version + 1:020d}.json").exists():
            self.version += 1
            self._take(path)

    def staged(self, batch: int | None = None) -> set[str]:
        """The data files, of one batch or of all, that lie in the table's folder and are part of no version."""
        pattern = "*.parquet" if batch is None else f"part-{batch:08d}-*.parquet"
        return {path.name for path in self._folder.glob(pattern)} - self.files

    def _take(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines():
            action = json.loads(line)
            if "add" in action:
                self.files.add(unquote(action["add"]["path"]))
            if note := action.get("commitInfo", {}).get("penstock"):
                said = json.loads(note)
                batch = int(said["token"].rpartition(":")[2])
                self.commits.append(Commit(self.version, batch, said["read"], path.stat().st_mtime))


class Watch:
    """Looks at one pipeline again and again."""

    def __init__(self, place: Place) -> None:
        self._plans = place.state / "queries/main/plans"
        self.rows = TableLog(place.table)
        self.dead = TableLog(place.dead_letters)

    def look(self) -> Sight:
        """How far it is now."""
        self.rows.read()
        self.dead.read()
        planned = max((int(path.name.partition(".")[0]) for path in self._plans.glob("*/[0-9]*.json")), default=-1)
        commits = {commit.batch: commit for commit in self.rows.commits}
        return Sight(planned, frozenset(commits), sum(commit.read for commit in commits.values()), self.rows.version)

    def in_flight(self) -> InFlight | None:
        """The batch that has begun and is not wholly in the tables. To be asked when nothing of the pipeline runs any more."""
        sight = self.look()
        batch, rows_in = sight.planned, sight.planned in sight.committed
        staged = len(self.rows.staged(batch)) + len(self.dead.staged(batch))
        if batch < 0 or (rows_in and (not staged or batch in {commit.batch for commit in self.dead.commits})):
            return None
        return InFlight(batch, self.records(batch), rows_in, staged, sight.version)

    def begun_at(self, batch: int) -> float | None:
        """When the batch's plan file was written, in seconds of the epoch; None before that."""
        try:
            return self._plan(batch).stat().st_mtime
        except FileNotFoundError:
            return None

    def work_seconds(self, batch: int) -> float | None:
        """From a batch's plan to its commit; None where it was not committed."""
        begun = self.begun_at(batch)
        ended = next((commit.seen_at for commit in self.rows.commits if commit.batch == batch), None)
        return None if begun is None or ended is None else max(ended - begun, 0.01)

    def records(self, batch: int) -> int:
        """How many records the batch planned to read."""
        plan = msgspec.json.decode(self._plan(batch).read_bytes(), type=BatchPlan)
        return sum(item.offsets for item in plan.ranges)

    def versions_made(self) -> Counter[tuple[str, int]]:
        """How many versions each batch made, by table."""
        self.look()
        return Counter((name, commit.batch) for name, log in (("rows", self.rows), ("dead", self.dead)) for commit in log.commits)

    def left_behind(self) -> int:
        """How many data files lie about that no version knows: what was staged when the pipeline was killed."""
        self.look()
        return len(self.rows.staged()) + len(self.dead.staged())

    def _plan(self, batch: int) -> Path:
        found = sorted(self._plans.glob(f"*/{batch:012d}*.json"))
        return found[0] if found else self._plans / "none"
