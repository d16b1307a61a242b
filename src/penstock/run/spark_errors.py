"""What Spark says when a query ends, translated once into our tree. Leans on Spark's error classes; an unknown one is retryable."""

from __future__ import annotations

import re

from penstock.errors import Fatal, PenstockError, Retryable, StoppedByData

TOO_LONG = 400
PYTHON_WORKER = "An exception was thrown from the Python worker"

KNOWN: tuple[tuple[str, type[PenstockError], str, str, str], ...] = (
    (
        r"CONCURRENT_STREAM_LOG_UPDATE|CONCURRENT_QUERY|Concurrent update to the log",
        Fatal,
        "another_instance",
        "another instance of this pipeline works on the same checkpoint",
        "keep one of them running; what both did is consistent, nothing was doubled",
    ),
    (
        r"KAFKA_DATA_LOSS|Some data may have been lost|data may have been lost|OffsetOutOfRangeException|offset was changed from",
        StoppedByData,
        "data_lost",
        "Kafka no longer holds records that were not read yet (retention, truncation, or a topic made anew)",
        "see the offsets in the message; decide whether to go on without them (`source.on_gap: record`)",
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
    if PYTHON_WORKER in text:
        return PenstockError(
            f"a task failed: {_last_python_error(text)}",
            code="bug",  # tasks hold nothing but our own code
            next_step="this is a mistake in Penstock: run it again with `penstock --debug …` and report the traceback",
        )
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
    """The first line of what Spark said that has the pattern, cut to a screen's length."""
    lines = [line.strip(" :") for line in text.splitlines() if line.strip(" :")]  # a Java error's text may begin with a colon
    telling = [line for line in lines if re.search(pattern, line)] or lines or [""]
    return telling[0][:TOO_LONG]


def _last_python_error(text: str) -> str:
    """The last line of a Python traceback, which names the exception."""
    lines = [line for line in text.splitlines() if re.match(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt)\b", line)]
    return (lines or [text.strip()])[-1][:TOO_LONG]
