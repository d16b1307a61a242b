"""A real broker for the whole suite, a topic of its own for each test."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.process import Pipeline
from penstock.devstack.broker import Broker
from penstock.devstack.topics import create_topic

_numbers = itertools.count()
SEEDS = [int(seed) for seed in os.environ.get("PENSTOCK_SEEDS", "1").split(",")]
"""Each fault test runs once a seed; `make faults` names three."""


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture
def topic(broker: Broker) -> str:
    name = f"numbers-{next(_numbers)}"
    create_topic(broker.servers, name, partitions=4)
    return name


@pytest.fixture(scope="session", params=SEEDS, ids=lambda seed: f"seed{seed}")
def seed(request: pytest.FixtureRequest) -> int:
    """What the load is made from."""
    return int(request.param)


@pytest.fixture
def pipeline(broker: Broker, topic: str, tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path, broker.servers, topic).write()
