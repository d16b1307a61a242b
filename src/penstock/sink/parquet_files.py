"""The writer half of the file sinks: rows in, Parquet files with statistics out. Runs inside the tasks."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.errors import Retryable
from penstock.sink.port import TaskPlace
from penstock.sink.statistics import file_statistics

ROW_GROUP_ROWS = 1_000_000
ROW_GROUP_BYTES = 64 << 20  # what a task holds in Arrow form before it is encoded
FILE_BYTES = 256 << 20


class StagedFile(msgspec.Struct, frozen=True):
    """One data file that lies beside the table and is not part of it yet."""

    path: str
    size: int
    rows: int
    statistics: str
    modified_millis: int


@dataclass(frozen=True, slots=True)
class ParquetStage:
    """Stages rows as Parquet files under `root`; picklable, opened once a task attempt."""

    root: str

    def open(self, place: TaskPlace) -> ParquetWriter:
        return ParquetWriter(Path(self.root), place)


@dataclass(slots=True)
class ParquetWriter:
    """Writes the files of one task attempt. A name holds a random part and is never used again, so a zombie task can touch no other's file."""

    root: Path
    place: TaskPlace
    _pending: list[pa.RecordBatch] = field(default_factory=list)
    _pending_rows: int = 0
    _pending_bytes: int = 0
    _open: _OpenFile | None = None
    _done: list[str] = field(default_factory=list)
    _made: list[Path] = field(default_factory=list)

    def write(self, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        self._pending.append(rows)
        self._pending_rows += rows.num_rows
        self._pending_bytes += rows.nbytes
        if self._pending_rows >= ROW_GROUP_ROWS or self._pending_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> Sequence[str]:
        self._flush()
        self._end_file()
        return self._done

    def abandon(self) -> None:
        for path in self._made:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def _flush(self) -> None:
        if not self._pending:
            return
        table = pa.Table.from_batches(self._pending)
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
        try:
            if self._open is None:
                self._open = self._begin_file(table.schema)
            if self._open.add(table) >= FILE_BYTES:
                self._end_file()
        except OSError as error:
            raise unwritable(self.root, error) from error

    def _begin_file(self, schema: pa.Schema) -> _OpenFile:
        path = self.root / f"part-{self.place.batch:08d}-{self.place.task:05d}-{uuid.uuid4().hex}.zstd.parquet"
        self._made.append(path)
        return _OpenFile(path, schema)

    def _end_file(self) -> None:
        if self._open is not None:
            try:
                self._done.append(msgspec.json.encode(self._open.end()).decode())
            except OSError as error:
                raise unwritable(self.root, error) from error
            self._open = None


class _OpenFile:
    """One Parquet file being written."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._footers: list[pq.FileMetaData] = []
        self._with_nan: set[str] = set()
        self._stream = path.open("xb")
        self._parquet = pq.ParquetWriter(self._stream, schema, compression="zstd", compression_level=1, metadata_collector=self._footers)

    def add(self, table: pa.Table) -> int:
        """Write a row group; the answer is the file's size so far."""
        for name in _floating(self._schema):
            if pc.any(pc.is_nan(table.column(name))).as_py():
                self._with_nan.add(name)
        self._parquet.write_table(table, row_group_size=ROW_GROUP_ROWS)
        return self._stream.tell()

    def end(self) -> StagedFile:
        self._parquet.close()
        size = self._stream.tell()
        self._stream.close()
        footer = self._footers[0]
        statistics = file_statistics(footer, self._schema, self._with_nan)
        return StagedFile(self._path.name, size, footer.num_rows, statistics, int(time.time() * 1000))


def _floating(schema: pa.Schema) -> list[str]:
    return [item.name for item in schema if pa.types.is_floating(item.type)]


def unwritable(root: Path, error: OSError) -> Retryable:
    """The translation of what the file system says when it takes no data."""
    return Retryable(
        f"a data file cannot be written: {error.strerror or error}",
        code="sink_not_writable",
        where=str(root),
        next_step="see that the place exists, has space and may be written; nothing of the batch is visible, running again is safe",
    )
