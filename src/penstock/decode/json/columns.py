"""The columns of values that passed the check.

arro3 reads most of them, straight from the bytes. It is lax, but of what msgspec has accepted it makes the same values, a
few places apart, which stand out in the finished column and send their record to the law: a large double may have been a
whole number that lost digits, an instant may lie outside the years 1 to 9999, a map may hold a key twice. Three types arro3
cannot be trusted with at all: decimals (it cuts digits), base64, epoch numbers; their columns are built from what the check kept.

arro3 is also the second half of the check. It takes the values with line ends between them, and there a document must stand
alone: whatever msgspec took for two rows of one value is refused here, and a document over two values gives a row too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from arro3.io import read_json

from penstock.decode.arrow import arrow_schema
from penstock.decode.json.check import Check, Checked
from penstock.decode.json.kept import kept_column
from penstock.decode.json.suspects import Rows, repeated_keys, watch_of
from penstock.decode.json.text import COMMA, NEWLINE, Text
from penstock.decode.model import Array, Binary, DataType, Decimal, Map, Struct, Timestamp

_ROWS, _FEWEST_ROWS = 4096, 256
_CELLS = 1 << 22
"""arro3 is fastest with some thousand rows at a time (0.40 µs a record; 0.65 with 60,000), and it reserves room for every
declared field of every row, so that it takes fewer where fields are very many; of too small batches the overhead adds up."""


@dataclass(frozen=True, slots=True)
class Built:
    """The columns of the values that passed, one row each, and the rows (ascending, once) that the law must see."""

    rows: pa.RecordBatch
    suspects: Rows


class Columns:
    """Builds the columns of one schema."""

    def __init__(self, schema: Struct) -> None:
        self.schema = arrow_schema(schema)
        maps = [position for position, field in enumerate(schema.fields) if _is_flat_map(field.type)]
        self._read = [position for position, field in enumerate(schema.fields) if _is_readable(field.type) or position in maps]
        self._watches = [(position, watch) for position in self._read if (watch := watch_of(schema.fields[position].type))]
        self._maps = {position: slot for slot, position in enumerate(maps)}
        rest = sorted(set(range(len(schema.fields))) - set(self._read))
        self._built = [(position, kept_column(schema.fields[position])) for position in rest]
        self._reader_schema = pa.schema([self.schema.field(position) for position in self._read])
        self._batch_rows = max(_FEWEST_ROWS, min(_ROWS, _CELLS // _leaves(schema)))
        raw = frozenset(position for position in rest if not isinstance(schema.fields[position].type, Binary))
        self.check = Check(schema, raw=raw, keep=[*maps, *rest])

    def build(self, text: Text, checked: Checked) -> Built | None:
        """The columns, or None if the bytes are not one document a value after all."""
        read = self._rows_read(text, checked)
        if read is None:
            return None
        columns = dict(zip(self._read, read.columns, strict=True))
        suspects = [watch(columns[position]) for position, watch in self._watches]
        suspects += [repeated_keys(checked.kept[slot], columns[position]) for position, slot in self._maps.items()]
        for (position, build), kept in zip(self._built, checked.kept[len(self._maps) :], strict=True):
            columns[position], doubtful = build(kept)
            suspects.append(doubtful)
        rows = pa.RecordBatch.from_arrays([columns[position] for position in range(len(self.schema))], schema=self.schema)
        return Built(rows, np.unique(np.concatenate(suspects)) if suspects else np.empty(0, np.int64))

    def _rows_read(self, text: Text, checked: Checked) -> pa.RecordBatch | None:
        text.separate(NEWLINE)
        try:
            batches = [pa.record_batch(batch) for batch in read_json(_Spans(text, checked.spans), self._reader_schema, batch_size=self._batch_rows)]
        except Exception:  # arro3 has no error of its own; whatever it says, the law will find the place
            return None
        finally:
            text.separate(COMMA)
        if sum(batch.num_rows for batch in batches) != checked.passed:
            return None
        return pa.concat_batches(batches) if batches else empty(self._reader_schema)


def empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


class _Spans:
    """The bytes of some spans of values as a file, so that nothing has to be moved or blanked to leave the others out."""

    def __init__(self, text: Text, spans: Sequence[tuple[int, int]]) -> None:
        self._data = text.data.data
        self._bounds = iter([(text.before(first), int(text.ends[last - 1]) + 1) for first, last in spans])
        self._at, self._until = next(self._bounds, (0, 0))

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, fewer at the end of a span; none at the end of the last."""
        if self._at == self._until:
            self._at, self._until = next(self._bounds, (0, 0))
        at = self._at
        self._at = self._until if size < 0 else min(at + size, self._until)
        return self._data[at : self._at].tobytes()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Never called; arro3 asks that a file has it."""
        raise OSError("not seekable")


def _is_readable(type_: DataType) -> bool:
    """Whether arro3 reads the type as the contract says, a watch apart."""
    match type_:
        case Decimal() | Binary() | Map():
            return False
        case Timestamp(epoch):
            return epoch is None
        case Array(element):
            return _is_readable(element)
        case Struct(fields):
            return all(_is_readable(field.type) for field in fields)
        case _:
            return True


def _is_flat_map(type_: DataType) -> bool:
    """A map that is a column itself, so that its keys can be counted, and whose values arro3 can read."""
    return isinstance(type_, Map) and _is_readable(type_.value)


def _leaves(type_: DataType) -> int:
    match type_:
        case Array(element):
            return 1 + _leaves(element)
        case Map(value):
            return 2 + _leaves(value)
        case Struct(fields):
            return 1 + sum(_leaves(field.type) for field in fields)
        case _:
            return 1
