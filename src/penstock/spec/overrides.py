"""`--set path=value`: one value of the file replaced from the command line, in the file's own words."""

from __future__ import annotations

import re

from penstock.spec.document import Block, Finding, Loose, Path, Value, at, replaced
from penstock.spec.yaml import Unreadable, parse

_STEP = re.compile(r'(?:^|\.)(?:"(?P<quoted>[^"]+)"|(?P<name>[^.\[\]"=]+))|\[(?P<index>[0-9]{1,4})\]')


def override(values: Block, settings: tuple[str, ...]) -> tuple[Block, list[Path], list[Finding]]:
    """The values with each setting in its place, the paths that were set, and the settings that cannot be applied."""
    paths: list[Path] = []
    findings: list[Finding] = []
    for setting in settings:
        try:
            path, value = _setting(setting)
            _check_way(values, path)
        except Unreadable as failure:
            findings.append(Finding(("--set",), f"`{setting}`: {failure.what}", failure.remedy))
            continue
        changed = replaced(values, path, value)
        assert isinstance(changed, dict)
        values = changed
        paths.append(path)
    return values, paths, findings


def _setting(text: str) -> tuple[Path, Value]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Unreadable(None, "there is no `=` in it", "write `--set path=value`, for example `--set sink.path=lake/test`")
    try:
        block, _, _ = parse(f"value: {value}")
    except Unreadable:
        # Not YAML as it stands, as `a: b` or `@x` are not: then it is meant as the text that it is.
        return _path(name.strip()), Loose(value)
    return _path(name.strip()), _loose(block["value"], value.strip())


def _loose(value: Value, text: str = "") -> Value:
    if isinstance(value, dict):
        return {key: _loose(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_loose(each) for each in value)
    return value if value is None or isinstance(value, str) or not text else Loose(text)


def _path(name: str) -> Path:
    steps: list[str | int] = []
    place = 0
    while place < len(name):
        found = _STEP.match(name, place)
        if found is None or (place and not found.group().startswith((".", "["))):
            break
        place = found.end()
        if found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            step = found["quoted"] or found["name"]
            steps.append(int(step) if step.isdigit() else step)
    if not steps or place < len(name):
        raise Unreadable(None, f"`{name}` is no path", "write it as faults do: `sink.path`, `transform[0].where`")
    return tuple(steps)


def _check_way(values: Value, path: Path) -> None:
    """`Unreadable` where the path leads through a single value or past the end of a list."""
    for length, step in enumerate(path):
        value = at(values, path[:length])
        before = ".".join(str(each) for each in path[:length])
        if isinstance(value, tuple) and not (isinstance(step, int) and step < len(value)):
            raise Unreadable(None, f"`{before}` is a list of {len(value)}, and has no `{step}`", f"set the whole list: --set '{before}=[…]'")
        if not isinstance(value, (tuple, dict, type(None))):
            raise Unreadable(None, f"`{before}` is a single value, not a block", f"set `{before}` itself")
