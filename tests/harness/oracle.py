"""The oracle: each committed source record exactly once in the table or among the dead letters, with its own content.

It reads Kafka and the tables by itself and believes no ledger. Verdicts: `lost`, `doubled` (more than one place or twice in
one), `strange` (in a sink, not in Kafka), `altered` (content that is not the record's).
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable

from harness.load import Coordinates, Record

NOTHING = pa.table({"_source": pa.array([], pa.struct([("topic_id", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]))})


@dataclass
class Verdict:
    """What is wrong; all empty where nothing is."""

    lost: list[Coordinates] = field(default_factory=list)
    doubled: list[Coordinates] = field(default_factory=list)
    strange: list[Coordinates] = field(default_factory=list)
    altered: list[Coordinates] = field(default_factory=list)

    def __bool__(self) -> bool:
        """True where all is well."""
        return not (self.lost or self.doubled or self.strange or self.altered)

    def __str__(self) -> str:
        return f"lost {len(self.lost)}, doubled {len(self.doubled)}, strange {len(self.strange)}, altered {len(self.altered)}"


def delta_rows(path: Path) -> pa.Table:
    """Every row of a Delta table as its log says, read file by file with plain Parquet; none where there is no table."""
    if not DeltaTable.is_deltatable(str(path)):
        return NOTHING
    uris = DeltaTable(str(path)).file_uris()
    return ds.dataset(uris, format="parquet").to_table() if uris else NOTHING


def parquet_rows(path: Path) -> pa.Table:
    """Every row of a plain Parquet folder."""
    return ds.dataset(str(path), format="parquet").to_table()


def coordinates(rows: pa.Table) -> list[Coordinates]:
    """Where each row came from."""
    source = rows.column("_source").combine_chunks()
    return list(zip(*(source.field(name).to_pylist() for name in ("topic_id", "partition", "offset")), strict=True))


def judge(kafka: dict[Coordinates, Record], rows: pa.Table, dead: pa.Table) -> Verdict:
    """Compare what Kafka holds with what the sinks hold."""
    seen, verdict = Counter[Coordinates](), Verdict()
    for place, row in zip(coordinates(rows), rows.drop_columns(["_source"]).to_pylist(), strict=True):
        seen[place] += 1
        if place in kafka and not _is_row(kafka[place], row):
            verdict.altered.append(place)
    for place, letter in zip(coordinates(dead), dead.drop_columns(["_source"]).to_pylist(), strict=True):
        seen[place] += 1
        if place in kafka and kafka[place] != Record(letter["key"], letter["value"], tuple((each["key"], each["value"]) for each in letter["headers"] or ())):
            verdict.altered.append(place)
    verdict.lost = [place for place in kafka if not seen[place]]
    verdict.doubled = [place for place, times in seen.items() if times > 1]
    verdict.strange = [place for place in seen if place not in kafka]
    return verdict


def _is_row(record: Record, row: dict[str, object]) -> bool:
    """True where the record is JSON that says what each column says."""
    try:
        found = json.loads(record.value or b"")
        return all(found.get(name) == value for name, value in row.items())
    except (ValueError, AttributeError):
        return False
