"""Why a record is not a row: the closed list of error classes, the same for every format.

A dead letter carries the class and a reason. Reasons name declared fields and types only: neither a value nor an undeclared
key of a payload may ever stand in one, because dead letters and logs are read by more people than the topic.
"""

from __future__ import annotations

from enum import Enum


class ErrorClass(str, Enum):
    """What is wrong with a record; consumers of dead letters may rely on these words."""

    MALFORMED_JSON = "malformed_json"
    """The value is not one JSON document by RFC 8259: broken syntax, nothing at all, or text behind the document."""

    INVALID_UTF8 = "invalid_utf8"
    """Some byte of the value, in an ignored field or not, is not UTF-8."""

    NESTED_TOO_DEEP = "nested_too_deep"
    """Objects and arrays lie in each other deeper than the limit, in an ignored field or not."""

    NOT_AN_OBJECT = "not_an_object"
    """The document is something else than an object."""

    UNKNOWN_FIELD = "unknown_field"
    """An object holds a key that the schema does not declare, where the flow says that this is a fault."""

    MISSING_FIELD = "missing_field"
    """A field declared NOT NULL is absent."""

    NULL_VALUE = "null_value"
    """A field, element or map value that may not be null is null."""

    TYPE_MISMATCH = "type_mismatch"
    """A value is of another type than declared; text that looks like a number is text."""

    OUT_OF_RANGE = "out_of_range"
    """A number or an instant lies outside what the declared type can hold."""

    INEXACT_NUMBER = "inexact_number"
    """A number would lose digits in the declared type."""

    INVALID_TIMESTAMP = "invalid_timestamp"
    """Text that is no RFC 3339 timestamp with an offset."""

    INVALID_DATE = "invalid_date"
    """Text that is no ISO 8601 date."""

    INVALID_BINARY = "invalid_binary"
    """Text that is no base64."""
