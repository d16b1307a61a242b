"""The shapes that cross the rooms of the data plane: a block of Kafka records, what a decoder makes of it, a fault.

A reader yields `Block`s; the rest of the chain cannot tell which reader made them. Values lie in one flat buffer with
one byte behind each (a separator that a decoder may overwrite) and one spare byte in front of the first, so that a text
decoder can treat the whole block as one document without copying it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))

SOURCE = pa.struct(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", "UTC")),
        pa.field("topic_id", pa.string()),
    ]
)
"""Provenance: which record of which topic a row came from. It travels with every row as the column `_source`."""


FAULT = pa.struct(
    [
        pa.field("error_class", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.string()),
    ]
)
"""Why a record is not a row, with its bytes: the column `_fault` while the record travels through Spark SQL."""

SOURCE_COLUMN, FAULT_COLUMN, KEPT_COLUMN = "_source", "_fault", "_kept"
TRAVELLING = (pa.field(SOURCE_COLUMN, SOURCE), pa.field(FAULT_COLUMN, FAULT), pa.field(KEPT_COLUMN, pa.bool_()))
"""The columns that every record carries behind its own through Spark SQL; `_kept` is false once it was filtered."""

DEAD_LETTERS = pa.schema(
    [
        pa.field("_source", SOURCE),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
        pa.field("schema_id", pa.int32()),
        pa.field("error_class", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("pipeline", pa.string()),
        pa.field("flow", pa.string()),
        pa.field("generation", pa.string()),
        pa.field("batch", pa.int64()),
    ]
)
"""A record that did not become a row: its bytes as they were, where it came from, and why."""


def headers_from(travelling: pa.Array) -> pa.Array:
    """Headers as Kafka has them, out of the form in which they travel: `hex(key):hex(value)` joined by commas, `-` for a null value.

    They travel as one string because Spark's Arrow writer walks a list column anew for every row of a batch (measured:
    20 µs a record in batches of 65,536), and because nobody looks at them but who writes a dead letter.
    """
    return pa.array([None if text is None else [_header(part) for part in text.split(",") if part] for text in travelling.to_pylist()], HEADERS)


def _header(text: str) -> dict[str, str | bytes | None]:
    key, _, value = text.partition(":")
    return {"key": bytes.fromhex(key).decode(), "value": None if value == "-" else bytes.fromhex(value)}


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a block: value *i* is `data[starts[i]:ends[i]]`, and `data[ends[i]]` is a byte a decoder may use.

    `data[0]` is spare. `ends[i] + 1 == starts[i + 1]`. `present[i]` is False where Kafka's value is null (its slice is
    then empty); None means that every value is there.
    """

    data: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]
    present: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        starts = np.empty(len(self.ends), np.int64)
        starts[:1] = 1
        starts[1:] = self.ends[:-1] + 1
        return starts

    def __getitem__(self, index: int) -> bytes:
        start = int(self.ends[index - 1]) + 1 if index else 1
        return self.data[start : int(self.ends[index])].tobytes()

    @staticmethod
    def from_arrow(column: pa.Array) -> Values:
        """The values of an Arrow binary column, copied once into a flat buffer of this form."""
        filled = pc.fill_null(column, b"") if column.null_count else column
        parts = pc.binary_join_element_wise(filled.cast(pa.large_binary()), pa.scalar(b"", pa.large_binary()), pa.scalar(b"\n", pa.large_binary()))
        _, offsets, flat = parts.buffers()
        count = len(parts)
        bounds = np.frombuffer(offsets, np.int64, count + 1, parts.offset * 8)
        data = np.empty(int(bounds[-1] - bounds[0]) + 1, np.uint8)
        data[0] = ord("[")
        if count:
            data[1:] = np.frombuffer(flat, np.uint8)[bounds[0] : bounds[-1]]
        present = None if not column.null_count else pc.is_valid(column).to_numpy(zero_copy_only=False)
        return Values(data, (bounds[1:] - bounds[0]).astype(np.int64), present)


@dataclass(frozen=True, slots=True)
class Block:
    """Some thousand records of any mixture of partitions, in the order they were read."""

    values: Values
    source: pa.StructArray
    keys: pa.Array
    headers: pa.Array
    """Strings in travelling form, null where a record has none: see `headers_from`."""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class RecordFault:
    """Why one record is not a row: an error class and a short reason that never quotes the payload."""

    index: int
    error_class: str
    reason: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a decoder made of a block: `rows` are the values at `indexes` (ascending), `faults` the malformed ones (ascending).

    A value that is null is in neither. `indexes` is None where every value became a row.
    """

    rows: pa.RecordBatch
    indexes: npt.NDArray[np.int64] | None
    faults: tuple[RecordFault, ...] = ()


class Decoder(Protocol):
    """The port of the decode room: bytes in, rows and faults out; never an exception for what a record contains."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of every `Decoded.rows`, in the declared order."""
        ...

    def decode(self, values: Values) -> Decoded:
        """Each value becomes one row or one fault, by the decode contract (docs/contracts/decode.md)."""
        ...
