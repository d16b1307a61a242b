"""What Spark says when a query ends, translated once into our tree. Leans on Spark's texts; an unknown one is retryable.

`tests/system/test_spark_errors.py` provokes each of them for real.
"""

from __future__ import annotations

import re

from penstock.errors import Fatal, PenstockError, Retryable, StoppedByData

TOO_LONG = 400
PYTHON_WORKER = "An exception was thrown from the Python worker"
NOISE = re.compile(r"\[STREAM_FAILED\] Query \[[^\]]*\] terminated with exception: |^: |\s*SQLSTATE: \w+|\borg\.apache\.[\w.$]*\.(?=\w+(Exception|Error)\b)")

LOST: tuple[tuple[str, str, str], ...] = (
    (
        r"Could not read records in offset \[(?P<start>\d+), (?P<until>\d+)\) for topic partition (?P<place>\S+)",
        "records that were not read yet are gone from Kafka (retention, or somebody deleted them)",
        "{place}, somewhere in offsets {start} to {last}",
    ),
    (
        r"Partition (?P<place>\S+) offset was changed from (?P<start>\d+) to (?P<until>\d+)",
        "a partition ends before the place to read on from: the topic was made anew, or `source.start` lies beyond its end",
        "{place}, to be read from offset {start}, ends at offset {until}",
    ),
    (
        r"Starting offset for (?P<place>\S+) was (?P<start>\d+) but consumer reset to (?P<until>\d+)",
        "records that were not read yet are gone from Kafka (retention, or somebody deleted them)",
        "{place}, to be read from offset {start}, begins at offset {until}",
    ),
    (
        r"Added partition (?P<place>\S+) starts from (?P<until>\d+) instead of 0",
        "a new partition lost its first records before they were read",
        "{place}, begins at offset {until}",
    ),
    (
        r"Partitions (?:Set\()?(?P<places>[^)]+?)\)? have been deleted|Cannot find initial offsets for partitions (?:Set\()?(?P<others>[^)]+?)\)?\. ",
        "partitions that this pipeline reads are gone: the topic was made anew with fewer",
        "{places}",
    ),
)
"""Each way in which Spark's Kafka source finds records missing: its text, what it means, and where, as far as the text says."""

GO_ON = "to go on without them: a new `state` folder, `source.start` at offsets that Kafka still holds, and --accept-new-generation"

KNOWN: tuple[tuple[str, type[PenstockError], str, str, str], ...] = (
    (
        r"CONCURRENT_STREAM_LOG_UPDATE|CONCURRENT_QUERY|SparkConcurrentModificationException|Concurrent update to the log",
        Fatal,
        "another_instance",
        "another instance of this pipeline works on the same checkpoint",
        "keep one of them running; what both did is consistent, nothing was doubled",
    ),
    (
        r"KAFKA_DATA_LOSS|data may have been lost|OffsetOutOfRangeException",
        StoppedByData,
        "data_lost",
        "records that were not read yet are gone from Kafka",
        GO_ON,
    ),
    (
        r"UnknownTopicOrPartitionException",
        Fatal,
        "topic_missing",
        "a topic of this pipeline is gone",
        "create it again, or mend `source.topics`",
    ),
    (
        r"TimeoutException|Timed out waiting for a node|Connection to node|No resolvable bootstrap",
        Retryable,
        "kafka_unreachable",
        "Kafka did not answer",
        "see that the broker runs and that `kafka.servers` names it; running again is safe",
    ),
    (
        r"Python worker exited unexpectedly",
        Retryable,
        "worker_lost",
        "a Python worker of a task died, more often than a task is tried again",
        "see whether it was killed for its memory (dmesg); running again is safe",
    ),
)


def said(error: Exception) -> str:
    """Spark's own sentence, without the codes around it."""
    text = re.sub(r"\s+", " ", re.split(r"SQLSTATE: ", str(error))[0]).strip()
    return re.sub(r"^\[[A-Z_.]+\] ", "", text).rstrip(" ;.")


def translated(error: BaseException) -> PenstockError:
    """The error of ours that says what ended the query."""
    text = str(error)
    if missing := re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", text):
        return Fatal(
            f"the Python of the tasks has no module `{missing[1]}`",
            code="executors_lack_module",
            next_step="install Penstock on every node, and name that Python there: PYSPARK_PYTHON, or --conf spark.pyspark.python=/path/to/python",
        )
    if PYTHON_WORKER in text:
        return PenstockError(
            f"a task failed: {_last_python_error(text)}",
            code="bug",  # tasks hold nothing but our own code
            next_step="this is a mistake in Penstock: run it again with `penstock --debug …` and report the traceback",
        )
    return _lost(text) or _known(text)


def _lost(text: str) -> StoppedByData | None:
    for pattern, what, where in LOST:
        if found := re.search(pattern, text):
            said = {name: value for name, value in found.groupdict().items() if value is not None}
            places = said.get("places") or said.get("others") or ""
            values = {
                "start": said.get("start", ""),
                "until": said.get("until", ""),
                "last": str(int(said.get("until", "1")) - 1),
                "place": _place(said.get("place", "")),
                "places": "; ".join(_place(each.strip()) for each in places.split(",")),
            }
            return StoppedByData(what, code="data_lost", where=where.format(**values), next_step=GO_ON)
    return None


def _place(text: str) -> str:
    """`topic payments, partition 3` of Kafka's `payments-3`."""
    topic, _, partition = text.rpartition("-")
    return f"topic {topic}, partition {partition}"


def _known(text: str) -> PenstockError:
    for pattern, kind, code, what, next_step in KNOWN:
        if re.search(pattern, text):
            return kind(f"{what}: {telling_line(text, pattern)}", code=code, next_step=next_step)
    return Retryable(
        f"Spark ended the query: {telling_line(text, 'Exception|Error')}",
        code="spark_failed",
        next_step="run again with --debug to see all that Spark said; running again is safe",
    )


def spark_gone() -> Retryable:
    """Spark's JVM has died under the pipeline: what is retryable must be retried by a new process."""
    return Retryable(
        "Spark's Java process has ended",
        code="spark_gone",
        next_step="see whether it was killed for its memory (dmesg); `--conf spark.driver.memory=2g` gives it more; running again is safe",
    )


def telling_line(text: str, pattern: str) -> str:
    """The first line of what Spark said that has the pattern, without Spark's names for itself, cut to a screen's length."""
    lines = [line.strip(" :") for line in text.splitlines() if line.strip(" :")]  # a Java error's text may begin with a colon
    telling = [line for line in lines if re.search(pattern, line)] or lines or [""]
    return NOISE.sub("", telling[0])[:TOO_LONG]


def _last_python_error(text: str) -> str:
    """The last line of a Python traceback, which names the exception."""
    lines = [line for line in text.splitlines() if re.match(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt)\b", line)]
    return (lines or [text.strip()])[-1][:TOO_LONG]
