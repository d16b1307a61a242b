"""The model as Arrow: which column type holds a declared type, the same for every format.

Only a column itself is ever NOT NULL. What lies inside a struct, array or map is nullable in Arrow, whatever was declared: the
decoder has refused the nulls already, and Parquet writers do not take a required field whose parent is null.
"""

from __future__ import annotations

import pyarrow as pa
from typing_extensions import assert_never

from penstock.decode.model import Array, Binary, Boolean, DataType, Date, Decimal, Float, Integer, Map, String, Struct, Timestamp

TIMESTAMP = pa.timestamp("us", "UTC")

_INTEGERS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def arrow_schema(schema: Struct) -> pa.Schema:
    """The columns of every decoded batch, in the declared order."""
    return pa.schema([pa.field(field.name, arrow_type(field.type), nullable=field.nullable) for field in schema.fields])


def arrow_type(type_: DataType) -> pa.DataType:  # noqa: PLR0911 - a line a type
    """The Arrow type of a declared one; Spark, Delta and Iceberg take each of them as it is."""
    match type_:
        case String():
            return pa.string()
        case Boolean():
            return pa.bool_()
        case Integer(bits):
            return _INTEGERS[bits]
        case Float(bits):
            return pa.float64() if bits == 64 else pa.float32()
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Date():
            return pa.date32()
        case Timestamp():
            return TIMESTAMP
        case Binary():
            return pa.binary()
        case Array(element):
            return pa.list_(pa.field("element", arrow_type(element)))
        case Map(value):
            return pa.map_(pa.string(), pa.field("value", arrow_type(value)))
        case Struct(fields):
            return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in fields])
        case _:
            assert_never(type_)
