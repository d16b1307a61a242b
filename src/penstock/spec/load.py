"""The ways to a checked spec: from a file, from Python, and from the resolved text that a batch's plan file carries."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.errors import SpecError
from penstock.kinds import Kinds
from penstock.spec.check import checked
from penstock.spec.document import Block, Document, Finding, Value, at, replaced
from penstock.spec.document import Path as ValuePath
from penstock.spec.model import PipelineSpec, as_values
from penstock.spec.overrides import override
from penstock.spec.references import Origin, Surroundings, resolve
from penstock.spec.yaml import Unreadable, parse, read_text

RESOLVED_FORMAT = 1


def load(path: str | os.PathLike[str], kinds: Kinds, overrides: Sequence[str] = (), *, surroundings: Surroundings | None = None) -> PipelineSpec:
    """The pipeline of this file with `overrides` (`path=value`) applied; `SpecError` carries everything that is wrong."""
    file = os.fspath(path)
    try:
        values, lines, twice = parse(read_text(Path(file)))
    except Unreadable as failure:
        raise Document({}, file, "", line=failure.line).error([Finding(("file",), failure.what, failure.remedy)]) from None
    directory = str(Path(file).absolute().parent)
    return from_document(Document(values, file, directory, lines), kinds, overrides, surroundings=surroundings, findings=twice)


def located(error: SpecError, path: str | os.PathLike[str]) -> SpecError:
    """The same faults with their lines in this file, for those that were found when it had long been read."""
    try:
        values, lines, _ = parse(read_text(Path(path)))
    except (Unreadable, OSError):
        return error
    document = Document(values, os.fspath(path), "", lines)
    known = {document.dotted(each): line for each, line in lines.items()}
    faults = [fault if fault.line is not None else replace(fault, line=known.get(fault.path)) for fault in error.faults]
    return SpecError(faults, file=error.file or os.fspath(path))


def from_document(
    document: Document, kinds: Kinds, overrides: Sequence[str] = (), *, surroundings: Surroundings | None = None, findings: Sequence[Finding] = ()
) -> PipelineSpec:
    """The pipeline of a document whose references are still to be looked up; `findings` is what was wrong with its text."""
    written, set_paths, unusable = override(document.values, tuple(overrides))
    resolved, origins, unresolved = resolve(written, surroundings or Surroundings.here())
    lines: dict[ValuePath, int | None] = dict(document.lines)
    for path in set_paths:
        lines |= {each: None for each in lines if each[: len(path)] == path} | {path: None}
        origins.setdefault(path, Origin("override"))
    ready = Document(resolved, document.file, document.directory, lines, document.line)
    spec, wrong = checked(ready, kinds, written=written, origins=origins)
    found = [*findings, *unusable, *unresolved, *(each for each in wrong if each.path not in {known.path for known in unresolved})]
    if spec is None or found:
        raise ready.error(found)
    return spec


def resolved_text(spec: PipelineSpec) -> str:
    """The spec as canonical JSON that depends on no file any more; secrets stand in it as references."""
    pipeline: Value = as_values(spec)
    for path, origin in spec.origins.items():
        if origin.kind == "secret":
            pipeline = replaced(pipeline, path, origin.name)
    origins = [[list(path), origin.kind, origin.name, origin.file] for path, origin in spec.origins.items()]
    whole = {"format": RESOLVED_FORMAT, "directory": spec.directory, "pipeline": pipeline, "origins": origins}
    return json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def load_resolved(text: str, kinds: Kinds, *, surroundings: Surroundings | None = None) -> PipelineSpec:
    """The very spec whose `resolved_text` this is, its secrets looked up again."""
    whole = json.loads(text)
    if whole["format"] != RESOLVED_FORMAT:
        raise Document({}, "resolved spec", "").error([_other_format(whole["format"])])
    written = _frozen(whole["pipeline"])
    origins = {tuple(path): Origin(*origin) for path, *origin in whole["origins"]}
    resolved, findings = _revealed(written, origins, surroundings or Surroundings.here())
    document = Document(resolved, "resolved spec", whole["directory"])
    spec, wrong = checked(document, kinds, written=written, origins=origins, reads_files=False)
    if spec is None or findings:
        raise document.error([*findings, *wrong])
    return spec


def _other_format(found: Any) -> Finding:
    return Finding(("format",), f"this text has format {found}, this version of Penstock reads {RESOLVED_FORMAT}", "run the version of Penstock that wrote it")


def _revealed(written: Block, origins: dict[ValuePath, Origin], surroundings: Surroundings) -> tuple[Block, list[Finding]]:
    """The values with the secrets among them looked up; anything else that looks like a reference is meant as it stands."""
    findings: list[Finding] = []
    revealed: Value = written
    for path, origin in origins.items():
        if origin.kind == "secret":
            secret, _, failed = resolve({"secret": at(written, path)}, surroundings)
            revealed = replaced(revealed, path, secret["secret"])
            findings += [Finding(path, each.what, each.remedy) for each in failed]
    assert isinstance(revealed, dict)
    return revealed, findings


def _frozen(value: Any) -> Any:
    """Lists of JSON as the tuples that a document holds."""
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value
