"""The data plane inside a task: records in, staged files out, one report as the only result.

ReadDecodeWrite                      the whole of it in one pass, no row enters the JVM
ReadDecode ─▶ Spark SQL ─▶ Write     the same in two, where the flow has transforms
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from penstock import errors
from penstock.errors import PenstockError, StoppedByData
from penstock.plan.steps import DEAD_LETTERS, SINK
from penstock.records import Block, Decoder
from penstock.run.crash import crash_point
from penstock.run.report import Span, TaskReport, encode, watch
from penstock.run.sorting import Origin, Sorted, Way, marked, sort_block, sort_marked
from penstock.sink.port import RowWriter, Stage, TaskPlace
from penstock.source.spark_reader import blocks
from penstock.values import BatchCounts

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class ReadDecode:
    """Kafka's records become rows for Spark SQL, each with what it is in its last columns."""

    topic_ids: Mapping[str, str]
    decoder: Callable[[], Decoder]

    def __call__(self, batches: Batches) -> Batches:
        decoder = self.decoder()
        for block in self.blocks(batches):
            yield marked(block, decoder.decode(block.values))

    def blocks(self, batches: Batches) -> Iterator[Block]:
        return blocks(batches, self.topic_ids)


@dataclass(frozen=True, slots=True)
class Write:
    """What arrives is staged, branch by branch; the task's one result says what."""

    origin: Origin
    stages: Mapping[str, Stage]
    columns: Sequence[str]
    way: Way = Way.MARKED

    def __call__(self, batches: Batches) -> Batches:
        return self.staged(sort_marked(batch, self.origin, self.columns, self.way) for batch in batches if batch.num_rows)

    def staged(self, parts: Iterable[Sorted]) -> Batches:
        """Stage all parts and report, or leave nothing behind; an error of ours is reported, so that it arrives as itself."""
        context = TaskContext.get()
        place = TaskPlace(self.origin.batch, context.partitionId(), context.taskAttemptId())
        writers = {name: stage.open(place) for name, stage in self.stages.items()}
        try:
            yield encode(self._work(parts, writers, place))
        except PenstockError as error:
            _abandon(writers)
            yield encode(TaskReport(place.task, BatchCounts(0, 0, 0, 0), {}, {}, _as_text(error)))
        except BaseException:
            _abandon(writers)
            raise

    def _work(self, parts: Iterable[Sorted], writers: Mapping[str, RowWriter], place: TaskPlace) -> TaskReport:
        counts, spans = BatchCounts(0, 0, 0, 0), dict[str, Span]()
        for part in parts:
            crash_point("task_writing", self.origin.batch)
            watch(spans, part.source)
            counts = counts + part.counts
            writers[SINK].write(part.rows)
            _bury(part, writers)
        return TaskReport(place.task, counts, spans, {name: writer.close() for name, writer in writers.items()})


@dataclass(frozen=True, slots=True)
class ReadDecodeWrite:
    """All of it in one pass."""

    read: ReadDecode
    write: Write

    def __call__(self, batches: Batches) -> Batches:
        decoder = self.read.decoder()
        return self.write.staged(sort_block(block, decoder.decode(block.values), self.write.origin) for block in self.read.blocks(batches))


def raise_first(reports: Iterable[TaskReport]) -> None:
    """The error of the first task that ended with one of ours, as itself again."""
    for report in reports:
        if report.error is not None:
            kind, what, code, where, next_step = report.error
            raise getattr(errors, kind)(what, code=code, where=where, next_step=next_step)


def _bury(part: Sorted, writers: Mapping[str, RowWriter]) -> None:
    """Dead letters to their sink; without one the first of them stops the pipeline."""
    if not part.dead.num_rows:
        return
    if DEAD_LETTERS in writers:
        writers[DEAD_LETTERS].write(part.dead)
        return
    first = part.dead.slice(0, 1).to_pylist()[0]
    source = first["_source"]
    raise StoppedByData(
        f"a record cannot be decoded ({first['error_class']}): {first['reason']}",
        code="malformed_without_dead_letters",
        where=f"topic {source['topic']}, partition {source['partition']}, offset {source['offset']}",
        next_step="name a target for such records under `dead_letters`, or mend the schema, and run again",
    )


def _abandon(writers: Mapping[str, RowWriter]) -> None:
    for writer in writers.values():
        writer.abandon()


def _as_text(error: PenstockError) -> tuple[str, str, str, str, str]:
    return type(error).__name__, error.what, error.code, error.where, error.next_step
