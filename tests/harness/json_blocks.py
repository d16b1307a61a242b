"""What a decoder makes of a block, value by value; and the same asked of the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from harness import json_oracle
from penstock.decode.ddl import parse_ddl
from penstock.decode.json import JsonDecoder
from penstock.decode.model import Struct
from penstock.records import Decoder, RecordFault, Values

Outcome = dict[str, Any] | RecordFault | None
"""A row, a fault, or None for a null value."""


def outcomes(decoder: Decoder, values: Sequence[bytes | None]) -> list[Outcome]:
    """One outcome a value; fails if the decoder's answer is not one row or one fault each, in order."""
    decoded = decoder.decode(Values.from_arrow(pa.array(values, pa.binary())))
    indexes = list(range(len(values))) if decoded.indexes is None else decoded.indexes.tolist()
    assert indexes == sorted(indexes)
    assert len(indexes) == decoded.rows.num_rows
    assert decoded.rows.schema == decoder.schema
    decoded.rows.validate(full=True)
    faults = {fault.index: fault for fault in decoded.faults}
    assert [fault.index for fault in decoded.faults] == sorted(faults)
    present = [index for index, value in enumerate(values) if value is not None]
    assert sorted([*indexes, *faults]) == present
    found: list[Outcome] = [faults.get(index) for index in range(len(values))]
    for index, row in zip(indexes, plain(decoded.rows), strict=True):
        found[index] = row
    return found


def plain(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows as Python values, instants and days as the numbers that Arrow holds: no range of theirs is lost."""
    columns = {name: _bare(rows.column(name)).to_pylist() for name in rows.schema.names}
    return [{name: column[row] for name, column in columns.items()} for row in range(rows.num_rows)]


def _bare(column: pa.Array) -> pa.Array:
    return column.cast(_bare_type(column.type))


def _bare_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.int64()
    if pa.types.is_date32(type_):
        return pa.int32()
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, _bare_type(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(pa.field("element", _bare_type(type_.value_type)))
    if pa.types.is_map(type_):
        return pa.map_(pa.string(), pa.field("value", _bare_type(type_.item_type)))
    return type_


def of(ddl: str, *values: bytes, **options: Any) -> list[Outcome]:
    """The outcomes of these values by the schema that the text declares."""
    return outcomes(JsonDecoder(parse_ddl(ddl), **options), values)


def value_of(ddl: str, literal: str, **options: Any) -> Any:
    """What becomes of `{"a": literal}` where `a` is declared so: its value, or the class of the fault.

    The value stands alone in its block, then among others; both must come to the same.
    """
    value = f'{{"a":{literal}}}'.encode("utf-8", "surrogatepass")
    decoder = JsonDecoder(parse_ddl(f"a {ddl}"), **options)
    (alone,) = outcomes(decoder, [value])
    among = outcomes(decoder, [b"{}", value, b"x", value])[1]
    results = [outcome["a"] if isinstance(outcome, dict) else outcome and outcome.error_class for outcome in (alone, among)]
    assert repr(results[0]) == repr(results[1])
    return results[0]


def disagreement(schema: Struct, values: Sequence[bytes | None], found: Sequence[Outcome]) -> str | None:
    """Where the outcomes are not what the oracle judges; None where they all are."""
    for value, outcome in zip(values, found, strict=True):
        judged = None if value is None else json_oracle.judge(schema, value)
        if not _same(judged, outcome):
            return f"{value!r} by {schema.ddl}\n judged {judged!r}\n found  {outcome!r}"
    return None


def _same(judged: dict[str, Any] | json_oracle.Refused | None, outcome: Outcome) -> bool:
    if isinstance(judged, json_oracle.Refused):
        return isinstance(outcome, RecordFault) and _same_fault(judged, outcome)
    return repr(judged) == repr(outcome)


def _same_fault(judged: json_oracle.Refused, fault: RecordFault) -> bool:
    if not fault.reason.startswith(f"{judged.path}: " if judged.path else ""):
        return False
    if judged.error_class == fault.error_class:
        return True
    # How deep brackets lie in each other has no exact meaning in what is no JSON anyway.
    return {judged.error_class, fault.error_class} == {"nested_too_deep", "malformed_json"}
