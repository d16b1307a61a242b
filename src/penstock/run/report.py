"""What one task tells the driver: counts, what it saw, what it staged. Never a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
import pyarrow as pa

from penstock.errors import Fatal
from penstock.values import BatchCounts, OffsetRange

COLUMN = "report"
SPARK_SCHEMA = f"{COLUMN} string"


class Span(msgspec.Struct):
    """What a task saw of one partition: how many records, between which offsets (both included)."""

    records: int
    first: int
    last: int


class TaskReport(msgspec.Struct, frozen=True):
    """The one result of one task."""

    task: int
    counts: BatchCounts
    spans: Mapping[str, Span]
    staged: Mapping[str, Sequence[str]]
    error: tuple[str, str, str, str, str] | None = None
    """An error of ours that ended the task: class, what, code, where, next step."""


def encode(report: TaskReport) -> pa.RecordBatch:
    """The report as the one row of the task's result."""
    return pa.RecordBatch.from_pydict({COLUMN: [msgspec.json.encode(report).decode()]})


def decode(text: str) -> TaskReport:
    return msgspec.json.decode(text, type=TaskReport)


def watch(spans: dict[str, Span], source: pa.StructArray) -> None:
    """Note which offsets of which partitions these records have."""
    if not len(source):
        return
    topic_ids = source.field("topic_id").dictionary_encode()
    topic = topic_ids.indices.to_numpy(zero_copy_only=False)
    partition = source.field("partition").to_numpy(zero_copy_only=False)
    offset = source.field("offset").to_numpy(zero_copy_only=False)
    borders = np.flatnonzero((np.diff(topic) != 0) | (np.diff(partition) != 0)) + 1
    for begin, end in zip([0, *borders.tolist()], [*borders.tolist(), len(offset)], strict=True):
        part, key = offset[begin:end], f"{topic_ids.dictionary[int(topic[begin])].as_py()}:{partition[begin]}"
        span = spans.setdefault(key, Span(0, int(part[0]), int(part[0])))
        span.records += len(part)
        span.first, span.last = min(span.first, int(part.min())), max(span.last, int(part.max()))


def check_spans(reports: Iterable[TaskReport], ranges: Iterable[OffsetRange]) -> None:
    """Refuse a batch in which a record lies outside the planned ranges, or more records than offsets were seen."""
    planned = {f"{item.topic_id}:{item.partition}": item for item in ranges}
    records: dict[str, int] = {}
    for report in reports:
        for key, span in report.spans.items():
            item = planned.get(key)
            if item is None or span.first < item.start or span.last >= item.until:
                raise _unplanned(key, f"offsets {span.first} to {span.last} were read")
            records[key] = records.get(key, 0) + span.records
    for key, count in records.items():
        if count > planned[key].offsets:
            raise _unplanned(key, f"{count} records were read for {planned[key].offsets} offsets")


def _unplanned(key: str, what: str) -> Fatal:
    return Fatal(
        f"the batch read what it had not planned: {what}",
        code="read_unplanned",
        where=f"topic id and partition {key}",
        next_step="nothing was committed; this is a fault of the reader, please report it",
    )
