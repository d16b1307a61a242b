"""The plan file of a batch: what it was begun with, fixed before its first record is read. A replay obeys what it finds.

`<generation>/000000000007.json` is made once. Where a sink holds nothing of the batch, it may be begun anew with another file: that is
revision 1, `<generation>/000000000007.1.json`, over the same ranges. A revision is part of the digest, so that a commit of an earlier
one, by an instance that was thought dead, is never taken for this one's.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

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
    revision: int = 0

    @property
    def digest(self) -> int:
        return ranges_digest(self.ranges, self.revision)


def begin_batch(plans: Storage, fresh: BatchPlan) -> bool:
    """Fix the plan; False where another one made its file in the meantime. What Spark no longer keeps is removed."""
    mine = plans.at(fresh.generation)
    made = mine.create(_name(fresh.batch, fresh.revision), msgspec.json.encode(fresh) + b"\n")
    if made and fresh.batch >= KEPT:
        old = BatchId(fresh.batch - KEPT)
        for revision, _ in _texts(mine, old):
            mine.delete(_name(old, revision))
    return made


def revisions(plans: Storage, generation: Generation, batch: BatchId) -> Sequence[BatchPlan]:
    """Every plan that the batch was begun with, the newest first; none where it was never begun.

    By generation: batch numbers start at 0 again under a new checkpoint, and an old plan must not bind its batches.
    """
    mine = plans.at(generation)
    return [_parsed(text, mine, _name(batch, revision)) for revision, text in reversed(_texts(mine, batch))]


def _texts(mine: Storage, batch: BatchId) -> Sequence[tuple[int, bytes]]:
    found = ((revision, mine.read(_name(batch, revision))) for revision in itertools.count())
    return [(revision, text) for revision, text in itertools.takewhile(lambda each: each[1] is not None, found) if text is not None]


def _parsed(text: bytes, plans: Storage, name: str) -> BatchPlan:
    try:
        return msgspec.json.decode(text, type=BatchPlan)
    except msgspec.DecodeError as error:
        raise Fatal(
            f"the plan file {name} does not parse",
            code="plan_corrupt",
            where=plans.uri,
            next_step="restore the state folder from a backup; the tables hold what was committed",
        ) from error


def _name(batch: BatchId, revision: int) -> str:
    return f"{batch:012d}.{revision}.json" if revision else f"{batch:012d}.json"
