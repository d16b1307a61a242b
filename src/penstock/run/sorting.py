"""Where each record of a block goes: a row, filtered, or dead. Arrow in, Arrow out; runs inside the tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.records import DEAD_LETTERS, Block, Decoded
from penstock.values import BatchCounts

SOURCE_COLUMN = "_source"


@dataclass(frozen=True, slots=True)
class Origin:
    """Which batch of which flow a dead letter comes from, by the names that people know."""

    pipeline: str
    flow: str
    generation: str
    batch: int


@dataclass(frozen=True, slots=True)
class Sorted:
    """A block after decoding: what goes to the sink, what to the dead letters, and the count of everything."""

    rows: pa.RecordBatch
    dead: pa.RecordBatch
    counts: BatchCounts


def sort_block(block: Block, decoded: Decoded, origin: Origin) -> Sorted:
    """Every record of the block in exactly one place; a null value that is no fault counts as filtered."""
    source = block.source if decoded.indexes is None else block.source.take(pa.array(decoded.indexes))
    rows = decoded.rows.append_column(SOURCE_COLUMN, source)
    nulls = 0 if block.values.present is None else int(len(block) - block.values.present.sum())
    counts = BatchCounts(read=len(block), rows=rows.num_rows, filtered=nulls, dead=len(decoded.faults))
    return Sorted(rows, dead_letters(block, decoded, origin), counts)


def dead_letters(block: Block, decoded: Decoded, origin: Origin) -> pa.RecordBatch:
    """The faulty records of a block with their bytes, coordinates and reasons."""
    faults = decoded.faults
    if not faults:
        return EMPTY
    places = pa.array(np.fromiter((fault.index for fault in faults), np.int64, len(faults)))
    count = len(faults)
    return pa.RecordBatch.from_arrays(
        [
            block.source.take(places),
            block.keys.take(places),
            pa.array([block.values[fault.index] for fault in faults], pa.binary()),
            block.headers.take(places),
            pa.nulls(count, pa.int32()),
            pa.array([fault.error_class for fault in faults], pa.string()),
            pa.array([fault.reason for fault in faults], pa.string()),
            pa.repeat(origin.pipeline, count),
            pa.repeat(origin.flow, count),
            pa.repeat(origin.generation, count),
            pa.repeat(pa.scalar(origin.batch, pa.int64()), count),
        ],
        schema=DEAD_LETTERS,
    )


EMPTY = pa.RecordBatch.from_pylist([], schema=DEAD_LETTERS)
