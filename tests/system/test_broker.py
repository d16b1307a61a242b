"""The real broker: up, answering, killed, paused, restarted on its data, and never left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from penstock.devstack import broker as broker_module
from penstock.devstack import stack
from penstock.devstack.broker import Broker
from penstock.devstack.jars import jars_for
from penstock.devstack.java import find_java
from penstock.devstack.launch import answers
from penstock.devstack.processes import Process, process
from penstock.devstack.topics import create_topic, delete_topic
from penstock.errors import Fatal, PlanRefused, Retryable

SOURCE = str(Path(broker_module.__file__).parents[2])


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def produce(servers: str, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": servers, "message.timeout.ms": 20_000})
    failed: list[object] = []
    for value in values:
        producer.produce(topic, value.encode(), on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(30) == 0
    assert failed == []


def consume(servers: str, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "auto.offset.reset": "error", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [message.value().decode() for message in consumer.consume(count, timeout=20) if not message.error()]
    finally:
        consumer.close()


def known(pid: int) -> Process:
    found = process(pid)
    assert found is not None
    return found


def test_what_is_produced_can_be_consumed(shared: Broker) -> None:
    create_topic(shared.servers, "plain")
    produce(shared.servers, "plain", ["a", "b", "c"])
    assert consume(shared.servers, "plain", 3) == ["a", "b", "c"]


@pytest.mark.parametrize("codec", ["lz4", "zstd", "snappy", "gzip"])
def test_every_compression_is_understood_by_broker_and_client(shared: Broker, codec: str) -> None:
    create_topic(shared.servers, f"compressed-{codec}", configs={"compression.type": "uncompressed"})  # so that the broker unpacks
    producer = Producer({"bootstrap.servers": shared.servers, "compression.type": codec})
    producer.produce(f"compressed-{codec}", b"x" * 10_000)
    assert producer.flush(30) == 0
    assert consume(shared.servers, f"compressed-{codec}", 1) == ["x" * 10_000]


def test_transactions_work_with_one_node(shared: Broker) -> None:
    create_topic(shared.servers, "transactional")
    producer = Producer({"bootstrap.servers": shared.servers, "transactional.id": "t"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("transactional", b"in")
    producer.commit_transaction(30)
    assert consume(shared.servers, "transactional", 1) == ["in"]


def test_a_topic_has_the_partitions_and_configs_asked_for_and_can_be_made_again(shared: Broker) -> None:
    create_topic(shared.servers, "again", partitions=3)
    delete_topic(shared.servers, "again")
    create_topic(shared.servers, "again", partitions=2, configs={"retention.ms": "1234"})
    assert len(AdminClient({"bootstrap.servers": shared.servers}).list_topics(timeout=10).topics["again"].partitions) == 2
    with pytest.raises(Fatal, match="cannot create topic again: Topic 'again' already exists"):
        create_topic(shared.servers, "again")


def test_a_misspelt_topic_is_an_error_not_a_new_topic(shared: Broker) -> None:
    producer = Producer({"bootstrap.servers": shared.servers, "topic.metadata.propagation.max.ms": 0})
    refused: list[str] = []
    with suppress(KafkaException):  # raised at once when the client knows already
        producer.produce("no-such-topic", b"x", on_delivery=lambda error, _: refused.append(error.name()))
        assert producer.flush(20) == 0
        assert refused in (["_UNKNOWN_TOPIC"], ["UNKNOWN_TOPIC_OR_PART"])
    assert "no-such-topic" not in AdminClient({"bootstrap.servers": shared.servers}).list_topics(timeout=10).topics


@pytest.mark.parametrize("tool", ["TransactionalMessageCopier", "VerifiableProducer", "VerifiableConsumer", "ProducerPerformance", "TransactionsCommand"])
def test_the_tools_that_belong_to_the_broker_start(tool: str) -> None:
    class_path = os.pathsep.join(str(path) for path in jars_for("broker"))
    command = [str(find_java().executable), "-cp", class_path, f"org.apache.kafka.tools.{tool}", "--help"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "usage" in (answer.stdout + answer.stderr).lower()
    assert "NoClassDefFoundError" not in answer.stderr


def test_a_killed_broker_comes_back_on_its_data_and_its_port(tmp_path: Path) -> None:
    with Broker(tmp_path) as broker:
        servers, first = broker.servers, broker.pid
        create_topic(servers, "kept")
        produce(servers, "kept", ["a", "b"])
        broker.kill()
        assert not broker.running
        assert process(first) is None
        broker.restart()
        assert (broker.servers, broker.pid != first) == (servers, True)
        assert consume(servers, "kept", 2) == ["a", "b"]
    assert not broker.running
    assert (tmp_path / "data/kept-0").is_dir()


@pytest.mark.faults
def test_a_second_broker_object_finds_the_data_of_the_first(tmp_path: Path) -> None:
    with Broker(tmp_path) as first:
        create_topic(first.servers, "kept")
        produce(first.servers, "kept", ["a"])
    with Broker(tmp_path) as second:
        assert consume(second.servers, "kept", 1) == ["a"]


def test_a_paused_broker_is_silent_until_it_is_resumed() -> None:
    with Broker() as broker:
        broker.pause()
        assert not answers(broker.servers, seconds=1)
        broker.resume()
        assert answers(broker.servers, seconds=15)
        broker.pause()  # and stopping does not wait for it to be resumed


@pytest.mark.faults
def test_a_folder_of_its_own_goes_with_the_broker() -> None:
    with Broker() as broker:
        folder = broker.log_file.parent
        assert folder.is_dir()
    assert not folder.exists()


@pytest.mark.faults
def test_further_server_properties_are_obeyed(tmp_path: Path) -> None:
    with Broker(tmp_path, properties={"auto.create.topics.enable": "true"}) as broker:
        produce(broker.servers, "made-by-producing", ["a"])
        assert consume(broker.servers, "made-by-producing", 1) == ["a"]


@pytest.mark.faults
def test_a_broker_that_does_not_come_up_quotes_its_log(tmp_path: Path) -> None:
    with Broker(tmp_path), pytest.raises(Retryable) as caught:
        Broker(tmp_path).start()  # the same data
    what, where, *said = str(caught.value).splitlines()
    assert what == "the Kafka broker is not up: it ended while it started"
    assert where == f"where: {tmp_path / 'broker.log'}"
    assert "lock" in "\n".join(said).lower()


def test_settings_that_kafka_refuses_are_said_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(Fatal, match="the broker's storage could not be formatted") as caught:
        Broker(tmp_path, properties={"num.io.threads": "-1"}).start()
    assert "num.io.threads" in caught.value.where


def test_a_taken_port_is_refused(shared: Broker, tmp_path: Path) -> None:
    port = int(shared.servers.rpartition(":")[2])
    with pytest.raises(PlanRefused, match=f"another program listens on port {port}"):
        Broker(tmp_path, port=port).start()


def test_a_broker_that_was_not_started_says_so() -> None:
    with pytest.raises(Fatal, match="the broker does not run"):
        Broker().pause()
    with pytest.raises(Fatal, match="the broker was not started"):
        _ = Broker().servers


@pytest.mark.parametrize("paused", [False, True])
def test_the_broker_goes_when_its_parent_is_killed(paused: bool) -> None:
    program = f"""
        import time
        from penstock.devstack.broker import Broker
        broker = Broker().start()
        if {paused}:
            broker.pause()
        print(broker.pid, broker.log_file.parent, flush=True)
        time.sleep(300)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": SOURCE}) as parent:
        assert parent.stdout is not None
        pid, _, folder = parent.stdout.readline().decode().strip().partition(" ")
        broker = known(int(pid))
        parent.kill()
        assert broker.gone_within(10)
    until = time.monotonic() + 5
    while Path(folder).exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(folder).exists()


def test_the_stack_stays_up_between_commands_and_goes_down(tmp_path: Path) -> None:
    def command(call: str) -> str:
        program = f"from pathlib import Path; from penstock.devstack import stack; print(stack.{call.format(home=f'Path({str(tmp_path)!r})')})"
        answer = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True, env=os.environ | {"PYTHONPATH": SOURCE}
        )
        assert answer.stderr == ""
        return answer.stdout

    try:
        assert "change='started'" in command("up({home}, port=0)")
        first = stack.status(tmp_path)
        assert (first.running, first.answering, first.change) == (True, True, "none")
        create_topic(first.servers, "kept")
        produce(first.servers, "kept", ["a"])
        assert f"change='none', servers='{first.servers}', pid={first.pid}" in command("up({home}, port=0)")
    finally:
        ended = command("down({home})")
    assert "running=False, answering=False, change='stopped'" in ended
    assert first.pid is not None and process(first.pid) is None
    again = stack.up(tmp_path, port=0)
    try:
        assert consume(again.servers, "kept", 1) == ["a"]
    finally:
        stack.down(tmp_path)
    assert not stack.status(tmp_path).running
