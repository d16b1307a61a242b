"""Whether our files fit a Delta table: its columns, its features, its properties. Refusals name all that is in the way."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
from deltalake import DeltaTable, Schema

from penstock.errors import PlanRefused

# What an append of plain files needs no help for. Every other feature asks something of the writer that we do not do.
HARMLESS_FEATURES = frozenset(
    {
        *("appendOnly", "changeDataFeed", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"),
        *("invariants", "checkConstraints", "generatedColumns"),  # harmless unless a column or property uses them, which is looked at
    }
)
CALL_FOR_A_WRITER = ("delta.generationExpression", "delta.identity.start", "delta.invariants")  # column properties that bind every writer


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


def check_table(table: DeltaTable, schema: pa.Schema, path: str) -> None:
    """Refuse a table that rows of this schema cannot be appended to as plain files."""
    reasons = [*_columns_in_the_way(table, schema), *_features_in_the_way(table), *_properties_in_the_way(table)]
    if reasons:
        raise PlanRefused(
            "the table cannot take these rows:\n" + "\n".join(f"  - {reason}" for reason in reasons),
            code="table_unfit",
            where=path,
            next_step="change the pipeline or the table so that they agree, or write to another path",
        )


def _columns_in_the_way(table: DeltaTable, schema: pa.Schema) -> Iterator[str]:
    held = {field.name: field for field in table.schema().fields}
    wanted = {field.name: field for field in Schema.from_arrow(table_schema(schema)).fields}
    for name, field in wanted.items():
        if name not in held:
            yield f"column `{name}` ({_type_name(field.type)}) is not in the table"
        elif _bare(held[name].type) != _bare(field.type):
            yield f"column `{name}` is {_type_name(held[name].type)} in the table and {_type_name(field.type)} in the pipeline"
        elif not held[name].nullable and schema.field(name).nullable:
            yield f"column `{name}` is NOT NULL in the table and may be null in the pipeline"
    for name, field in held.items():
        if name not in wanted and not field.nullable:
            yield f"column `{name}` is NOT NULL in the table and the pipeline does not fill it"
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
        yield f"it has the feature `{feature}`, which our writer does not keep"
    for field in table.schema().fields:
        for key in CALL_FOR_A_WRITER:
            if key in field.metadata:
                yield f"column `{field.name}` has the property `{key}`, which our writer does not keep"


def _properties_in_the_way(table: DeltaTable) -> Iterator[str]:
    for key, value in sorted(table.metadata().configuration.items()):
        if key == "delta.setTransactionRetentionDuration":
            yield f"its property `{key}` = {value} lets it forget which batches it holds: unset it, or records could be doubled"
        elif key.startswith("delta.constraints."):
            yield f"it has the constraint `{key.removeprefix('delta.constraints.')}`, which our writer does not check"
        elif key == "delta.columnMapping.mode" and value != "none":
            yield f"its column mapping mode is `{value}`, which our writer does not keep"
