"""What the control plane asks the Kafka cluster: do the topics exist, which ids do they have, where do their logs stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from penstock.errors import Fatal, PenstockError, Retryable
from penstock.values import TopicPartition

REQUEST_SECONDS = 6.0  # a broker that does not answer is named within ten seconds, the start of the command included
T = TypeVar("T")


class Cluster:
    """Questions to one Kafka cluster, over one connection that is kept."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._heard = ""
        settings = {"bootstrap.servers": servers, "socket.connection.setup.timeout.ms": 5000, "log_level": 0, "error_cb": self._hear}
        self._admin = AdminClient(settings)

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        """The id of each topic; a topic made anew under its old name has another one."""
        answers = self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=REQUEST_SECONDS)
        return {topic: str(self._result(future, topic).topic_id) for topic, future in answers.items()}

    def partitions(self, topics: Collection[str]) -> frozenset[TopicPartition]:
        """Every partition of these topics."""
        answers = self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=REQUEST_SECONDS)
        return frozenset(TopicPartition(topic, item.id) for topic, future in answers.items() for item in self._result(future, topic).partitions)

    def earliest(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The first offset that each partition still holds."""
        return self._list_offsets(places, OffsetSpec.earliest)

    def latest(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Where each partition ends for readers of committed records (the last stable offset)."""
        return self._list_offsets(places, OffsetSpec.latest)

    def _list_offsets(self, places: Collection[TopicPartition], spec: Callable[[], Any]) -> Mapping[TopicPartition, int]:
        if not places:
            return {}
        asked = {ClientPartition(place.topic, place.partition): spec() for place in places}
        answers = self._admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=REQUEST_SECONDS)
        return {TopicPartition(item.topic, item.partition): self._result(future, item.topic).offset for item, future in answers.items()}

    def _hear(self, error: KafkaError) -> None:
        """Why a connection failed. The answer to a request does not say: it only waited."""
        if error.code() in (KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._SSL, KafkaError._AUTHENTICATION):
            self._heard = _telling(error.str())

    def _result(self, future: Future[T], topic: str) -> T:
        try:
            return future.result(REQUEST_SECONDS + 2)
        except KafkaException as error:
            raise self._translated(error.args[0], topic) from error
        except TimeoutError as error:
            raise self._unreachable("it did not answer in time") from error

    def _translated(self, error: KafkaError, topic: str) -> PenstockError:
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return Fatal(
                f"topic `{topic}` does not exist",
                code="topic_missing",
                where=self._servers,
                next_step="create it, or mend `source.topics`; topics are never created by reading",
            )
        if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
            return Fatal(
                f"the user of this pipeline may not describe topic `{topic}`",
                code="not_authorized",
                where=self._servers,
                next_step="grant it DESCRIBE and READ on the topic",
            )
        waited = error.code() in (KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE)
        return self._unreachable(f"no answer within {REQUEST_SECONDS:.0f} seconds" if waited else error.str())

    def _unreachable(self, reason: str) -> Retryable:
        self._admin.poll(0)  # calls `_hear` with what has happened meanwhile
        return Retryable(
            f"Kafka cannot be reached: {self._heard or reason}",
            code="kafka_unreachable",
            where=self._servers,
            next_step="see that the broker runs and that `kafka.servers` names it; running again is safe",
        )


def _telling(text: str) -> str:
    """librdkafka's words without its own name for the connection and without its statistics."""
    return re.sub(r"^\S+/bootstrap: |^\S+/\d+: | \((after|errno)[^)]*\)", "", text)
