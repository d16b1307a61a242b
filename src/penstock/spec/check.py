"""From plain values to a checked `PipelineSpec`, or every fault at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from pydantic import SecretStr, ValidationError

from penstock.kinds import FileText, Kind, Kinds, Location, Options
from penstock.spec.document import Block, Document, Finding, Loose, Path, Value, at, leaves, replaced
from penstock.spec.model import Chosen, PipelineBlocks, PipelineSpec, as_values
from penstock.spec.references import Origin
from penstock.spec.words import in_words, quoted, suggestion
from penstock.spec.yaml import Unreadable, plain, read_text

_NUMBERS_AND_TRUTH = frozenset({"int_type", "float_type", "bool_type"})
_UNKNOWN = Chosen("", Options())  # stands for a block that has faults of its own, so that the rest is still checked

_NOT_YET: Mapping[str, frozenset[str]] = {
    "decoder": frozenset({"avro", "protobuf", "text", "bytes", "python", "debezium"}),
    "transform": frozenset({"python", "join", "dedupe", "window", "rename", "cast"}),
    "sink": frozenset({"iceberg", "parquet", "jdbc", "kafka"}),
}


@dataclass(slots=True)
class _Check:
    """One document on its way to a spec: what was found, and where values came from."""

    document: Document
    written: Block
    kinds: Kinds
    origins: dict[Path, Origin]
    reads_files: bool
    findings: list[Finding] = field(default_factory=list)
    settled: set[Path] = field(default_factory=set)  # paths whose fault is known: what follows from it is not said


def checked(
    document: Document, kinds: Kinds, *, written: Block, origins: Mapping[Path, Origin], reads_files: bool = True
) -> tuple[PipelineSpec | None, list[Finding]]:
    """The spec, or None and what is wrong with it.

    `document` has its references looked up, `written` still holds them. Without `reads_files` a text is never taken for
    the name of a file: so is what has been resolved before.
    """
    check = _Check(document, written, kinds, dict(origins), reads_files)
    values: dict[Any, Any] = dict(document.values)
    for slot, kind_word, known in (("decode", "decoder", kinds.decoders), ("sink", "sink", kinds.sinks), ("dead_letters", "sink", kinds.sinks)):
        if values.get(slot) is not None:
            values[slot] = _chosen(check, (slot,), kind_word, known)
    values["transform"] = _transforms(check, values.get("transform", ()))
    blocks = _validated(check, PipelineBlocks, values, ())
    if isinstance(blocks, PipelineBlocks):
        check.findings += _contradictions(blocks)
    if check.findings or not isinstance(blocks, PipelineBlocks):
        return None, [_attributed(each, check.origins) for each in check.findings]
    for path, _ in leaves(as_values(blocks)):
        if at(check.written, path) is None:
            check.origins.setdefault(path, Origin("default"))
    named = {name: getattr(blocks, name) for name in PipelineBlocks.model_fields}
    return PipelineSpec(**named, directory=document.directory, origins=check.origins), []


def _transforms(check: _Check, value: Value) -> Any:
    if not isinstance(value, tuple):
        return () if value is None else value
    return tuple(_chosen(check, ("transform", index), "transform", check.kinds.transforms) for index in range(len(value)))


def _chosen(check: _Check, path: Path, kind_word: str, known: Mapping[str, Kind[Any]]) -> Chosen:
    block = at(check.document.values, path)
    if not isinstance(block, dict) or block.get("type") is None:
        what = "`type` is missing" if isinstance(block, dict) else f"must be a block that begins with `type:`, not {quoted(block)}"
        check.findings.append(Finding(path, what, f"choose one: {', '.join(f'type: {name}' for name in known)}"))
        return _UNKNOWN
    kind = known.get(str(block["type"]))
    if kind is None:
        check.findings.append(_unknown_kind((*path, "type"), str(block["type"]), kind_word, known))
        return _UNKNOWN
    values: Block = {key: value for key, value in block.items() if key != "type"}
    options = _validated(check, kind.options, _with_file_texts(check, kind.options, values, path), path)
    return Chosen(kind.name, options) if options is not None else _UNKNOWN


def _unknown_kind(path: Path, name: str, kind_word: str, known: Iterable[str]) -> Finding:
    if name in _NOT_YET[kind_word]:
        return Finding(path, f"this version of Penstock does not have the {kind_word} `{name}` yet", f"known here: {', '.join(known)}")
    return Finding(path, f"there is no {kind_word} `{name}`", suggestion(name, known))


def _with_file_texts(check: _Check, model: type[Options], values: Block, path: Path) -> Block:
    """The block with the text of each file that a `FileText` field names in the place of its name."""
    texts = dict(values)
    for name, info in model.model_fields.items():
        key = info.alias or name
        endings = [ending for mark in info.metadata if isinstance(mark, FileText) for ending in mark.endings]
        value = values.get(key)
        if not (check.reads_files and isinstance(value, str) and "\n" not in value and value.endswith(tuple(endings) or ("\n",))):
            continue
        try:
            texts[key] = read_text(FilePath(check.document.directory) / value)
            check.origins[(*path, key)] = replace(check.origins.get((*path, key), Origin("file")), file=value)
        except Unreadable as failure:
            check.findings.append(Finding((*path, key), f"`{value}`: {failure.what}", failure.remedy))
            check.settled.add((*path, key))
    return texts


def _validated(check: _Check, model: type[Options], values: Block, path: Path) -> Options | None:
    """The block as its model, or None; a loose text becomes the number or truth that its field asks for."""
    try:
        options = model.model_validate(values)
    except ValidationError as error:
        settled = _settled(error, values)
        if settled is not None:
            return _validated(check, model, settled, path)
        check.findings += [each for each in in_words(error, model, path) if each.path not in check.settled]
        return None
    for name, info in model.model_fields.items():
        value, here = getattr(options, name), (*path, info.alias or name)
        if isinstance(value, SecretStr):
            _keep_secret(check, here)
        elif isinstance(value, str) and value.startswith("~") and any(isinstance(mark, Location) for mark in info.metadata):
            check.findings.append(Finding(here, f"`{value}` begins with `~`, which only a shell expands", f"write ${{env:HOME}}{value[1:]}"))
    return options


def _settled(error: ValidationError, values: Block) -> Block | None:
    """The values with every loose text turned into what it was asked to be, or None where none can be."""
    settled: Value = values
    for each in error.errors(include_url=False, include_context=False):
        value = at(values, each["loc"])
        if each["type"] in _NUMBERS_AND_TRUTH and isinstance(value, Loose) and not isinstance(plain(value), str):
            settled = replaced(settled, each["loc"], plain(value))
    return settled if settled is not values and isinstance(settled, dict) else None


def _keep_secret(check: _Check, path: Path) -> None:
    """A secret field holds a reference and nothing else: the resolved text of the spec must not hold the secret."""
    reference = at(check.written, path)
    if path in check.origins and isinstance(reference, str) and "${" in reference:
        check.origins[path] = Origin("secret", reference)
    else:
        check.findings.append(Finding(path, "is a secret, and stands here in the open", "write `${file:/run/secrets/…}` or `${env:NAME}` in its place"))
        check.settled.add(path)


def _contradictions(blocks: PipelineBlocks) -> Iterable[Finding]:
    """What every block accepts and the pipeline as a whole does not."""
    start, topics = blocks.source.start, blocks.source.topics
    for topic in start if isinstance(start, dict) else ():
        if topic not in topics:
            yield Finding(("source", "start", topic), f"`{topic}` is not among the topics", suggestion(topic, topics))
    places: dict[str, str] = {}
    for slot in ("state", "sink", "dead_letters"):
        value = getattr(blocks, slot)
        place = value if slot == "state" else getattr(getattr(value, "options", None), "path", None)
        if place is None:
            continue
        same = places.setdefault(os.path.normpath(place), slot)
        if same != slot:
            yield Finding((slot,) if slot == "state" else (slot, "path"), f"`{place}` is also the place of `{same}`", "give each a directory of its own")


def _attributed(finding: Finding, origins: Mapping[Path, Origin]) -> Finding:
    """The finding with where its value came from; of a secret it keeps no word."""
    origin = next((origins[finding.path[:length]] for length in range(len(finding.path), 0, -1) if finding.path[:length] in origins), None)
    if origin is None:
        return finding
    if origin.kind == "secret":
        return Finding(finding.path, "the text of this secret is not accepted here", f"look at what {origin.name} holds")
    before = f"{origin.file}: " if origin.file else ""
    behind = "" if origin.kind == "file" else f" ({origin})"
    return Finding(finding.path, f"{before}{finding.what}{behind}", finding.remedy)
