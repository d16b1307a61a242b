"""Which record makes a transform fail: found by halving the batch until one is left, and named by its coordinates."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.errors import StoppedByData
from penstock.records import SOURCE_COLUMN
from penstock.run.assembly import Assembly, decoder_of
from penstock.run.batch_plan import BatchPlan
from penstock.run.chain import ReadDecode
from penstock.run.spark_errors import said
from penstock.run.transforming import transformed
from penstock.values import OffsetRange

OF_THE_DATA = re.compile(r"SQLSTATE: (22...|P0001)")  # SQL's class for data exceptions, and what `raise_error` says


def culprit(error: Exception, assembly: Assembly, frame: DataFrame, plan: BatchPlan) -> Exception:
    """The error with the record that caused it, where a transform failed on one; any other error as it is."""
    steps = assembly.plan.flow.transforms
    if not steps or not OF_THE_DATA.search(str(error)):
        return error
    read = ReadDecode({item.topic: item.topic_id for item in plan.ranges}, decoder_of(assembly.plan.flow, assembly.kinds))
    decoded = assembly.decoding(frame, read).persist()
    last = [error]

    def fails(ranges: Sequence[OffsetRange]) -> bool:
        through = transformed(decoded.where(_within(ranges)), steps)
        try:
            # Evaluates every expression and keeps nothing, all in the JVM: a Python worker would have to start anew behind each failure.
            through.records.write.format("noop").mode("overwrite").save()
        except PySparkException as again:
            last[0] = again
            return True
        finally:
            if through.held is not None:
                through.held.unpersist()
        return False

    try:
        left = smallest_failing(plan.ranges, fails)
    finally:
        decoded.unpersist()
    return _named(last[0], left, plan) if left else error


def smallest_failing(ranges: Sequence[OffsetRange], fails: Callable[[Sequence[OffsetRange]], bool]) -> Sequence[OffsetRange]:
    """One record that fails by itself, found by halving; else the smallest part found that does; nothing where the whole does not.

    Where the first half passes, the second is taken to fail, unasked; the last answer tells whether that was right.
    """
    if not fails(ranges):
        return ()
    failing = ranges
    while sum(item.offsets for item in ranges) > 1:
        first, second = halves(ranges)
        first_fails = fails(first)
        ranges = first if first_fails else second
        failing = first if first_fails else failing
    return ranges if fails(ranges) else failing


def halves(ranges: Sequence[OffsetRange]) -> tuple[Sequence[OffsetRange], Sequence[OffsetRange]]:
    """The same offsets in two parts of about the same size."""
    room = sum(item.offsets for item in ranges) // 2
    first, second = [], []
    for item in ranges:
        cut = item.start + min(room, item.offsets)
        room -= cut - item.start
        first += [_part(item, item.start, cut)] if cut > item.start else []
        second += [_part(item, cut, item.until)] if cut < item.until else []
    return first, second


def _within(ranges: Sequence[OffsetRange]) -> Column:
    source = F.col(SOURCE_COLUMN)
    parts = [
        (source["topic_id"] == item.topic_id) & (source["partition"] == item.partition) & source["offset"].between(item.start, item.until - 1)
        for item in ranges
    ]
    return reduce(lambda left, right: left | right, parts)


def _named(error: PySparkException, ranges: Sequence[OffsetRange], plan: BatchPlan) -> StoppedByData:
    one = len(ranges) == 1 and ranges[0].offsets == 1
    places = "; ".join(_in_words(item) for item in ranges[:3]) + (" …" if len(ranges) > 3 else "")
    return StoppedByData(
        f"{'a record makes' if one else 'records together make'} a transform fail: {said(error)}",
        code="transform_failed",
        where=f"batch {plan.batch}, {places}",
        next_step="mend the transform so that it takes such records (try_cast, try_divide, a filter before it), then run again",
    )


def _in_words(item: OffsetRange) -> str:
    offsets = f"offset {item.start}" if item.offsets == 1 else f"offsets {item.start} to {item.until - 1}"
    return f"topic {item.topic}, partition {item.partition}, {offsets}"


def _part(item: OffsetRange, start: int, until: int) -> OffsetRange:
    return OffsetRange(item.topic, item.topic_id, item.partition, start, until)
