"""Whether our files fit a Delta table: its columns, its features, its properties. Refusals name all that is in the way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema

from penstock.errors import PlanRefused

# What an append of plain files needs no help for. Every other feature asks something of the writer that we, or delta-rs, do not do.
HARMLESS_FEATURES = frozenset(
    {
        *("appendOnly", "changeDataFeed", "deletionVectors", "timestampNtz", "v2Checkpoint"),
        *("invariants", "checkConstraints", "generatedColumns"),  # harmless unless a column or property uses them, which is looked at
    }
)
WRITER_VERSIONS = frozenset({1, 2, 3, 4, 5, 7})  # 6 asks every writer to know identity columns, delta-rs does not; 7 names its features
CALL_FOR_A_WRITER = {
    "delta.generationExpression": "is generated from other columns",
    "delta.identity.start": "is an identity column",
    "delta.invariants": "has an invariant",
    "__CHAR_VARCHAR_TYPE_STRING": "has a greatest length",
}
"""Column properties that bind every writer, in words."""


def table_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of a table made for these rows: every column nullable, so that a later schema change needs no rewrite."""
    return pa.schema([pa.field(item.name, _nullable(item.type)) for item in schema])


def _nullable(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(item.name, _nullable(item.type)) for item in kind])
    if pa.types.is_list(kind):
        return pa.list_(_nullable(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_nullable(kind.key_type), _nullable(kind.item_type))
    return kind


def check_table(table: DeltaTable, schema: pa.Schema | None, path: str) -> None:
    """Refuse a table that rows cannot be appended to as plain files; without a schema only what no row could change is looked at."""
    columns = [] if schema is None else [*_twins(schema), *_columns_in_the_way(table, schema)]
    _refuse([*columns, *_layout_in_the_way(table), *_features_in_the_way(table), *_properties_in_the_way(table)], path)


def check_new(schema: pa.Schema, path: str) -> None:
    """Refuse rows that no Delta table can have."""
    _refuse(list(_twins(schema)), path)


def _refuse(reasons: Sequence[str], path: str) -> None:
    if reasons:
        raise PlanRefused(
            "the table cannot take these rows:\n" + "\n".join(f"  - {reason}" for reason in reasons),
            code="table_unfit",
            where=path,
            next_step="change the pipeline or the table so that they agree, or write to another path",
        )


def _twins(schema: pa.Schema) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name in schema.names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            yield f"columns `{other}` and `{name}` differ only in case, which Delta does not tell apart"


def _columns_in_the_way(table: DeltaTable, schema: pa.Schema) -> Iterator[str]:
    held = {field.name: field for field in table.schema().fields}
    wanted = {field.name: field for field in Schema.from_arrow(schema).fields}
    for name, field in wanted.items():
        if name not in held:
            yield f"column `{name}` ({_type_name(field.type)}) is not in the table"
        elif _bare(held[name].type) != _bare(field.type):
            yield f"column `{name}` is {_type_name(held[name].type)} in the table and {_type_name(field.type)} in the pipeline"
        else:
            for path in _nulls_in_the_way(json.loads(held[name].to_json()), json.loads(field.to_json()), name):
                yield f"column `{path}` is NOT NULL in the table and may be null in the pipeline"
    for name, field in held.items():
        if name not in wanted and not field.nullable:
            yield f"column `{name}` is NOT NULL in the table and the pipeline does not fill it"


def _nulls_in_the_way(held: Any, wanted: Any, path: str) -> Iterator[str]:
    """The paths at which the table forbids a null that the pipeline allows, through every kind of nesting; types are equal."""
    if not isinstance(held, dict):
        return
    for key in ("nullable", "containsNull", "valueContainsNull"):
        if held.get(key) is False and wanted[key]:
            yield path
    for part, ours in zip(held.get("fields", ()), wanted.get("fields", ()), strict=True):
        yield from _nulls_in_the_way(part, ours, f"{path}.{part['name']}")
    for key, name in (("type", path), ("elementType", f"{path}[…]"), ("keyType", path), ("valueType", f"{path}[…]")):
        if key in held:
            yield from _nulls_in_the_way(held[key], wanted[key], name)


def _layout_in_the_way(table: DeltaTable) -> Iterator[str]:
    if table.metadata().partition_columns:
        yield f"it is partitioned by {', '.join(table.metadata().partition_columns)}: this version writes unpartitioned tables"


def _bare(kind: object) -> object:
    """A Delta type without its nullability, which is judged on its own."""

    def strip(node: object) -> object:
        if isinstance(node, dict):
            return {key: strip(value) for key, value in node.items() if key not in ("nullable", "containsNull", "valueContainsNull", "metadata")}
        return [strip(item) for item in node] if isinstance(node, list) else node

    return strip(json.loads(kind.to_json()))  # type: ignore[attr-defined]


def _type_name(kind: object) -> str:
    def name(node: object) -> str:
        match node:
            case {"type": "struct", "fields": fields}:
                return "struct<" + ", ".join(f"{item['name']}: {name(item['type'])}" for item in fields) + ">"
            case {"type": "array", "elementType": element}:
                return f"array<{name(element)}>"
            case {"type": "map", "keyType": key, "valueType": value}:
                return f"map<{name(key)}, {name(value)}>"
            case _:
                return str(node)

    return name(_bare(kind))


def _features_in_the_way(table: DeltaTable) -> Iterator[str]:
    protocol = table.protocol()
    for feature in sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())} - HARMLESS_FEATURES):
        yield f"it has the feature `{feature}`, which our writer does not keep (in Spark: ALTER TABLE … DROP FEATURE {feature})"
    if protocol.min_writer_version not in WRITER_VERSIONS:
        yield f"its writer version is {protocol.min_writer_version}: our writer knows 1 to 5, and 7 with the features it names"
    for path, properties in _properties_of_columns(json.loads(table.schema().to_json()), ""):
        for key in sorted(CALL_FOR_A_WRITER.keys() & properties.keys()):
            yield f"column `{path}` {CALL_FOR_A_WRITER[key]} (`{key}`), which our writer does not keep"


def _properties_of_columns(node: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every field at any depth with its properties."""
    if isinstance(node, dict):
        for field in node.get("fields", ()):
            here = f"{path}.{field['name']}" if path else field["name"]
            yield here, field.get("metadata") or {}
            yield from _properties_of_columns(field["type"], here)
        for key in ("elementType", "keyType", "valueType"):
            yield from _properties_of_columns(node.get(key), path)


def _properties_in_the_way(table: DeltaTable) -> Iterator[str]:
    for key, value in sorted(table.metadata().configuration.items()):
        if key == "delta.setTransactionRetentionDuration":
            yield f"its property `{key}` = {value} lets it forget which batches it holds: unset it, or records could be doubled"
        elif key.startswith("delta.constraints."):
            name = key.removeprefix("delta.constraints.")
            yield f"it has the constraint `{name}`, which our writer does not check (in Spark: ALTER TABLE … DROP CONSTRAINT {name})"
        elif key == "delta.columnMapping.mode" and value != "none":
            yield f"its column mapping mode is `{value}`, which our writer does not keep"
