"""The command as its user meets it: what it prints, where, and the code it exits with."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import penstock
from penstock.builtin import KINDS
from penstock.cli.app import COMMANDS, main
from penstock.cli.target import load_target
from penstock.errors import Fatal

EXAMPLE = Path(__file__).parents[2] / "examples" / "payments" / "pipeline.yaml"
HEAVY = {"pyspark", "py4j", "pyarrow", "numpy", "pandas", "deltalake", "confluent_kafka", "arro3", "msgspec", "duckdb", "rich"}

MODULE = """\
from penstock import Pipeline

good = Pipeline(
    name="payments",
    kafka={"servers": "kafka-1:9092"},
    source={"topics": ["payments"]},
    decode={"type": "json", "schema": "id BIGINT"},
    sink={"type": "console"},
    state="state/payments",
)
bad = Pipeline(name="X", kafka={"servers": "a:1"}, source={"topics": ["a"]}, decode={"type": "json", "schema": "id INT"}, sink={"type": "console"}, state="s")
number = 5
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """The command run in an empty directory: its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        out, err = capsys.readouterr()
        return int(caught.value.code or 0), out.replace(str(tmp_path), "<here>"), err.replace(str(tmp_path), "<here>")

    return command


def test_help_has_one_line_a_command_and_each_is_the_first_line_of_its_own_help(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("--help")
    assert code == 0
    for name, line in COMMANDS.items():
        assert len([each for each in out.splitlines() if each.split() and each.split()[0] == name and each.endswith(line)]) == 1
        assert line in run(name, "--help")[1]
    assert max(map(len, out.splitlines())) <= 80


def test_the_version_is_said(run) -> None:  # type: ignore[no-untyped-def]
    assert run("--version") == (0, f"penstock {penstock.__version__}\n", "")
    assert penstock.__version__ == version("penstock")


def test_a_valid_file_is_said_to_be_valid(run) -> None:  # type: ignore[no-untyped-def]
    assert run("validate", str(EXAMPLE)) == (0, f"{EXAMPLE}: valid: pipeline payments, topic payments into delta\n", "")
    assert run("validate", str(EXAMPLE), "--set", "source.topics=[a, b]")[1] == f"{EXAMPLE}: valid: pipeline payments, 2 topics into delta\n"
    assert run("validate", str(EXAMPLE), "--json") == (0, '{"valid": true, "name": "payments"}\n', "")


def test_a_faulty_file_is_reported_on_standard_error_with_code_2(run) -> None:  # type: ignore[no-untyped-def]
    assert run("validate", str(EXAMPLE), "--set", "sink={type: detla}", "--set", "name=X") == (
        2,
        "",
        f"{EXAMPLE}: 2 faults\n"
        "  name: `X` is no name for a pipeline (from --set)\n"
        "      use up to 63 lower-case letters, digits, `-` and `_`, beginning with a letter or digit: payments\n"
        "  sink.type: there is no sink `detla` (from --set)\n"
        "      did you mean `delta`?\n"
        "next: mend the file, then run `penstock validate` again\n",
    )


def test_a_faulty_file_is_reported_as_json_on_standard_output(run) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run("plan", "nope.yaml", "--json")
    assert (code, err) == (2, "")
    assert json.loads(out) == {
        "error": {
            "code": "spec_invalid",
            "exit_code": 2,
            "what": "1 fault",
            "where": "nope.yaml",
            "next_step": "mend the file, then run `penstock validate` again",
            "faults": [{"path": "file", "line": None, "what": "there is no such file", "remedy": "looked for <here>/nope.yaml"}],
        }
    }


def test_the_plan_is_printed_as_text_and_as_json(run) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run("plan", str(EXAMPLE))
    assert (code, err) == (0, "")
    assert out.startswith("pipeline payments\n\n  source        topic payments at 127.0.0.1:9092\n")
    assert json.loads(run("plan", str(EXAMPLE), "--json")[1])["sink"]["promise"] == "exactly-once, atomic per batch"


def test_a_pipeline_in_python_is_named_by_module_and_name(run) -> None:  # type: ignore[no-untyped-def]
    Path("house_of_pipelines.py").write_text(MODULE)
    assert run("validate", "house_of_pipelines:good") == (0, "house_of_pipelines:good: valid: pipeline payments, topic payments into console\n", "")
    assert run("validate", "house_of_pipelines:bad") == (
        2,
        "",
        "<here>/house_of_pipelines.py: 1 fault\n"
        "  line 11: name: `X` is no name for a pipeline\n"
        "      use up to 63 lower-case letters, digits, `-` and `_`, beginning with a letter or digit: payments\n"
        "next: mend the file, then run `penstock validate` again\n",
    )
    assert run("validate", "house_of_pipelines:god")[2] == (
        "house_of_pipelines:god: 1 fault\n"
        "  god: `house_of_pipelines` has no `god`\n"
        "      name one of its pipelines: good, bad\n"
        "next: mend the file, then run `penstock validate` again\n"
    )
    assert run("validate", "house_of_pipelines:number")[2] == (
        "house_of_pipelines:number: 1 fault\n"
        "  number: `number` is of the type int, and no Pipeline\n"
        "      name one of its pipelines: good, bad\n"
        "next: mend the file, then run `penstock validate` again\n"
    )


def test_a_module_that_is_not_there_or_cannot_be_imported_is_one_short_report(run) -> None:  # type: ignore[no-untyped-def]
    Path("broken_pipelines.py").write_text("import os\nraise ValueError('no luck')\n")
    Path("crooked_pipelines.py").write_text("x = (\n")
    Path("wanting_pipelines.py").write_text("import no_such_library\n")
    last = "next: mend the file, then run `penstock validate` again\n"
    assert run("validate", "no_such_module:pipeline")[2] == (
        "no_such_module:pipeline: 1 fault\n"
        "  module: there is no module `no_such_module`\n"
        "      run the command where it can be imported: looked in <here> and the Python path\n" + last
    )
    remedy = "      mend the module; `--debug` shows its traceback\n"
    assert run("validate", "broken_pipelines:p")[2] == (
        f"<here>/broken_pipelines.py: 1 fault\n  line 2: module: importing it failed: ValueError: no luck\n{remedy}{last}"
    )
    assert run("validate", "crooked_pipelines:p")[2] == (
        f"<here>/crooked_pipelines.py: 1 fault\n  line 1: module: importing it failed: SyntaxError: '(' was never closed\n{remedy}{last}"
    )
    assert run("validate", "wanting_pipelines:p")[2] == (
        f"<here>/wanting_pipelines.py: 1 fault\n  line 1: module: importing it failed: ModuleNotFoundError: No module named 'no_such_library'\n{remedy}{last}"
    )


@pytest.mark.parametrize("arguments", [(), ("valdate",), ("validate",), ("validate", "a", "b"), ("validate", "a", "--bogus"), ("validate", "a", "--set")])
def test_a_wrong_command_line_exits_with_2(arguments: tuple[str, ...], run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run(*arguments)
    assert (code, out) == (2, "")


def test_a_near_miss_of_a_command_is_suggested(run) -> None:  # type: ignore[no-untyped-def]
    assert run("valdate")[2].endswith("Error: There is no command `valdate`. Did you mean `validate`?\n")


def boom(error: BaseException) -> object:
    def raise_it(*_: object) -> None:
        raise error

    return raise_it


def test_every_branch_of_the_error_tree_exits_with_its_code(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    error = Fatal("the table was re-created", code="table_recreated", where="lake/payments", next_step="look at it")
    monkeypatch.setattr("penstock.cli.validate.load_target", boom(error))
    assert run("validate", "x") == (5, "", "error: the table was re-created\nwhere: lake/payments\nnext:  look at it\n")
    assert json.loads(run("validate", "x", "--json")[1])["error"]["code"] == "table_recreated"


def test_what_nobody_expected_is_two_lines_and_a_traceback_only_with_debug(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("penstock.cli.validate.load_target", boom(KeyError("x")))
    report = "error: KeyError: 'x'\nnext:  this is a mistake in Penstock: run it again with `penstock --debug …` and report the traceback\n"
    assert run("validate", "x") == (1, "", report)
    for arguments in (("--debug", "validate", "x"), ("validate", "x", "--debug")):
        code, _, err = run(*arguments)
        assert code == 1
        assert err.startswith("Traceback (most recent call last):\n")
        assert err.endswith(report)


@pytest.mark.parametrize("arguments", [("--offline", "dev", "up"), ("dev", "up", "--offline")])
def test_offline_fetches_nothing_and_names_what_is_missing(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PENSTOCK_OFFLINE", "")  # given back behind the test
    code, out, err = run(*arguments)
    assert (code, out) == (5, "")
    assert "archives missing, and fetching is forbidden (--offline or PENSTOCK_OFFLINE): " in err
    assert not (tmp_path / "empty/jars").exists()


def test_an_interrupt_is_quiet(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("penstock.cli.validate.load_target", boom(KeyboardInterrupt()))
    assert run("validate", "x") == (130, "", "")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m penstock plan {EXAMPLE} --json | true; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_validate_and_plan_import_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom penstock.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    for command in ("validate", "plan"):
        ended = subprocess.run([sys.executable, "-c", program, command, str(EXAMPLE)], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert HEAVY.isdisjoint(ended.stderr.split())


def test_a_file_goes_before_a_module_of_the_same_spelling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a:b").write_text(EXAMPLE.read_text().replace("schemas/payment.json", '"id BIGINT"'))
    assert load_target("a:b", KINDS).name == "payments"
