"""Make docs/reference/ from the code: `python tools/make_reference.py`; with `--check` only say which file differs.

The pipeline's file comes from the models of its blocks, the command from its own help, the error codes from the places
where the code raises them. An error whose code cannot be read there ends this program: no code is left out in silence.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock import errors
from penstock.builtin import KINDS
from penstock.cli.app import COMMANDS, app, main
from penstock.spec.reference import json_schema, markdown

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs/reference"
GENERATED = "Generated from the code by `make docs`; edits here are lost."
CLASSES = {name: found for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, errors.PenstockError)}
PASSED_ON = {"errors.py", "run/chain.py", "run/spark_errors.py"}
"""Where an error made elsewhere is only made again, with `code=code`. The texts of spark_errors.py are read from its table."""


@dataclass(slots=True)
class Code:
    """One error code: its branch of the tree, and the next steps that it comes with."""

    branch: str
    next_steps: list[str] = field(default_factory=list)


def files() -> Mapping[str, str]:
    """Every file of the reference, by name."""
    return {
        "pipeline.md": markdown(KINDS),
        "pipeline.schema.json": json.dumps(json_schema(KINDS), ensure_ascii=False, indent=2) + "\n",
        "command.md": command_page(),
        "errors.md": error_page(ROOT / "src/penstock"),
    }


def command_page() -> str:
    """The help of every command, as the command prints it on a terminal of 80 columns."""
    parts = [f"# The command\n\n{GENERATED}\nThe exit codes are those of [the errors](errors.md).\n", _help()]
    for name in COMMANDS:
        parts += [f"## `penstock {name}`\n", _help(name)]
        for below in subcommands(name):
            parts += [f"### `penstock {name} {below}`\n", _help(name, below)]
    return "\n".join(parts)


def subcommands(name: str) -> list[str]:
    """The sub-commands of a command, if it has any."""
    from typer.main import get_command

    group = get_command(app)
    return list(getattr(group.get_command(None, name), "commands", {}))  # type: ignore[attr-defined]


def _help(*path: str) -> str:
    os.environ["COLUMNS"] = "80"
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        try:
            main([*path, "--help"])
        except SystemExit as ended:
            if ended.code:
                raise
    return f"```text\n{heard.getvalue().rstrip()}\n```\n"


def error_page(source: Path) -> str:
    """Every error code under `source`, by exit code."""
    codes = error_codes(source)
    lines = ["# The errors\n", GENERATED, "An error is printed as what happened, where, and the next step; `--json` gives its code too.\n"]
    by_exit = sorted(CLASSES, key=lambda name: CLASSES[name].exit_code)
    for branch in by_exit:
        named = sorted(code for code, found in codes.items() if found.branch == branch)
        if not named:
            continue
        promise = (CLASSES[branch].__doc__ or "").splitlines()[0] if branch != "PenstockError" else "A mistake in Penstock."
        lines += [f"## Exit code {CLASSES[branch].exit_code}: `{branch}`\n", f"{promise}\n", "| code | next step |", "|---|---|"]
        lines += [f"| `{code}` | {('<br>'.join(codes[code].next_steps) or 'as the message says').replace('|', chr(92) + '|')} |" for code in named] + [""]
    return "\n".join(lines)


def error_codes(source: Path) -> dict[str, Code]:
    """Every code that an error in these files is raised with; `SystemExit` where one cannot be read, or has two branches."""
    codes: dict[str, Code] = {}
    for path in sorted(source.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(source).as_posix()
        for branch, code, step in (*_raised(tree, name), *_listed(tree)):
            known = codes.setdefault(code, Code(branch))
            if known.branch != branch:
                raise SystemExit(f"{name}: the code {code} belongs to {known.branch} and to {branch}: give each its own")
            if step and step not in known.next_steps:
                known.next_steps.append(step)
    return codes


def _raised(tree: ast.Module, name: str) -> Iterator[tuple[str, str, str]]:
    constants = {target.id: node.value for node in tree.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and name != "errors.py" and any(isinstance(base, ast.Name) and base.id in CLASSES for base in node.bases):
            raise SystemExit(f"{name}:{node.lineno}: {node.name} is an error outside errors.py")
        if not isinstance(node, ast.Call):
            continue
        branch = getattr(node.func, "id", getattr(node.func, "attr", ""))
        given = {item.arg: item.value for item in node.keywords}
        if branch == "SpecError" and "code" not in given and name != "errors.py":
            yield branch, "spec_invalid", "mend the file, then run `penstock validate` again"
        elif branch in CLASSES or not isinstance(given.get("code"), ast.Attribute | None):  # `error.code` is that of an error made elsewhere
            code = _text(given.get("code"), constants)
            if branch in CLASSES and code:
                yield branch, code, _text(given.get("next_step"), constants)
            elif name not in PASSED_ON:
                raise SystemExit(f"{name}:{node.lineno}: an error whose class or code cannot be read: write both where it is made")


def _listed(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Rows of a table: (…, class, code, what, next step)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and len(node.elts) == 5 and isinstance(node.elts[1], ast.Name) and node.elts[1].id in CLASSES:
            yield node.elts[1].id, _text(node.elts[2], {}), _text(node.elts[4], {})


def _text(node: ast.expr | None, constants: Mapping[str, ast.expr]) -> str:
    """A literal's text, with … for what is only known when it happens; empty where it is no literal."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(_text(value, constants) or "…" for value in values)
        case ast.Name(id=name) if name in constants:
            return _text(constants[name], {})
        case _:
            return ""


def run(arguments: list[str]) -> int:
    """Write the files, or compare them: 1 where one differs."""
    stale = {name: text for name, text in files().items() if not (REFERENCE / name).is_file() or (REFERENCE / name).read_text(encoding="utf-8") != text}
    strange = sorted({path.name for path in REFERENCE.glob("*")} - set(files()))
    if "--check" in arguments:
        print("".join(f"docs/reference/{name} is not what the code says: run `make docs`\n" for name in [*stale, *strange]), end="")
        return 1 if stale or strange else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, text in stale.items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
