"""A real broker for the whole suite, a topic of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.process import Pipeline
from penstock.devstack.broker import Broker
from penstock.devstack.topics import create_topic

_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture
def topic(broker: Broker) -> str:
    name = f"numbers-{next(_numbers)}"
    create_topic(broker.servers, name, partitions=4)
    return name


@pytest.fixture
def pipeline(broker: Broker, topic: str, tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path, broker.servers, topic).write()
