"""Penstock: pipelines between Kafka and the lakehouse on Spark Structured Streaming.

The front door. Importing it starts nothing and imports no PySpark: each name is fetched when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.errors import Fatal, Fault, OutcomeUnknown, PenstockError, PlanRefused, Retryable, SpecError, StoppedByData
    from penstock.spec import Pipeline, PipelineSpec

__all__ = [
    "Fatal",
    "Fault",
    "OutcomeUnknown",
    "PenstockError",
    "Pipeline",
    "PipelineSpec",
    "PlanRefused",
    "Retryable",
    "SpecError",
    "StoppedByData",
    "__version__",
]
__version__ = "0.1.0"

_ROOMS = {"Pipeline": "penstock.spec", "PipelineSpec": "penstock.spec"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(importlib.import_module(_ROOMS.get(name, "penstock.errors")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
