"""JSON values to rows and faults, by docs/contracts/decode.md.

Four parts, each in a file: `text` lays the block out and sets aside what no parser should meet, `check` finds the
values that surely fit, `columns` makes their columns, and `law` rules on every single value left over.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.decode.json.check import LONGEST
from penstock.decode.json.columns import Columns, empty
from penstock.decode.json.law import Law, Refusal
from penstock.decode.json.text import DEEPEST, Text, hostile, text_of
from penstock.decode.model import Struct, all_closed, schema_faults, with_epochs
from penstock.errors import SpecError
from penstock.records import Decoded, RecordFault, Values

UnknownFields = Literal["ignore", "fault"]


class JsonDecoder:
    """Decodes blocks of JSON objects; made once a worker, used for every block. Options are what travels: it pickles as them.

    A row is built only of values that are exactly what the record says; everything else is a fault. `unknown_fields` says
    what an undeclared key is, at every depth of the declared objects. `epochs` names the timestamps that come as numbers,
    with the unit of each. A schema or option that makes no sense is a `SpecError`.
    """

    def __init__(self, schema: Struct, *, unknown_fields: UnknownFields = "ignore", epochs: Mapping[str, str] | None = None) -> None:
        if faults := schema_faults(schema):
            raise SpecError(faults)
        self._options = schema, unknown_fields, dict(epochs or {})
        effective = with_epochs(schema, epochs or {})
        effective = all_closed(effective) if unknown_fields == "fault" else effective
        self._columns = Columns(effective)
        self._law = Law(effective)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, self._options

    @property
    def schema(self) -> pa.Schema:
        """The columns of every `Decoded.rows`, in the declared order."""
        return self._columns.schema

    def decode(self, values: Values) -> Decoded:
        """Each value becomes one row or one fault, by the decode contract; a null becomes neither."""
        try:
            return self._decode(values)
        except RecursionError:
            # No value is deep enough for this; the caller stands deep in the stack. The same work needs only more room.
            limit = sys.getrecursionlimit()
            sys.setrecursionlimit(limit + _ROOM)
            try:
                return self._decode(values)
            finally:
                sys.setrecursionlimit(limit)

    def _decode(self, values: Values) -> Decoded:
        text = text_of(values)
        passed, rows, doubtful = self._passed(text)
        if len(doubtful):
            passed, rows, faults = self._ruled(text, passed, rows, doubtful)
        else:
            faults = ()
        complete = len(passed) == len(values)
        return Decoded(rows, None if complete else _numbered(text, passed), faults)

    def _passed(self, text: Text) -> tuple[Indexes, pa.RecordBatch, Indexes]:
        """The values that surely fit, their rows, and the values that only the law can judge; each value once."""
        refused = hostile(text)
        for longest in (LONGEST, 1):
            checked = self._columns.check(text, refused, longest=longest)
            built = self._columns.build(text, checked)
            if built:
                passed = _spread(checked.spans)
                sure = np.ones(len(passed), np.bool_)
                sure[built.suspects] = False
                doubtful = np.concatenate([np.array(checked.doubtful, np.int64), passed[~sure]])
                return passed[sure], built.rows if sure.all() else built.rows.filter(pa.array(sure)), np.sort(doubtful)
        return _spread([]), empty(self.schema), np.arange(len(text))

    def _ruled(self, text: Text, passed: Indexes, rows: pa.RecordBatch, doubtful: Indexes) -> tuple[Indexes, pa.RecordBatch, tuple[RecordFault, ...]]:
        """The rows with those that the law adds, in order, and the faults it finds."""
        added: dict[int, dict[str, Any]] = {}
        faults = []
        for index in doubtful.tolist():
            ruling = self._law(text[index])
            if isinstance(ruling, Refusal):
                faults.append(RecordFault(index if text.numbers is None else int(text.numbers[index]), ruling.error_class.value, ruling.reason))
            else:
                added[index] = ruling
        if added:
            columns = [pa.array([row[field.name] for row in added.values()], field.type) for field in self.schema]
            rows = pa.concat_batches([rows, pa.RecordBatch.from_arrays(columns, schema=self.schema)])
            passed = np.concatenate([passed, np.array(list(added), np.int64)])
            order = np.argsort(passed, kind="stable")
            passed, rows = passed[order], rows.take(pa.array(order))
        return passed, rows, tuple(faults)


Indexes = npt.NDArray[np.int64]

_ROOM = 2 * DEEPEST + 100


def _spread(spans: list[tuple[int, int]]) -> Indexes:
    return np.concatenate([np.arange(first, last) for first, last in spans] or [np.empty(0, np.int64)])


def _numbered(text: Text, indexes: Indexes) -> Indexes:
    return indexes if text.numbers is None else text.numbers[indexes]


def _rebuilt(schema: Struct, unknown_fields: UnknownFields, epochs: dict[str, str]) -> JsonDecoder:
    return JsonDecoder(schema, unknown_fields=unknown_fields, epochs=epochs)
