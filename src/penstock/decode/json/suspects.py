"""What to look at twice in a column that arro3 has read: values which may not be what the record says.

Each watch takes a finished column and answers the rows, in any order and perhaps twice, that the law must see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.decode.json.scalars import FIRST_MICROSECOND, LAST_MICROSECOND
from penstock.decode.model import Array, DataType, Float, Map, Struct, Timestamp

Rows = npt.NDArray[np.int64]
Watch = Callable[[pa.Array], Rows]


def watch_of(type_: DataType) -> Watch | None:
    """The watch over a column of this type; None where arro3 and the contract agree on everything that passed the check."""
    match type_:
        case Float(bits):
            return _large_floats(2.0**53 if bits == 64 else 2.0**24)
        case Timestamp():
            return _outlying_instants
        case Array(element):
            return _within(watch_of(element), lambda column: column.values)
        case Map(value):
            return _within(watch_of(value), lambda column: column.items)
        case Struct(fields):
            return _within_struct([watch_of(field.type) for field in fields])
        case _:
            return None


def repeated_keys(maps: Sequence[dict[str, Any] | None], column: pa.Array) -> Rows:
    """The rows where arro3 has more entries than there are keys: it keeps every entry, while the last one alone counts."""
    entries = np.diff(_numbers(column.offsets, np.int32))
    keys = np.fromiter((0 if item is None else len(item) for item in maps), np.int64, len(maps))
    return np.flatnonzero(entries != keys)


def _large_floats(exact: float) -> Watch:
    """From `exact` on, the type no longer holds every whole number; infinities are among these too."""

    def watch(column: pa.Array) -> Rows:
        return np.flatnonzero(np.abs(_numbers(column, np.float64 if exact > 2**24 else np.float32)) >= exact)

    return watch


def _outlying_instants(column: pa.Array) -> Rows:
    instants = _numbers(column, np.int64)
    return np.flatnonzero((instants < FIRST_MICROSECOND) | (instants > LAST_MICROSECOND))


def _within(watch: Watch | None, parts: Callable[[pa.Array], pa.Array]) -> Watch | None:
    """The watch over lists or maps, each row with many parts."""
    if watch is None:
        return None
    return lambda column: np.searchsorted(_numbers(column.offsets, np.int32), watch(parts(column)), side="right") - 1


def _within_struct(fields: list[Watch | None]) -> Watch | None:
    watched = [(position, watch) for position, watch in enumerate(fields) if watch]
    if not watched:
        return None
    return lambda column: np.concatenate([watch(column.field(position)) for position, watch in watched])


def _numbers(column: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The numbers of a column as they lie in memory; where a value is null there is some number, 0 from arro3."""
    return np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * np.dtype(dtype).itemsize) if len(column) else np.empty(0, dtype)
