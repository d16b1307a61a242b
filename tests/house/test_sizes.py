"""The sizes of the house: a file is at most 400 lines, a function at most 50, with at most 5 parameters and 3 levels of nesting."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION, MOST_PARAMETERS, MOST_POSITIONAL, DEEPEST = 400, 50, 5, 5, 3

EXCEPTIONS = {
    "cli/run.py:run": "a command's parameters are its options, read one by one by people",
}
"""Where a rule would make the code worse, with the reason."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Match)


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def nesting(node: ast.AST, depth: int = 0) -> int:
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        # `elif` is an If inside the else of another: the same level to a reader.
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        deepest = max(deepest, nesting(child, depth + (isinstance(child, BLOCKS) and not is_elif)))
    return deepest


def faults(path: Path) -> Iterator[str]:
    name = str(path).split("src/penstock/")[1]
    if (lines := len(path.read_text().splitlines())) > LONGEST_FILE:
        yield f"{name}: {lines} lines"
    for function in functions(path):
        if f"{name}:{function.name}" in EXCEPTIONS:
            continue
        length = (function.end_lineno or function.lineno) - function.lineno + 1
        given = [argument for argument in (*function.args.posonlyargs, *function.args.args) if argument.arg not in ("self", "cls")]
        every = len(given) + len(function.args.kwonlyargs)
        if length > LONGEST_FUNCTION:
            yield f"{name}:{function.lineno} {function.name}: {length} lines"
        if every > MOST_PARAMETERS and not function.name.startswith("__"):
            yield f"{name}:{function.lineno} {function.name}: {every} parameters"
        if (deep := nesting(function)) > DEEPEST:
            yield f"{name}:{function.lineno} {function.name}: nested {deep} deep"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path).split("src/penstock/")[1])
def test_a_file_keeps_the_sizes_of_the_house(path: Path) -> None:
    assert not list(faults(path))


def test_the_check_sees_what_is_too_large(tmp_path: Path) -> None:
    large = tmp_path / "src/penstock/large.py"
    large.parent.mkdir(parents=True)
    body = "\n".join(f"    x = {n}" for n in range(60))
    large.write_text(
        f"def f(a, b, c, d, e, g):\n{body}\n    for a in b:\n        for c in d:\n            for e in g:\n                if x:\n                    pass\n"
    )
    assert [fault.split(": ")[1] for fault in faults(large)] == ["66 lines", "6 parameters", "nested 4 deep"]


def test_every_exception_is_still_needed() -> None:
    names = {f"{str(path).split('src/penstock/')[1]}:{function.name}" for path in SOURCES for function in functions(path)}
    assert set(EXCEPTIONS) <= names
