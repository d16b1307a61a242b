"""The data plane inside a task: records in, staged files out, one report as the only result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from penstock import errors
from penstock.errors import PenstockError, StoppedByData
from penstock.records import Decoder
from penstock.run.crash import crash_point
from penstock.run.report import Span, TaskReport, encode, watch
from penstock.run.sorting import Origin, Sorted, sort_block
from penstock.sink.port import RowWriter, Stage, TaskPlace
from penstock.source.spark_reader import blocks
from penstock.values import BatchCounts

SINK, DEAD_LETTERS = "sink", "dead_letters"


@dataclass(frozen=True, slots=True)
class Chain:
    """Read, decode and write in one pass, for one batch; what travels to the tasks."""

    origin: Origin
    topic_ids: Mapping[str, str]
    decoder: Callable[[], Decoder]
    stages: Mapping[str, Stage]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What `mapInArrow` runs: the task's records in, its report out."""
        context = TaskContext.get()
        place = TaskPlace(self.origin.batch, context.partitionId(), context.taskAttemptId())
        writers = {name: stage.open(place) for name, stage in self.stages.items()}
        try:
            yield encode(self._work(batches, writers, place))
        except PenstockError as error:
            _abandon(writers)
            yield encode(TaskReport(place.task, BatchCounts(0, 0, 0, 0), {}, {}, _as_text(error)))
        except BaseException:
            _abandon(writers)
            raise

    def _work(self, batches: Iterator[pa.RecordBatch], writers: Mapping[str, RowWriter], place: TaskPlace) -> TaskReport:
        decoder, counts = self.decoder(), BatchCounts(0, 0, 0, 0)
        spans: dict[str, Span] = {}
        for block in blocks(batches, self.topic_ids):
            crash_point("task_writing", self.origin.batch)
            watch(spans, block)
            done = sort_block(block, decoder.decode(block.values), self.origin)
            counts = counts + done.counts
            writers[SINK].write(done.rows)
            _bury(done, writers)
        return TaskReport(place.task, counts, spans, {name: writer.close() for name, writer in writers.items()})


def raise_first(reports: list[TaskReport]) -> None:
    """The error of the first task that ended with one of ours, as itself again."""
    for report in reports:
        if report.error is not None:
            kind, what, code, where, next_step = report.error
            raise getattr(errors, kind)(what, code=code, where=where, next_step=next_step)


def _bury(done: Sorted, writers: Mapping[str, RowWriter]) -> None:
    """Dead letters to their sink; without one the first of them stops the pipeline."""
    if not done.dead.num_rows:
        return
    if DEAD_LETTERS in writers:
        writers[DEAD_LETTERS].write(done.dead)
        return
    first = done.dead.slice(0, 1).to_pylist()[0]
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
