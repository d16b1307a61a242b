"""The statistics of one Parquet file in the form that Delta readers use to skip files.

Taken from the file's own footer. Minimum and maximum may be wider than the data, never narrower: long strings are cut
(the maximum gets the greatest character behind the cut), timestamps are rounded outwards to milliseconds.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Set
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

LONGEST_STRING = 32  # as Delta's own writers: longer bounds cost log size and skip no more
GREATEST_CHARACTER = "\U0010ffff"

Bound = int | float | str | Decimal
_encode = msgspec.json.Encoder(decimal_format="number").encode


def file_statistics(footer: pq.FileMetaData, schema: pa.Schema, unbounded: Set[str]) -> str:
    """The `stats` of a Delta add action, as JSON; columns in `unbounded` (they hold NaN) get no bounds."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for index, path in _skippable(footer, schema):
        columns = [footer.row_group(group).column(index).statistics for group in range(footer.num_row_groups)]
        if not columns or any(column is None or not column.has_null_count for column in columns):
            continue
        _put(nulls, path, sum(column.null_count for column in columns))
        bounded = [column for column in columns if column.has_min_max]
        if path[0] in unbounded or len(bounded) < sum(1 for column in columns if column.num_values):
            continue  # a row group without bounds: nothing is known of the file
        lower = _lower(min((column.min for column in bounded), default=None))
        upper = _upper(max((column.max for column in bounded), default=None))
        if lower is not None and upper is not None:
            _put(least, path, lower)
            _put(greatest, path, upper)
    return _encode({"numRecords": footer.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}).decode()


def _skippable(footer: pq.FileMetaData, schema: pa.Schema) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The leaves that are reached through structs alone, by their place in the file."""
    plain = set(_leaves(schema))
    for index in range(footer.num_columns):
        path = tuple(footer.schema.column(index).path.split("."))
        if path in plain:
            yield index, path


def _leaves(fields: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for field in fields:
        path = (*above, field.name)
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, path)
        elif not pa.types.is_nested(field.type) and not pa.types.is_binary(field.type) and not any("." in part for part in path):
            yield path


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Bound) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
    tree[path[-1]] = value


def _lower(value: Any) -> Bound | None:
    match value:
        case str():
            return value[:LONGEST_STRING]
        case datetime.datetime():
            return _milliseconds(value.replace(microsecond=value.microsecond // 1000 * 1000))
        case _:
            return _plain(value)


def _upper(value: Any) -> Bound | None:
    match value:
        case str():
            return value if len(value) <= LONGEST_STRING else value[:LONGEST_STRING] + GREATEST_CHARACTER
        case datetime.datetime():
            down = value.replace(microsecond=value.microsecond // 1000 * 1000)
            try:
                return _milliseconds(down if down == value else down + datetime.timedelta(milliseconds=1))
            except OverflowError:  # the last millisecond of the year 9999
                return None
        case _:
            return _plain(value)


def _plain(value: Any) -> Bound | None:
    match value:
        case bool() | bytes():
            return None
        case int() | float() | Decimal():
            return value
        case datetime.date():
            return value.isoformat()
        case _:
            return None


def _milliseconds(value: datetime.datetime) -> str:
    return value.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
