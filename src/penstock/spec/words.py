"""What a validation error means, in the words of someone who wrote a file and knows nothing of our library."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from penstock.kinds import Options, Wrong
from penstock.spec.document import Finding, Path, Value

MAX_QUOTED = 60  # characters of a value: enough to recognise it on one line


def in_words(error: ValidationError, model: type[Options], prefix: Path) -> list[Finding]:
    """Every error of validating the block at `prefix` against `model`."""
    findings: list[Finding] = []
    for each in error.errors(include_url=False):
        path = (*prefix, *each["loc"])
        context: dict[str, Any] = each.get("ctx", {})
        if each["type"] == "wrong":
            found: tuple[Wrong, ...] = context["found"]
            findings += [Finding((*path, *wrong.at), wrong.what, wrong.remedy) for wrong in found]
        elif each["type"] == "extra_forbidden":
            findings.append(unknown_key(path, _block_of(model, each["loc"][:-1])))
        elif each["type"] == "missing":
            findings.append(Finding(path, "is missing", f"add it: {_description(model, each['loc'])}"))
        else:
            findings.append(Finding(path, *_sentence(each["type"], each["input"], context)))
    return findings


def unknown_key(path: Path, model: type[Options]) -> Finding:
    """A key that the block does not have: a near miss, something that comes later, or neither."""
    key = str(path[-1])
    if key in model.not_yet:
        return Finding(path, f"this version of Penstock does not have `{key}` yet", model.not_yet[key])
    return Finding(path, "there is no such key here", suggestion(key, keys(model)))


def keys(model: type[BaseModel]) -> list[str]:
    """The keys of a block as the file spells them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def suggestion(given: str, known: Iterable[str]) -> str:
    """`did you mean …?` for a near miss, else the list of what is known."""
    names = list(known)
    near = difflib.get_close_matches(given.lower().replace("-", "_"), names, n=1, cutoff=0.7)
    return f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(names)}" if names else "remove it"


def quoted(value: Value | Any) -> str:
    """A value as a message may show it: short, and blocks by what they are."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a block"
    if isinstance(value, (tuple, list)):
        return "a list"
    text = str(value).replace("\n", " ")
    return f"`{text[:MAX_QUOTED]}…`" if len(text) > MAX_QUOTED else f"`{text}`"


def _sentence(kind: str, value: Any, context: Mapping[str, Any]) -> tuple[str, str]:  # noqa: PLR0911 - one sentence a case
    given = quoted(value)
    if kind in _TYPES:
        wanted, remedy = _TYPES[kind]
        return f"must be {wanted}, not {given}", remedy
    match kind:
        case "string_type":
            return f"must be text, not {given}", f'write it in quotes: "{value}"' if isinstance(value, (int, float)) else "write it as plain text"
        case "tuple_type":
            remedy = f"write it in brackets: [{json.dumps(value, ensure_ascii=False)}]" if isinstance(value, str) else "write `[a, b]`, or one `- ` line each"
            return f"must be a list, not {given}", remedy
        case "literal_error":
            names = context["expected"].replace("'", "")
            return f"must be {names}, not {given}", suggestion(str(value), names.replace(" or ", ", ").split(", "))
        case "greater_than_equal" | "less_than_equal":
            bound = f"{context['ge']:,} or more" if kind == "greater_than_equal" else f"{context['le']:,} or less"
            return f"must be {bound}, not {given}", f"write a number of {bound}"
        case "too_short" | "string_too_short":
            return "is empty", "fill it in, or leave the whole key out"
        case _:
            return f"{given} is not accepted here", "docs/reference/pipeline.md says what is"


_BLOCK = "a block of `key: value` lines", "indent its keys below it"
_WHOLE_NUMBER = "a whole number", "write digits only, without quotes, separators or a unit"
_NUMBER = "a number", "write it without quotes and without a unit"
_TRUTH = "true or false", "write true or false, without quotes"
_TYPES = {
    **dict.fromkeys(("int_type", "int_from_float"), _WHOLE_NUMBER),
    **dict.fromkeys(("float_type", "finite_number"), _NUMBER),
    "bool_type": _TRUTH,
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), _BLOCK),
}


def _description(model: type[Options], loc: tuple[Any, ...]) -> str:
    block = _block_of(model, loc[:-1])
    for name, field in block.model_fields.items():
        if loc[-1] in (name, field.alias):
            return field.description or str(loc[-1])
    return str(loc[-1])


def _block_of(model: type[Options], loc: tuple[Any, ...]) -> type[Options]:
    """The model of the block that `loc` leads to from `model`."""
    for step in loc:
        for name, field in model.model_fields.items():
            nested = field.annotation
            if step in (name, field.alias) and isinstance(nested, type) and issubclass(nested, Options):
                model = nested
    return model
