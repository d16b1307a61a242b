"""What `penstock run` refuses once it has asked Kafka or Spark: all that the user sees, the exit code, and nothing written."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from harness.load import produce
from harness.refusal import LOG, NOBODY, Said, files_in, penstock, pipeline_file
from penstock.devstack.broker import Broker
from penstock.records import SOURCE


def refused(folder: Path, *arguments: str) -> Said:
    """`penstock run` in the folder, which it must leave as it found it."""
    before = files_in(folder)
    said = penstock(folder, "run", "pipeline.yaml", *arguments)
    assert files_in(folder) == before, "a refusal writes nothing"
    return said


def behind_spark(said: Said) -> Said:
    """What was said of a command that has started Spark: without the log's line of the start."""
    text, events = re.subn(r"^\{.*\"event\": \"pipeline started\".*\}\n", "", said.text, count=1)
    assert events == 1
    return Said(said.code, text)


@pytest.mark.parametrize(
    ("servers", "reason"),
    [
        (NOBODY, "Connect to ipv4#127.0.0.1:1 failed: Connection refused"),
        ("no.such.host.invalid:9092", "Failed to resolve 'no.such.host.invalid:9092': "),
    ],
)
def test_a_broker_that_does_not_answer_is_named_before_spark_starts(tmp_path: Path, servers: str, reason: str) -> None:
    pipeline_file(tmp_path, kafka={"servers": servers})
    started = time.monotonic()
    said = refused(tmp_path)
    what, where, step = said.text.splitlines()
    assert (said.code, where) == (6, f"where: {servers}")
    assert what.startswith(f"error: Kafka cannot be reached: {reason}"), "and no word of the JVM"
    assert step == "next:  see that the broker runs and that `kafka.servers` names it; running again is safe"
    assert time.monotonic() - started < 20, "six seconds of waiting; the rest is a busy machine"


def test_a_topic_that_is_not_there_is_named_before_spark_starts(tmp_path: Path, broker: Broker, topic: str) -> None:
    pipeline_file(tmp_path, kafka={"servers": broker.servers}, source={"topics": [topic, "nope"]})
    assert refused(tmp_path) == Said(
        5,
        f"error: topic `nope` does not exist\nwhere: {broker.servers}\nnext:  create it, or mend `source.topics`; topics are never created by reading\n",
    )


def test_a_start_that_kafka_does_not_hold_is_named_before_spark_starts(tmp_path: Path, broker: Broker, topic: str) -> None:
    produce(broker.servers, topic, 40)
    start = {topic: {0: 5, 1: 11, 3: 10, 9: 0, 12: "latest"}}
    pipeline_file(tmp_path, kafka={"servers": broker.servers}, source={"topics": [topic], "start": start})
    assert refused(tmp_path) == Said(
        3,
        "error: the pipeline cannot start where the file says:\n"
        f"  - topic {topic} has no partition 9\n"
        f"  - topic {topic} has no partition 12\n"
        f"  - topic {topic}, partition 1 holds offsets 0 to 10, not 11\n"
        "where: source.start\n"
        "next:  name offsets that Kafka holds, or earliest or latest\n",
    )


def test_a_spark_that_does_not_start_is_no_fault_of_ours(tmp_path: Path, broker: Broker, topic: str) -> None:
    pipeline_file(tmp_path, kafka={"servers": broker.servers}, source={"topics": [topic]})
    assert refused(tmp_path, "--master", "local[2]", "--conf", "spark.driver.memory=much") == Said(
        5,
        "error: Spark does not start: [JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.\n"
        "where: local[2]\n"
        f"next:  see what Spark said in {LOG}; --master and --conf are handed to it as they are\n",
    )
    assert "Invalid maximum heap size: -Xmxmuch" in (tmp_path.with_name(f"{tmp_path.name} home") / "penstock/logs/payments.log").read_text()


def test_an_expression_that_spark_does_not_understand_is_a_fault_of_the_file(tmp_path: Path, broker: Broker, topic: str) -> None:
    pipeline_file(
        tmp_path, kafka={"servers": broker.servers}, source={"topics": [topic]}, transform=[{"type": "filter", "where": "amont > 0"}], state="elsewhere"
    )
    said = penstock(tmp_path, "run", "pipeline.yaml")
    assert behind_spark(said) == Said(
        2,
        "pipeline.yaml: 1 fault\n"
        "  line 28: transform[0].where: Spark does not take this: A column, variable, or function parameter with name `amont` cannot be resolved."
        " Did you mean one of the following? [`n`, `text`, `_source`]\n"
        "      mend it; the row has n, text\n"
        "next: mend the file, then run `penstock validate` again\n",
    )
    assert not (tmp_path / "lake").exists()


def test_a_table_that_does_not_fit_what_spark_sql_yields_is_refused_and_no_other_is_made(tmp_path: Path, broker: Broker, topic: str) -> None:
    DeltaTable.create(str(tmp_path / "lake/rows"), schema=pa.schema([("m", pa.string()), ("_source", SOURCE)]))
    pipeline_file(tmp_path, kafka={"servers": broker.servers}, source={"topics": [topic]}, transform=[{"type": "select", "columns": ["n + 1 AS m"]}])
    said = penstock(tmp_path, "run", "pipeline.yaml")
    assert behind_spark(said) == Said(
        3,
        "error: the table cannot take these rows:\n"
        "  - column `m` is string in the table and long in the pipeline\n"
        "where: <here>/lake/rows\n"
        "next:  change the pipeline or the table so that they agree, or write to another path\n",
    )
    assert not (tmp_path / "lake/dead").exists()
    assert DeltaTable(str(tmp_path / "lake/rows")).version() == 0
