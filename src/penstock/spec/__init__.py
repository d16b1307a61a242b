"""What the user wrote: read, checked with every fault at once, frozen, and written down so that no file is needed again."""

from penstock.spec.load import load, load_resolved, resolved_text
from penstock.spec.model import Chosen, PipelineSpec, as_values
from penstock.spec.moments import CONTINUOUSLY, UNTIL_CAUGHT_UP, epoch_millis, every_seconds
from penstock.spec.python import Pipeline
from penstock.spec.references import Origin, Surroundings

__all__ = [
    "CONTINUOUSLY",
    "UNTIL_CAUGHT_UP",
    "Chosen",
    "Origin",
    "Pipeline",
    "PipelineSpec",
    "Surroundings",
    "as_values",
    "epoch_millis",
    "every_seconds",
    "load",
    "load_resolved",
    "resolved_text",
]
