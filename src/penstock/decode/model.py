"""What a record looks like, as values: the one model that DDL text, a JSON Schema and Python code all become.

Pure Python on purpose: `penstock validate` reads schemas without importing pyarrow. Each type prints as the Spark DDL that
declares it, which is also how reasons and error messages name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from penstock.errors import Fault, SpecError

EpochUnit = Literal["seconds", "milliseconds", "microseconds", "nanoseconds"]
EPOCH_UNITS: tuple[EpochUnit, ...] = get_args(EpochUnit)

DEEPEST_SCHEMA = 32
"""Levels of nesting that a schema may declare; deeper ones are a mistake, and would meet recursion limits elsewhere."""


@dataclass(frozen=True, slots=True)
class String:
    """Text; a JSON string."""

    def __str__(self) -> str:
        return "STRING"


@dataclass(frozen=True, slots=True)
class Boolean:
    """`true` or `false`."""

    def __str__(self) -> str:
        return "BOOLEAN"


@dataclass(frozen=True, slots=True)
class Integer:
    """A signed whole number of 8, 16, 32 or 64 bits."""

    bits: Literal[8, 16, 32, 64] = 64

    @property
    def lowest(self) -> int:
        return -(1 << self.bits - 1)

    @property
    def highest(self) -> int:
        return (1 << self.bits - 1) - 1

    def __str__(self) -> str:
        return {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[self.bits]


@dataclass(frozen=True, slots=True)
class Float:
    """A binary floating-point number of 32 or 64 bits."""

    bits: Literal[32, 64] = 64

    def __str__(self) -> str:
        return "DOUBLE" if self.bits == 64 else "FLOAT"


@dataclass(frozen=True, slots=True)
class Decimal:
    """An exact number of up to `precision` digits, `scale` of them behind the point."""

    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Date:
    """A day of the years 1 to 9999."""

    def __str__(self) -> str:
        return "DATE"


@dataclass(frozen=True, slots=True)
class Timestamp:
    """An instant to the microsecond, in UTC; RFC 3339 text, or with `epoch` a number of that unit since 1970."""

    epoch: EpochUnit | None = None

    def __str__(self) -> str:
        return "TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Binary:
    """Bytes; base64 text in JSON."""

    def __str__(self) -> str:
        return "BINARY"


@dataclass(frozen=True, slots=True)
class Array:
    """A list of one type."""

    element: DataType
    nullable_elements: bool = True

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map:
    """Text keys, which only the data knows, to values of one type."""

    value: DataType
    nullable_values: bool = True

    def __str__(self) -> str:
        return f"MAP<STRING, {self.value}>"


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields in their declared order; `closed` makes any other key of the object a fault."""

    fields: tuple[Field, ...]
    closed: bool = False

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'{quoted(field.name)}: {field.declared}' for field in self.fields)}>"

    @property
    def ddl(self) -> str:
        """The columns as Spark reads them: `id STRING NOT NULL, amount DECIMAL(12,2)`."""
        return ", ".join(f"{quoted(field.name)} {field.declared}" for field in self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)


@dataclass(frozen=True, slots=True)
class Field:
    """One named value. A nullable one may be null or absent, which are the same; another may be neither."""

    name: str
    type: DataType
    nullable: bool = True

    @property
    def declared(self) -> str:
        return str(self.type) if self.nullable else f"{self.type} NOT NULL"


DataType = String | Boolean | Integer | Float | Decimal | Date | Timestamp | Binary | Array | Map | Struct


def quoted(name: str) -> str:
    """The name as DDL writes it: bare where that is safe, else between backquotes."""
    bare = name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit() and name.upper() not in _WORDS
    return name if bare else "`" + name.replace("`", "``") + "`"


_WORDS = {"NOT", "NULL", "COMMENT", "ARRAY", "MAP", "STRUCT", "DECIMAL", "DATE", "TIMESTAMP", "INTERVAL"}
"""Bare names that a reader of DDL, ours or Spark's, could take for something else."""


def name_fault(name: str) -> tuple[str, str] | None:
    """What is wrong with a field's name, and the remedy; None if it can be a column everywhere."""
    if not name:
        return "the field has no name", "give it one"
    if any(sign in '"\\' or sign < " " for sign in name):
        return f"the name {name!r} holds a quote, a backslash or a control character", "rename the field where it is produced"
    return None


def twins(names: tuple[str, ...]) -> list[tuple[int, str]]:
    """Each name that an earlier one equals but for its case, with its position: tables do not tell such columns apart."""
    seen: dict[str, str] = {}
    found = []
    for position, name in enumerate(names):
        if seen.setdefault(name.casefold(), name) is not name:
            found.append((position, seen[name.casefold()]))
    return found


def schema_faults(type_: DataType, path: str = "schema") -> list[Fault]:
    """What is wrong with a schema made in Python; the readers of texts find the same, each with its place in the text."""
    match type_:
        case Array(element):
            return schema_faults(element, f"{path}[]")
        case Map(value):
            return schema_faults(value, f"{path}[]")
        case Decimal(precision, scale) if not (1 <= precision <= 38 and 0 <= scale <= precision):
            return [Fault(path, None, f"{type_} cannot be", "a precision of 1 to 38, a scale of 0 to the precision")]
        case Struct(fields):
            faults = [] if fields else [Fault(path, None, "there is no field", "give at least one")]
            for field in fields:
                wrong = name_fault(field.name)
                faults += [Fault(path, None, *wrong)] if wrong else schema_faults(field.type, f"{path}.{field.name}")
            faults += [
                Fault(f"{path}.{type_.names[position]}", None, f"the field is there twice, as {twin!r}", "columns differ in more than case: rename one")
                for position, twin in twins(type_.names)
            ]
            return faults
        case _:
            return []


def all_closed(schema: Struct) -> Struct:
    """The schema with every object in it closed: none may have a field that is not declared."""
    return Struct(tuple(replace(field, type=_closed(field.type)) for field in schema.fields), closed=True)


def _closed(type_: DataType) -> DataType:
    match type_:
        case Struct():
            return all_closed(type_)
        case Array(element):
            return replace(type_, element=_closed(element))
        case Map(value):
            return replace(type_, value=_closed(value))
        case _:
            return type_


def with_epochs(schema: Struct, epochs: Mapping[str, str], *, path: str = "epochs") -> Struct:
    """The schema with each named timestamp read as an epoch number; every path or unit that fits nothing is a fault.

    A path names struct fields, dotted; arrays and maps on the way are looked through: `events.at` reaches the `at` in an
    array of structs `events`.
    """
    faults = []
    for name, unit in epochs.items():
        changed = None
        if unit not in EPOCH_UNITS:
            faults.append(Fault(f"{path}.{name}", None, f"{unit!r} is no unit of an epoch", f"one of {', '.join(EPOCH_UNITS)}"))
            continue
        changed = _with_epoch(schema, name, unit)
        if isinstance(changed, Struct):
            schema = changed
        else:
            faults.append(Fault(f"{path}.{name}", None, "the schema has no TIMESTAMP of that path", "name a timestamp field, nested ones with dots"))
    if faults:
        raise SpecError(faults)
    return schema


def _with_epoch(type_: DataType, path: str, unit: EpochUnit) -> DataType | None:
    """The type with the timestamp at `path` below it declared an epoch; None where there is no such timestamp."""
    if isinstance(type_, Timestamp):
        return Timestamp(unit) if not path else None
    if isinstance(type_, Array):
        element = _with_epoch(type_.element, path, unit)
        return None if element is None else replace(type_, element=element)
    if isinstance(type_, Map):
        value = _with_epoch(type_.value, path, unit)
        return None if value is None else replace(type_, value=value)
    if isinstance(type_, Struct):
        return _with_epoch_in(type_, path, unit)
    return None


def _with_epoch_in(struct: Struct, path: str, unit: EpochUnit) -> Struct | None:
    for position, field in enumerate(struct.fields):
        if path != field.name and not path.startswith(field.name + "."):
            continue
        changed = _with_epoch(field.type, path[len(field.name) + 1 :], unit)
        if changed is not None:
            fields = (*struct.fields[:position], replace(field, type=changed), *struct.fields[position + 1 :])
            return replace(struct, fields=fields)
    return None
