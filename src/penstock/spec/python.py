"""A pipeline written in Python: the same nouns as in the file, checked by the same rules, its faults at the user's line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.kinds import Kinds
from penstock.spec.document import Block, Document, Finding, Value
from penstock.spec.document import Path as ValuePath
from penstock.spec.load import from_document
from penstock.spec.model import PipelineSpec


class Pipeline:
    """What the pipeline's file would say, as keyword arguments: blocks are plain dictionaries with the same keys.

    Nothing is checked here: `penstock validate module:pipeline` does, and so does whatever runs it. Relative paths
    start from the directory of the Python file, which is remembered with the line for the faults.
    """

    __slots__ = ("_document", "_findings")

    def __init__(
        self,
        *,
        name: str,
        kafka: Mapping[str, Any],
        source: Mapping[str, Any],
        decode: Mapping[str, Any],
        sink: Mapping[str, Any],
        state: str | os.PathLike[str],
        transform: Sequence[Mapping[str, Any]] | None = None,
        dead_letters: Mapping[str, Any] | None = None,
        trigger: str | None = None,
        rate: Mapping[str, Any] | None = None,
    ) -> None:
        given: dict[str, Any] = {"name": name, "kafka": kafka, "source": source, "trigger": trigger, "rate": rate}
        given |= {"decode": decode, "transform": transform, "sink": sink, "dead_letters": dead_letters, "state": state}
        self._findings: list[Finding] = []
        values: Block = {key: self._value(value, (key,)) for key, value in given.items() if value is not None}
        frame = sys._getframe(1)
        file = frame.f_code.co_filename
        directory = str(Path(file).absolute().parent if Path(file).exists() else Path.cwd())  # a notebook's cell is no file
        self._document = Document(values, file, directory, line=frame.f_lineno)

    def __repr__(self) -> str:
        return f"<Pipeline {self._document.values['name']!r} at {self._document.file}:{self._document.line}>"

    def spec(self, kinds: Kinds, overrides: Sequence[str] = ()) -> PipelineSpec:
        """The checked spec, equal to the one that a file of the same words gives; `SpecError` carries every fault."""
        return from_document(self._document, kinds, overrides, findings=self._findings)

    def _value(self, given: Any, path: ValuePath) -> Value:
        if isinstance(given, os.PathLike):
            return str(os.fspath(given))
        if isinstance(given, Mapping):
            keys = {key: key if isinstance(key, int) else str(key) for key in given}
            return {keys[key]: self._value(value, (*path, keys[key])) for key, value in given.items()}
        if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
            return tuple(self._value(value, (*path, index)) for index, value in enumerate(given))
        if isinstance(given, (bool, int, float, str)) or given is None:
            return given
        what = f"a value of the type {type(given).__name__} cannot stand in a pipeline"
        self._findings.append(Finding(path, what, "write text, a number, a list or a dictionary"))
        return None
