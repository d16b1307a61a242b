"""References and overrides: what they stand for, where the value came from, and that no secret leaves the process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import Field, SecretStr

from penstock.builtin import KINDS
from penstock.errors import SpecError
from penstock.kinds import Kind, Kinds, Options
from penstock.spec import Origin, PipelineSpec, Surroundings, load, load_resolved, resolved_text

VALID = """\
name: payments
kafka: {servers: "kafka-1:9092"}
source: {topics: [payments]}
decode: {type: json, schema: "id BIGINT"}
transform:
  - {type: filter, where: "id > 0"}
sink: {type: delta, path: lake/payments}
state: state/payments
"""


class Keyed(Options):
    """A sink with a secret, as JDBC will have one."""

    password: SecretStr = Field(description="the password")


KEYED = Kinds(KINDS.decoders, KINDS.transforms, {**KINDS.sinks, "keyed": Kind("keyed", Keyed, build=Keyed)})


def written(tmp_path: Path, old: str = "", new: str = "") -> Path:
    file = tmp_path / "pipeline.yaml"
    assert old in VALID
    file.write_text(VALID.replace(old, new, 1))
    return file


def loaded(file: Path, *overrides: str, kinds: Kinds = KINDS, **environment: str) -> PipelineSpec:
    return load(file, kinds, overrides, surroundings=Surroundings(environment, (str(file.parent / "secrets"),)))


def refusal(file: Path, *overrides: str, kinds: Kinds = KINDS, **environment: str) -> str:
    with pytest.raises(SpecError) as caught:
        loaded(file, *overrides, kinds=kinds, **environment)
    return "\n".join(str(caught.value).replace(str(file.parent), "<here>").splitlines()[1:])


def outside(spec: PipelineSpec) -> Mapping[tuple[str | int, ...], Origin]:
    return {path: origin for path, origin in spec.origins.items() if origin.kind != "default"}


def secret(tmp_path: Path, text: str = "s3cret-value") -> Path:
    file = tmp_path / "secrets" / "kafka"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text + "\n")
    return file


def test_a_variable_that_is_set_is_taken_and_named_as_origin(tmp_path: Path) -> None:
    spec = loaded(written(tmp_path, "lake/payments", '"lake/${env:STAGE:-dev}/payments"'), STAGE="prod")
    assert spec.sink.options.model_dump()["path"] == "lake/prod/payments"
    assert outside(spec) == {("sink", "path"): Origin("environment", "STAGE")}


def test_a_variable_that_is_not_set_gives_way_to_its_default(tmp_path: Path) -> None:
    spec = loaded(written(tmp_path, "lake/payments", '"lake/${env:STAGE:-dev}/payments"'))
    assert spec.sink.options.model_dump()["path"] == "lake/dev/payments"
    assert outside(spec) == {("sink", "path"): Origin("fallback", "STAGE")}


def test_a_variable_may_stand_for_a_number(tmp_path: Path) -> None:
    file = written(tmp_path, "state:", "rate: {records_per_batch: '${env:RATE}'}\nstate:")
    assert loaded(file, RATE="1000").rate.records_per_batch == 1000


def test_a_variable_that_looks_like_a_number_stays_text_where_text_belongs(tmp_path: Path) -> None:
    assert loaded(written(tmp_path, "name: payments", "name: ${env:NAME}"), NAME="2026").name == "2026"


def test_what_a_variable_holds_is_not_looked_up_again(tmp_path: Path) -> None:
    spec = loaded(written(tmp_path, "id > 0", "id > '${env:A}'"), A="${env:B}", B="no")
    assert spec.transform[0].options.model_dump()["where"] == "id > '${env:B}'"
    assert load_resolved(resolved_text(spec), KINDS, surroundings=Surroundings({"B": "no"})) == spec


def test_a_doubled_dollar_stands_for_itself(tmp_path: Path) -> None:
    spec = loaded(written(tmp_path, "id > 0", "a = '$${env:A}'"))
    assert spec.transform[0].options.model_dump()["where"] == "a = '${env:A}'"


REFUSED = {
    "a variable that is not set": ("${env:STAGE}", "the environment variable STAGE is not set\n      set STAGE, or give it a default: `${env:STAGE:-…}`"),
    "a name that is none": ("${env:1-2}", "`1-2` is no name of an environment variable\n      write `${env:NAME}` or `${env:NAME:-default}`"),
    "another language's reference": (
        "${STAGE}",
        "`${STAGE}` is no reference\n      write `${env:NAME}`, `${env:NAME:-default}` or `${file:/path}`; `$${` stands for the text itself",
    ),
    "a reference that is not closed": (
        "${env:STAGE",
        "`${` is never closed\n      close the reference with `}`, or write `$${` for the text itself",
    ),
    "a file outside the directories": (
        "${file:/etc/passwd}",
        "`${file:/etc/passwd}` is outside the directories that secrets may be read from (<here>/secrets)\n"
        "      move it there, or name its directory in PENSTOCK_SECRET_DIRECTORIES",
    ),
    "a relative file": (
        "${file:secrets/kafka}",
        "`${file:secrets/kafka}` is outside the directories that secrets may be read from (<here>/secrets)\n"
        "      move it there, or name its directory in PENSTOCK_SECRET_DIRECTORIES",
    ),
}


@pytest.mark.parametrize(("reference", "message"), REFUSED.values(), ids=REFUSED)
def test_a_reference_that_leads_nowhere_is_a_fault(reference: str, message: str, tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "lake/payments", f'"{reference}"')) == f"  line 7: sink.path: {message}"


def test_a_way_out_of_the_secret_directory_is_seen_through(tmp_path: Path) -> None:
    inside = secret(tmp_path).with_name("link")
    inside.symlink_to("/etc/passwd")
    assert "is outside the directories that secrets may be read from" in refusal(written(tmp_path, "lake/payments", f'"${{file:{inside}}}"'))
    dotted = f"{tmp_path}/secrets/../pipeline.yaml"
    assert "is outside the directories that secrets may be read from" in refusal(written(tmp_path, "lake/payments", f'"${{file:{dotted}}}"'))


def test_a_secret_that_is_not_mounted_is_a_fault(tmp_path: Path) -> None:
    secret(tmp_path).unlink()
    assert refusal(written(tmp_path, "lake/payments", f'"${{file:{tmp_path}/secrets/kafka}}"')) == (
        "  line 7: sink.path: `<here>/secrets/kafka` cannot be read: no such file or directory\n      check that the secret is mounted and readable here"
    )


def test_a_secret_is_used_and_its_reference_is_all_that_is_written_down(tmp_path: Path) -> None:
    file = written(tmp_path, "lake/payments", f'"lake/${{file:{secret(tmp_path)}}}"')
    spec = loaded(file)
    assert spec.sink.options.model_dump()["path"] == "lake/s3cret-value"
    text = resolved_text(spec)
    assert "s3cret" not in text
    assert json.loads(text)["pipeline"]["sink"]["path"] == f"lake/${{file:{tmp_path}/secrets/kafka}}"
    assert load_resolved(text, KINDS, surroundings=Surroundings({}, (str(tmp_path / "secrets"),))) == spec


def test_a_fault_of_a_secret_value_says_nothing_of_the_value(tmp_path: Path) -> None:
    file = written(tmp_path, "kafka-1:9092", f"${{file:{secret(tmp_path, 's3cret without a port')}}}")
    assert refusal(file) == ("  line 2: kafka.servers: the text of this secret is not accepted here\n      look at what ${file:<here>/secrets/kafka} holds")


def test_a_secret_field_takes_a_reference_only(tmp_path: Path) -> None:
    file = written(tmp_path, "{type: delta, path: lake/payments}", "{type: keyed, password: hunter22}")
    message = refusal(file, kinds=KEYED)
    assert message == "  line 7: sink.password: is a secret, and stands here in the open\n      write `${file:/run/secrets/…}` or `${env:NAME}` in its place"


def test_a_secret_field_is_kept_as_its_reference_also_from_the_environment(tmp_path: Path) -> None:
    file = written(tmp_path, "{type: delta, path: lake/payments}", '{type: keyed, password: "${env:PASSWORD}"}')
    spec = loaded(file, kinds=KEYED, PASSWORD="hunter22")
    assert isinstance(spec.sink.options, Keyed)
    assert spec.sink.options.password.get_secret_value() == "hunter22"
    text = resolved_text(spec)
    assert "hunter22" not in text + repr(spec)
    again = load_resolved(text, KEYED, surroundings=Surroundings({"PASSWORD": "hunter22"}))
    assert again == spec


def test_an_override_replaces_a_value_and_is_named_as_origin(tmp_path: Path) -> None:
    spec = loaded(written(tmp_path), "sink.path=lake/test", "rate.records_per_batch=7", "transform[0].where=id > 5", "source.topics=[a, b]")
    assert spec.sink.options.model_dump()["path"] == "lake/test"
    assert spec.rate.records_per_batch == 7
    assert spec.transform[0].options.model_dump()["where"] == "id > 5"
    assert spec.source.topics == ("a", "b")
    assert set(outside(spec)) == {("sink", "path"), ("rate", "records_per_batch"), ("transform", 0, "where"), ("source", "topics")}
    assert set(outside(spec).values()) == {Origin("override")}


def test_an_override_takes_a_whole_block(tmp_path: Path) -> None:
    assert loaded(written(tmp_path), "sink={type: console}").sink.kind == "console"


def test_an_override_is_text_where_text_belongs(tmp_path: Path) -> None:
    spec = loaded(written(tmp_path), "name=12", "transform[0].where=name = 'a: b'")
    assert spec.name == "12"
    assert spec.transform[0].options.model_dump()["where"] == "name = 'a: b'"


def test_an_override_may_hold_a_reference_and_hides_the_one_it_replaces(tmp_path: Path) -> None:
    spec = loaded(written(tmp_path, "lake/payments", '"${env:NOT_SET}"'), "sink.path=${env:PLACE}", PLACE="lake/x")
    assert spec.sink.options.model_dump()["path"] == "lake/x"
    assert outside(spec) == {("sink", "path"): Origin("environment", "PLACE")}


def test_an_override_names_a_key_with_dots_in_quotes(tmp_path: Path) -> None:
    spec = loaded(written(tmp_path), "source.topics=[a.b]", 'source.start."a.b".0=15')
    assert spec.source.start == {"a.b": {0: 15}}


OVERRIDES = {
    "no equals sign": ("sink.path", "  --set: `sink.path`: there is no `=` in it\n      write `--set path=value`, for example `--set sink.path=lake/test`"),
    "no path": ("=x", "  --set: `=x`: `` is no path\n      write it as faults do: `sink.path`, `transform[0].where`"),
    "a crooked path": ("sink..path=x", "  --set: `sink..path=x`: `sink..path` is no path\n      write it as faults do: `sink.path`, `transform[0].where`"),
    "through a single value": ("name.first=x", "  --set: `name.first=x`: `name` is a single value, not a block\n      set `name` itself"),
    "past the end of a list": (
        "transform[1].where=x",
        "  --set: `transform[1].where=x`: `transform` is a list of 1, and has no `1`\n      set the whole list: --set 'transform=[…]'",
    ),
    "a key that is none": ("sink.pth=x", "  sink.pth: there is no such key here (from --set)\n      did you mean `path`?"),
    "a value that does not fit": (
        "rate.records_per_batch=many",
        "  rate.records_per_batch: must be a whole number, not `many` (from --set)\n      write digits only, without quotes, separators or a unit",
    ),
}


@pytest.mark.parametrize(("override", "message"), OVERRIDES.values(), ids=OVERRIDES)
def test_an_override_that_cannot_be_applied_is_a_fault(override: str, message: str, tmp_path: Path) -> None:
    assert refusal(written(tmp_path), override) == message


def test_a_bad_value_from_the_environment_is_said_to_come_from_there(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, "kafka-1:9092", "${env:SERVERS}"), SERVERS="kafka-1")
    assert message == "  line 2: kafka.servers: `kafka-1` has no port (from the environment variable SERVERS)\n      add it: kafka-1:9092"


def test_secret_directories_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_SECRET_DIRECTORIES", "/a:/b")
    assert Surroundings.here().secret_directories == ("/a", "/b")
    monkeypatch.delenv("PENSTOCK_SECRET_DIRECTORIES")
    assert Surroundings.here().secret_directories == ("/run/secrets", "/var/run/secrets")
