"""The text of a pipeline's file: what is read, what is refused, and the words of each refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.builtin import KINDS
from penstock.errors import SpecError
from penstock.spec import load
from penstock.spec.yaml import MAX_BYTES, Unreadable, parse, plain


def refusal(path: Path) -> str:
    with pytest.raises(SpecError) as caught:
        load(path, KINDS)
    return str(caught.value).replace(str(path.parent), "<here>")


def refusal_of(content: bytes, tmp_path: Path) -> str:
    file = tmp_path / "pipeline.yaml"
    file.write_bytes(content)
    return refusal(file)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("yes", "yes"),
        ("on", "on"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z"),
        (".nan", ".nan"),
    ],
)
def test_unquoted_text_is_read_by_yaml_1_2_and_dates_stay_text(text: str, value: object) -> None:
    assert plain(text) == value
    assert type(plain(text)) is type(value)


def test_every_value_knows_its_line() -> None:
    values, lines, twice = parse("a: 1\nb:\n  - x\n  - {c: 'y'}\n")
    assert values == {"a": 1, "b": ("x", {"c": "y"})}
    assert lines == {(): 1, ("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 1): 4, ("b", 1, "c"): 4}
    assert twice == []


def test_an_alias_stands_for_the_value_it_names() -> None:
    values, _, _ = parse("a: &place {path: x}\nb: *place\n")
    assert values == {"a": {"path": "x"}, "b": {"path": "x"}}


def test_numbers_as_keys_stay_numbers() -> None:
    values, _, _ = parse("0: a\n'1': b\n")
    assert values == {0: "a", "1": "b"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"name: a: b\n",
            "<here>/pipeline.yaml: 1 fault\n"
            "  line 1: file: this is not YAML: mapping values are not allowed here\n"
            "      a text with `: ` in it needs quotes, and every key of a block the same indentation",
        ),
        (
            b"name: x\n\tkafka: {}\n",
            "<here>/pipeline.yaml: 1 fault\n"
            "  line 2: file: this is not YAML: found character '\\t' that cannot start any token\n"
            "      indent with spaces, not with tabs",
        ),
        (
            b"source: {topics: [a\nname: x\n",
            "<here>/pipeline.yaml: 1 fault\n"
            "  line 2: file: this is not YAML: expected ',' or ']', but got ':'\n"
            "      look for a missing comma, bracket or quote, or an indentation that changes, on this line and the one before",
        ),
        (
            b"name: 'x\n",
            "<here>/pipeline.yaml: 1 fault\n"
            "  line 2: file: this is not YAML: found unexpected end of stream\n"
            "      look for a missing quote, bracket or colon on this line and the one before",
        ),
        (
            b"name: \x01\n",
            "<here>/pipeline.yaml: 1 fault\n"
            "  file: this is not YAML: unacceptable character #x0001: special characters are not allowed\n"
            "      save the file as plain UTF-8 text",
        ),
        (b"", "<here>/pipeline.yaml: 1 fault\n  file: the file is empty\n      start with `name: payments`"),
        (b"# nothing\n", "<here>/pipeline.yaml: 1 fault\n  file: the file is empty\n      start with `name: payments`"),
        (
            b"- a\n- b\n",
            "<here>/pipeline.yaml: 1 fault\n  line 1: file: the file does not hold `key: value` lines\n      start with `name: payments`",
        ),
        (
            b"name: a\n---\nname: b\n",
            "<here>/pipeline.yaml: 1 fault\n  line 3: file: a second document starts here\n      keep one pipeline in a file: remove the `---`",
        ),
        (
            b"name: !!python/object/apply:os.system [ls]\n",
            "<here>/pipeline.yaml: 1 fault\n"
            "  line 1: file: the tag 'tag:yaml.org,2002:python/object/apply:os.system' is not accepted\n"
            "      remove it: values are plain text, numbers, lists and blocks",
        ),
        (
            b"name: *nowhere\n",
            "<here>/pipeline.yaml: 1 fault\n  line 1: file: `*nowhere` refers to nothing above it\n      mark the value with `&nowhere` before it is used",
        ),
        (
            b"name: &me {again: *me}\n",
            "<here>/pipeline.yaml: 1 fault\n  line 1: file: `*me` refers to nothing above it\n      mark the value with `&me` before it is used",
        ),
        (
            b"? [a, b]\n: c\n",
            "<here>/pipeline.yaml: 1 fault\n  line 1: file: a key must be plain text\n      write `key: value`",
        ),
        (
            b"name: a\nname: \xff\n",
            "<here>/pipeline.yaml: 1 fault\n  line 2: file: the file is not UTF-8 text\n      save it as UTF-8",
        ),
    ],
)
def test_text_that_is_no_pipeline_is_refused_with_line_and_remedy(content: bytes, message: str, tmp_path: Path) -> None:
    assert refusal_of(content, tmp_path) == message


def test_a_missing_file_is_named_with_the_place_that_was_looked_at(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nope.yaml") == "<here>/nope.yaml: 1 fault\n  file: there is no such file\n      looked for <here>/nope.yaml"


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    assert refusal(tmp_path / "dir") == "<here>/dir: 1 fault\n  file: this is a directory\n      name a file in it"


def test_a_file_that_may_not_be_read_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # the tests may run as root, whom no mode keeps out
    file = tmp_path / "pipeline.yaml"
    expected = "<here>/pipeline.yaml: 1 fault\n  file: the file may not be read\n      give this user the right to read it: chmod u+r <here>/pipeline.yaml"
    assert refusal(file) == expected


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "a\0b") == "<here>/a\0b: 1 fault\n  file: the file cannot be read: its name is not valid\n      check the path and the disk"


def test_a_file_above_the_limit_is_not_read(tmp_path: Path) -> None:
    message = refusal_of(b"#" * (MAX_BYTES + 1), tmp_path)
    assert message == "<here>/pipeline.yaml: 1 fault\n  file: the file is larger than 1 MiB\n      a pipeline's file has a few dozen lines: check the name"


def test_a_bomb_of_aliases_meets_the_limit_before_it_is_built() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(Unreadable, match="the file holds more than 10,000 values"):
        parse("\n".join(lines))


def test_deep_nesting_meets_the_limit_before_recursion_does() -> None:
    with pytest.raises(Unreadable, match="blocks are nested deeper than 20 levels"):
        parse("a: " + "[" * 5_000 + "]" * 5_000)


def test_a_byte_order_mark_is_not_part_of_the_first_key(tmp_path: Path) -> None:
    assert "line 1: name: " in refusal_of(b"\xef\xbb\xbfname: NOT A NAME\n", tmp_path)
