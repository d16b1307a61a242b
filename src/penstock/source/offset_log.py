"""What a batch spans, out of the offset log that Spark writes ahead. Pure: text in, ranges out.

`offsets/B` says where batch B ends, `offsets/B-1` where it starts; before batch 0 there is `sources/0/0`. A partition
that appears for the first time starts at its earliest offset: the caller knows that one. This leans on the layout of
Spark's checkpoint (a public, stable format); where it does not parse, the batch is refused, never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping

from penstock.errors import Fatal
from penstock.storage import Storage
from penstock.values import OffsetRange, TopicPartition

Offsets = Mapping[TopicPartition, int]


def batch_ranges(
    checkpoint: Storage,
    batch: int,
    *,
    topic_ids: Mapping[str, str],
    earliest: Callable[[frozenset[TopicPartition]], Offsets],
) -> tuple[OffsetRange, ...]:
    """The ranges of a batch that Spark has planned, in order of topic and partition; empty ones are left out."""
    until = end_of_batch(checkpoint, batch)
    start = dict(start_of_query(checkpoint) if batch == 0 else end_of_batch(checkpoint, batch - 1))
    if fresh := frozenset(until) - frozenset(start):
        start.update(earliest(fresh))
    ranges = []
    for place in sorted(until):
        if until[place] < start[place]:
            raise _unreadable(f"offsets/{batch}", checkpoint, f"it ends {place.topic}-{place.partition} before it starts")
        if until[place] > start[place]:
            ranges.append(OffsetRange(place.topic, topic_ids[place.topic], place.partition, start[place], until[place]))
    return tuple(ranges)


def contradiction(checkpoint: Storage, batch: int, ranges: Collection[OffsetRange]) -> str | None:
    """Where ranges that were planned before do not agree with what Spark logged ahead of the batch; None where they do.

    Nobody else is asked: topics may be gone and logs shortened since the batch was begun.
    """
    until = end_of_batch(checkpoint, batch)
    start = start_of_query(checkpoint) if batch == 0 else end_of_batch(checkpoint, batch - 1)
    planned = {TopicPartition(item.topic, item.partition): item for item in ranges}
    for place in sorted(set(until) | set(planned)):
        item = planned.get(place)
        begins, ends = (item.start, item.until) if item else (until[place], until[place])
        if ends != until.get(place) or begins != start.get(place, begins):
            return f"{place.topic}, partition {place.partition}: planned from {begins} to {ends}, logged from {start.get(place, begins)} to {until.get(place)}"
    return None


def end_of_batch(checkpoint: Storage, batch: int) -> Offsets:
    """Where batch `batch` ends, as Spark wrote it ahead."""
    name = f"offsets/{batch}"
    lines = _text(checkpoint, name).splitlines()
    if len(lines) != 3 or not lines[0].startswith("v1"):
        raise _unreadable(name, checkpoint, "it is not a log of version 1 with one source")
    return _offsets(lines[2], name, checkpoint)


def start_of_query(checkpoint: Storage) -> Offsets:
    """Where the query started, as Spark's Kafka source fixed it before its first batch."""
    name = "sources/0/0"
    lines = _text(checkpoint, name).lstrip("\0").splitlines()
    if len(lines) != 2 or lines[0] != "v1":
        raise _unreadable(name, checkpoint, "it is not a start of version 1")
    return _offsets(lines[1], name, checkpoint)


def _text(checkpoint: Storage, name: str) -> str:
    content = checkpoint.read(name)
    if not content:
        raise _unreadable(name, checkpoint, "it is empty" if content is not None else "it is not there")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _unreadable(name, checkpoint, "it is not text") from error


def _offsets(text: str, name: str, checkpoint: Storage) -> Offsets:
    try:
        return {TopicPartition(topic, int(partition)): int(offset) for topic, parts in json.loads(text).items() for partition, offset in parts.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise _unreadable(name, checkpoint, "its offsets do not parse") from error


def _unreadable(name: str, checkpoint: Storage, reason: str) -> Fatal:
    return Fatal(
        f"the checkpoint cannot be trusted: {name}: {reason}",
        code="checkpoint_corrupt",
        where=checkpoint.uri,
        next_step="nothing was read or written; restore the checkpoint from a backup, the tables hold what was committed",
    )
