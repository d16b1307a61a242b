"""The kinds of decoder that a file may name, with cheap imports only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from penstock.decode.ddl import parse_ddl
from penstock.decode.model import Struct, with_epochs
from penstock.errors import Fault, SpecError
from penstock.kinds import FileText, Kind, Options, Wrong, all_wrong


def declared(text: str) -> Struct:
    """The schema that the text declares, in DDL or as a JSON Schema, which begins with a brace."""
    if not text.lstrip().startswith("{"):
        return parse_ddl(text)
    from penstock.decode.json_schema import parse_json_schema  # only who writes JSON Schema pays for it

    return parse_json_schema(text)


def _schema(text: str) -> str:
    _checked(lambda: declared(text), "schema", one_line="\n" not in text)
    return text


def _checked(reading: Callable[[], Struct], path: str, *, one_line: bool = True) -> None:
    """Every fault of a schema as a fault of the field that holds it, with its place in the text."""
    try:
        reading()
    except SpecError as error:
        raise all_wrong([Wrong(_placed(fault, path, one_line), fault.remedy) for fault in error.faults]) from None


def _placed(fault: Fault, path: str, one_line: bool) -> str:
    line = "" if one_line or fault.line is None else f"line {fault.line}"
    inside = fault.path.removeprefix(path).lstrip(".#")
    place = ", ".join(each for each in (line, f"`{inside}`" if inside else "") if each)
    return f"{place}: {fault.what}" if place else fault.what


class JsonOptions(Options):
    """How a JSON value becomes a row."""

    not_yet: ClassVar[Mapping[str, str]] = {"rescue_column": "leave it out: unknown_fields says what becomes of other keys"}

    schema_: Annotated[str, FileText((".json", ".ddl")), AfterValidator(_schema)] = Field(
        alias="schema", description="the fields: Spark DDL (`id BIGINT NOT NULL, name STRING`), or a file that holds it (.ddl) or a JSON Schema (.json)"
    )
    unknown_fields: Literal["ignore", "fault"] = Field(
        default="ignore", description="what a key that the schema does not name makes of its record: nothing, or a fault"
    )
    epochs: dict[str, str] = Field(default={}, description="TIMESTAMP fields that hold a number since 1970, each with its unit: {created_at: milliseconds}")

    @field_validator("epochs", mode="after")
    @classmethod
    def _fit(cls, epochs: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        text = info.data.get("schema_")
        if isinstance(text, str):
            _checked(lambda: with_epochs(declared(text), epochs, path="epochs"), "epochs")
        return epochs


def _build_json(options: JsonOptions) -> Any:
    from penstock.decode.json import JsonDecoder

    return JsonDecoder(declared(options.schema_), unknown_fields=options.unknown_fields, epochs=options.epochs)


JSON = Kind("json", JsonOptions, build=_build_json, summary="JSON by RFC 8259, every field checked against the schema")
