"""The reference of every block, generated from the models: Markdown for people, a JSON Schema for editors."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from penstock.kinds import FileText, Kind, Kinds, Location, Options
from penstock.spec.model import PipelineBlocks

_JSON_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
_HEAD = """# The pipeline's file

Generated from the code by `make docs`; edits here are lost. Every key that is not listed is a fault.
Any value may hold `${env:NAME}`, `${env:NAME:-default}` or `${file:/run/secrets/name}`; `$${` stands for `${` itself.
Relative paths start from the directory of the file.
"""


def markdown(kinds: Kinds) -> str:
    """Every block with its keys, what each accepts, its default and what it means."""
    parts = [_HEAD, _block("The file", "", PipelineBlocks)]
    for name, info in PipelineBlocks.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, Options):
            parts.append(_block(f"`{name}:`", _sentence(info.description), info.annotation))
    for slots, kinds_there in _slots(kinds):
        named = " and ".join(f"`{slot}:`" for slot in slots)
        parts += [_block(f"{named} `{{type: {kind.name}}}`", _about(kind), kind.options) for kind in kinds_there]
    return "\n".join(parts)


def json_schema(kinds: Kinds) -> dict[str, Any]:
    """A JSON Schema of the file, so that an editor completes its keys; `penstock validate` knows more."""
    properties: dict[str, Any] = {}
    chosen = {slot: there for slots, there in _slots(kinds) for slot in slots}
    for name, info in PipelineBlocks.model_fields.items():
        if name in chosen:
            one = {"oneOf": [_kind_schema(kind) for kind in chosen[name]]}
            properties[name] = {"type": "array", "items": one} if name == "transform" else one
        elif isinstance(info.annotation, type) and issubclass(info.annotation, Options):
            properties[name] = _plain(info.annotation.model_json_schema())
        else:
            properties[name] = {"type": "string"}
        properties[name]["description"] = info.description
    required = [name for name, info in PipelineBlocks.model_fields.items() if info.is_required()]
    closed = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"$schema": _JSON_SCHEMA, "title": "Penstock pipeline", **closed}


def _slots(kinds: Kinds) -> Iterator[tuple[tuple[str, ...], list[Kind[Any]]]]:
    yield ("decode",), list(kinds.decoders.values())
    yield ("transform",), list(kinds.transforms.values())
    yield ("sink", "dead_letters"), list(kinds.sinks.values())


def _kind_schema(kind: Kind[Any]) -> dict[str, Any]:
    schema = _plain(kind.options.model_json_schema())
    schema["properties"] = {"type": {"const": kind.name}, **schema.get("properties", {})}
    schema["required"] = ["type", *schema.get("required", [])]
    return schema


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the titles that the library makes of the names of classes."""
    return {key: _plain(value) if isinstance(value, dict) else value for key, value in schema.items() if key != "title" or isinstance(value, dict)}


def _about(kind: Kind[Any]) -> str:
    return " ".join(each for each in (_sentence(kind.summary), f"Promise: {kind.promise}." if kind.promise else "") if each)


def _sentence(text: str | None) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _block(title: str, about: str, model: type[Options]) -> str:
    rows = [_row(info.alias or name, info) for name, info in model.model_fields.items()]
    table = ["| key | accepts | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join([f"## {title}", *([about, ""] if about else []), *table, ""])


def _row(name: str, info: FieldInfo) -> str:
    default = "**required**" if info.is_required() else _default(info.get_default())
    return f"| `{name}` | {_accepts(info.annotation, info.metadata)} | {default} | {(info.description or '').replace('|', chr(92) + '|')} |"


def _default(value: Any) -> str:
    if isinstance(value, Options):
        return ", ".join(f"`{key}: {each}`" for key, each in value.model_dump(by_alias=True).items())
    return "none" if value is None or value == () else f"`{value if isinstance(value, str) else json.dumps(value)}`"


_WORDS: Mapping[Any, str] = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def _accepts(annotation: Any, marks: Iterable[Any] = ()) -> str:
    """What a field takes, in words."""
    marked = next((_MARKS[type(mark)](mark) for mark in marks if type(mark) in _MARKS), None)
    return marked or _type_in_words(annotation)


_MARKS: Mapping[type, Callable[[Any], str]] = {
    Location: lambda _: "path or URI",
    FileText: lambda mark: f"text, or a file ({', '.join(mark.endings)})",
}


def _type_in_words(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _accepts(arguments[0], arguments[1:])
    if origin is Literal:
        return " or ".join(f"`{each}`" for each in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_accepts(each) for each in arguments if each is not type(None))
    if origin is tuple:
        accepted = _accepts(arguments[0])
        return "list of blocks" if accepted == "block" else f"list of {accepted}"
    return _WORDS.get(annotation, "block")
