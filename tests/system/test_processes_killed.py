"""One of a pipeline's processes killed while the others live: the Python parent, the JVM, a Python worker. Faults 5 and 6."""

from __future__ import annotations

import os
import signal
import time

from harness.load import produce
from harness.process import KILLED, Instance, Pipeline, is_alive

SURVIVOR_SECONDS = 10
SPARK_GONE = [
    "error: Spark's Java process has ended",
    "next:  see whether it was killed for its memory (dmesg); `--conf spark.driver.memory=2g` gives it more; running again is safe",
]
WORKER_LOST = "error: a Python worker of a task died, more often than a task is tried again: "


def ends_soon(pid: int) -> bool:
    deadline = time.monotonic() + SURVIVOR_SECONDS
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


def until_working(pipeline: Pipeline, instance: Instance) -> None:
    """Until it is in the midst of batches that it began itself."""
    before = pipeline.done()
    instance.wait_until(lambda: pipeline.done() >= before + 2, f"batch {before + 2}")


def test_whoever_survives_the_other_process_ends_and_commits_nothing_more(pipeline: Pipeline, seed: int) -> None:
    produce(pipeline.servers, pipeline.topic, 100_000, seed=seed)
    pipeline.write(trigger="continuously", rate={"records_per_batch": 2_000})
    with pipeline.watched() as readers:
        with pipeline.start() as first:
            until_working(pipeline, first)
            java = first.java
            os.kill(first.process.pid, signal.SIGKILL)
            assert first.process.wait(10) == KILLED
            with pipeline.start(debug=False) as second:  # at once, while the first one's JVM may live
                assert ends_soon(java), "the JVM survives its Python parent"
                until_working(pipeline, second)
                os.kill(second.java, signal.SIGKILL)
                ended = second.ended(SURVIVOR_SECONDS)
        assert ended.code == 6, ended.errors
        assert ended.errors.splitlines()[-2:] == SPARK_GONE
        assert "Traceback" not in ended.errors
        last = pipeline.write(trigger="until caught up", rate={"records_per_batch": 50_000}).run()
    assert last.code == 0, last.errors
    assert (verdict := pipeline.verdict()), verdict
    assert (history := pipeline.history(readers)), history
    assert pipeline.versions()[0] == pipeline.done() + 1, "each batch is one version"


def test_a_worker_killed_always_is_named_and_killed_once_is_no_trouble(pipeline: Pipeline, seed: int) -> None:
    produce(pipeline.servers, pipeline.topic, 5_000, seed=seed)
    lost = pipeline.run("--attempts", "1", crash_at="task_writing")
    assert lost.code == 6, lost.errors
    said = lost.errors.splitlines()[-2:]
    assert said[0].startswith(WORKER_LOST), said
    assert said[1] == "next:  see whether it was killed for its memory (dmesg); running again is safe"
    assert pipeline.versions() == (0, 0)
    assert pipeline.done() == -1

    marker = pipeline.folder / "killed once"
    once = pipeline.run("--attempts", "1", crash_at="task_writing", PENSTOCK_CRASH_ONCE=str(marker))
    assert once.code == 0, once.errors
    assert marker.exists(), "no worker was killed"
    (committed,) = once.events("batch committed")
    assert committed["counts"]["read"] == 5_000, "what the lost attempt had counted is not in"
    assert (verdict := pipeline.verdict()), verdict
    assert pipeline.versions() == (1, 1)
