"""Where each record goes: a row, filtered, or dead. Arrow in, Arrow out; runs inside the tasks.

Without Spark SQL a block is sorted as it was decoded. With it, every record travels through Spark SQL as one row whose
last columns say what it is (`records.TRAVELLING`), and is sorted behind it: each record that was read arrives and is
counted. Behind a whole query, the rows that it made arrive besides: what it dropped is the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.records import DEAD_LETTERS, FAULT, SOURCE_COLUMN, TRAVELLING, Block, Decoded, RecordFault, headers_from
from penstock.values import BatchCounts


@dataclass(frozen=True, slots=True)
class Origin:
    """Which batch of which flow a dead letter comes from, by the names that people know."""

    pipeline: str
    flow: str
    generation: str
    batch: int


class Way(Enum):
    """How records came through Spark SQL: marked only; through a query, one row a record; or made into other rows."""

    MARKED = "marked"
    ONE_ROW_A_RECORD = "one row a record"
    OTHER_ROWS = "other rows"


@dataclass(frozen=True, slots=True)
class Sorted:
    """Some records, sorted: what goes to the sink, what to the dead letters, the count and the coordinates of everything."""

    rows: pa.RecordBatch
    dead: pa.RecordBatch
    counts: BatchCounts
    source: pa.StructArray


def sort_block(block: Block, decoded: Decoded, origin: Origin) -> Sorted:
    """Every record of the block in exactly one place; a null value that is no fault counts as filtered."""
    source = block.source if decoded.indexes is None else block.source.take(pa.array(decoded.indexes))
    rows = decoded.rows.append_column(SOURCE_COLUMN, source)
    faults = decoded.faults
    counts = BatchCounts(read=len(block), rows=rows.num_rows, filtered=_null_values(block), dead=len(faults))
    if not faults:
        return Sorted(rows, EMPTY, counts, block.source)
    places = _places(faults)
    return Sorted(rows, _letters(block.source.take(places), _described(block, faults, places), origin), counts, block.source)


def marked(block: Block, decoded: Decoded) -> pa.RecordBatch:
    """Every record of the block as one row for Spark SQL: rows first, then the faulty, then the null values."""
    rows, faults = decoded.rows, decoded.faults
    indexes = np.arange(rows.num_rows) if decoded.indexes is None else decoded.indexes
    nulls = np.flatnonzero(~block.values.present) if block.values.present is not None else np.empty(0, np.int64)
    order = pa.array(np.concatenate([indexes, [fault.index for fault in faults], nulls]).astype(np.int64))
    others = len(order) - rows.num_rows
    columns = [pa.concat_arrays([column, pa.nulls(others, column.type)]) if others else column for column in rows.columns]
    described = [pa.nulls(rows.num_rows, FAULT), _described(block, faults, _places(faults)), pa.nulls(len(nulls), FAULT)]
    kept = pa.array(np.arange(len(order)) < rows.num_rows)
    return pa.RecordBatch.from_arrays([*columns, block.source.take(order), pa.concat_arrays(described), kept], schema=travelling(rows.schema))


def sort_marked(batch: pa.RecordBatch, origin: Origin, columns: Sequence[str], way: Way) -> Sorted:
    """The records behind Spark SQL, each in exactly one place; of the rows the sink's own `columns`."""
    source, fault, kept = (batch.column(field.name) for field in TRAVELLING)
    is_dead = fault.is_valid()
    rows = batch.filter(kept).select(columns)
    dead = _letters(source.filter(is_dead), fault.filter(is_dead), origin)
    records = len(batch) if way is Way.MARKED else len(batch) - rows.num_rows  # behind a query its rows travel besides the records
    counts = BatchCounts(records, rows.num_rows, records - rows.num_rows - dead.num_rows, dead.num_rows)
    if way is Way.OTHER_ROWS:
        passed = kept.null_count
        counts = BatchCounts(records, passed, records - passed - dead.num_rows, dead.num_rows, written=rows.num_rows)
    return Sorted(rows, dead, counts, source if way is Way.MARKED else source.filter(pc.invert(pc.fill_null(kept, False))))


def travelling(schema: pa.Schema) -> pa.Schema:
    """The columns of a flow's rows with those that every record carries behind them; all nullable."""
    return pa.schema([*(field.with_nullable(True) for field in schema), *TRAVELLING])


def _null_values(block: Block) -> int:
    present = block.values.present
    return 0 if present is None else int(len(block) - present.sum())


def _places(faults: tuple[RecordFault, ...]) -> pa.Array:
    return pa.array(np.fromiter((fault.index for fault in faults), np.int64, len(faults)))


def _described(block: Block, faults: tuple[RecordFault, ...], places: pa.Array) -> pa.StructArray:
    columns = [
        pa.array([fault.error_class for fault in faults], pa.string()),
        pa.array([fault.reason for fault in faults], pa.string()),
        block.keys.take(places),
        pa.array([block.values[fault.index] for fault in faults], pa.binary()),
        block.headers.take(places),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(FAULT))


def _letters(source: pa.StructArray, fault: pa.StructArray, origin: Origin) -> pa.RecordBatch:
    count = len(fault)
    values = {
        SOURCE_COLUMN: source,
        **{field.name: pc.struct_field(fault, field.name).cast(field.type) for field in FAULT if field.name != "headers"},
        "headers": headers_from(pc.struct_field(fault, "headers")),
        "schema_id": pa.nulls(count, pa.int32()),
        "pipeline": pa.repeat(origin.pipeline, count),
        "flow": pa.repeat(origin.flow, count),
        "generation": pa.repeat(origin.generation, count),
        "batch": pa.repeat(pa.scalar(origin.batch, pa.int64()), count),
    }
    return pa.RecordBatch.from_arrays([values[name] for name in DEAD_LETTERS.names], schema=DEAD_LETTERS)


EMPTY = pa.RecordBatch.from_pylist([], schema=DEAD_LETTERS)
