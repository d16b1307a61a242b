"""The plan file of a batch: what it was begun with, fixed before its first record is read. A replay obeys what it finds."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.errors import Fatal
from penstock.storage import Storage
from penstock.values import BatchId, Generation, OffsetRange, ranges_digest

FORMAT = 1
KEPT = 100  # as many as Spark keeps of its own logs (spark.sql.streaming.minBatchesToRetain)


class BatchPlan(msgspec.Struct, frozen=True):
    """Everything a replay needs in order to do the same again."""

    format: int
    generation: Generation
    batch: BatchId
    ranges: tuple[OffsetRange, ...]
    reader: str
    spec: str
    versions: Mapping[str, str]

    @property
    def digest(self) -> int:
        return ranges_digest(self.ranges)


def begin_batch(plans: Storage, fresh: BatchPlan) -> tuple[BatchPlan, bool]:
    """The plan that the batch obeys: the one an earlier attempt left, else `fresh`, written now. The flag says which: True is new."""
    name = _name(fresh, fresh.batch)
    is_new = plans.create(name, msgspec.json.encode(fresh) + b"\n")
    found = fresh if is_new else _read(plans, name)
    if found.generation != fresh.generation or found.digest != fresh.digest:
        raise Fatal(
            f"the plan file of batch {fresh.batch} and Spark's offset log say different ranges",
            code="plan_contradicted",
            where=f"{plans.uri}/{name}",
            next_step="the checkpoint was changed by hand or mixed with another's; restore state folder and checkpoint together from one backup",
        )
    if is_new and fresh.batch >= KEPT:
        plans.delete(_name(fresh, fresh.batch - KEPT))
    return found, is_new


def _read(plans: Storage, name: str) -> BatchPlan:
    try:
        return msgspec.json.decode(plans.read(name) or b"", type=BatchPlan)
    except msgspec.DecodeError as error:
        raise Fatal(
            f"the plan file {name} does not parse",
            code="plan_corrupt",
            where=plans.uri,
            next_step="restore the state folder from a backup; the tables hold what was committed",
        ) from error


def _name(plan: BatchPlan, batch: int) -> str:
    """By generation: batch numbers start at 0 again under a new checkpoint, and an old plan must not bind its batches."""
    return f"{plan.generation}/{batch:012d}.json"
