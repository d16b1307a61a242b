"""Delta tables that delta-rs itself would not make: their log written by hand."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

READER_WRITER_FEATURES = frozenset({"columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck", "variantType"})
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def table_with(
    path: Path,
    schema: pa.Schema,
    *features: str,
    protocol: Mapping[str, Any] | None = None,
    configuration: Mapping[str, str] | None = None,
    properties: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """An empty table whose first commit says so. `properties`: for a column its metadata."""
    DeltaTable.create(str(path), schema=schema)
    reader = sorted(READER_WRITER_FEATURES & set(features))
    asked = {"minReaderVersion": 3 if reader else 1, "minWriterVersion": 7, "writerFeatures": list(features)}
    first = path / "_delta_log/00000000000000000000.json"
    actions = [json.loads(line) for line in first.read_text().splitlines()]
    for action in actions:
        if "protocol" in action and (features or protocol):
            action["protocol"] = dict(protocol or {**asked, **({"readerFeatures": reader} if reader else {})})
        if "metaData" in action:
            action["metaData"]["configuration"] = dict(configuration or {})
            columns = json.loads(action["metaData"]["schemaString"])
            for column in columns["fields"]:
                column["metadata"] = dict((properties or {}).get(column["name"], {}))
            action["metaData"]["schemaString"] = json.dumps(columns)
    _write(first, actions)
    return path


def add_commit(path: Path, *actions: Mapping[str, Any]) -> None:
    """One more commit of these actions."""
    _write(path / f"_delta_log/{DeltaTable(str(path)).version() + 1:020d}.json", [{"commitInfo": {"operation": "by hand"}}, *actions])


def delete_by_vector(path: Path, *places: int) -> None:
    """Delete the rows at these places of the table's one file by a deletion vector, as Spark's DELETE does."""
    log = sorted((path / "_delta_log").glob("*.json"))
    (added,) = [action["add"] for file in log for line in file.read_text().splitlines() if "add" in (action := json.loads(line))]
    statistics = {**json.loads(added["stats"]), "tightBounds": False}
    vector = _vector(places)
    described = {"storageType": "i", "pathOrInlineDv": _z85(vector), "sizeInBytes": len(vector), "cardinality": len(places)}
    removed = {"path": added["path"], "deletionTimestamp": 1, "dataChange": True}
    add_commit(path, {"remove": removed}, {"add": {**added, "stats": json.dumps(statistics), "deletionVector": described}})


def _vector(places: Sequence[int]) -> bytes:
    """Places below 65,536 as the portable form of a roaring bitmap array: one bitmap, one array container."""
    container = struct.pack("<HHI", 0, len(places) - 1, 16) + b"".join(struct.pack("<H", place) for place in sorted(places))
    return struct.pack("<IQI", 1681511377, 1, 0) + struct.pack("<II", 12346, 1) + container


def _z85(content: bytes) -> str:
    padded = content + bytes(-len(content) % 4)
    numbers = (int.from_bytes(padded[at : at + 4], "big") for at in range(0, len(padded), 4))
    return "".join(Z85[number // 85**power % 85] for number in numbers for power in (4, 3, 2, 1, 0))


def _write(file: Path, actions: Sequence[Mapping[str, Any]]) -> None:
    file.write_text("".join(json.dumps(action) + "\n" for action in actions))
