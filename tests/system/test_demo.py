"""The demo as a newcomer starts it: right figures, two kills in the middle of a batch, and nothing left of it however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deltalake import DeltaTable

from harness.process import PENSTOCK
from penstock.demo.events import Closed, Event, RunEnded
from penstock.demo.figures import Figures
from penstock.demo.story import Wishes, tell
from penstock.errors import Fatal

pytestmark = pytest.mark.timeout(600)

RECORDS = 24_000
SECONDS = 500  # a hang, not a slow machine
GONE_SECONDS = 60  # within ten seconds on a machine of one's own


def naming(folder: Path) -> list[str]:
    """Every process that runs with `folder` in its command line or its environment, but this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in command + environment:
            found.append(f"{entry.name}: {command[:200]!r}")
    return found


def within(seconds: float, reached: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


@contextmanager
def demo(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`penstock demo --json`, with all temporary files in `folder`, which every process of it then names."""
    command = [PENSTOCK, "demo", "--records", str(RECORDS), "--seed", "1", "--json", *arguments]
    environment = os.environ | {"TMPDIR": str(folder)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_demo_counts_right_and_leaves_nothing(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        output, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors
    figures = json.loads(output)
    count = figures["count"]
    assert (figures["right"], figures["wrongs"], figures["audit_clean"], figures["folder"]) == (True, [], True, None)
    assert (figures["produced"], count["in_kafka"], count["rows"] + count["dead_letters"], figures["audit_records"]) == (RECORDS,) * 4
    assert {count[name] for name in ("missing", "duplicates", "strange", "altered")} == {0}
    assert count["dead_letters"] == 118
    assert figures["versions_added_again"] == 0
    assert [kill["how"] for kill in figures["kills"] if kill["in_flight"]] == ["tree", "parent"], figures["kills"]
    assert figures["peak_pipeline_bytes"] < 2.5e9
    for line in ("$ penstock run pipeline.yaml", "✗ kill -9 to the whole process tree", "✗ kill -9 to the Python process alone", "is in exactly one place"):
        assert line in errors
    for noise in ("WARN", "Picked up", "log4j", "incubator", '{"'):
        assert noise not in errors
    assert not list(tmp_path.iterdir())
    assert not naming(tmp_path)


@pytest.mark.parametrize(("number", "code"), [pytest.param(signal.SIGINT, 130, marks=pytest.mark.faults), (signal.SIGKILL, -signal.SIGKILL)])
def test_nothing_is_left_when_the_demo_is_interrupted_or_killed(tmp_path: Path, number: int, code: int) -> None:
    with demo(tmp_path) as process:
        assert process.stderr is not None
        assert any("$ penstock run" in line for line in process.stderr)
        folder = next(tmp_path.glob("penstock-demo-*"))
        assert within(SECONDS, lambda: any((folder / "state").glob("payments/queries/main/plans/*/*.json")) or process.poll() is not None)
        assert len(naming(tmp_path)) >= 6, "the demo, two guards, the sweeper, broker, pipeline, its JVM"
        process.send_signal(number)
        assert process.wait(GONE_SECONDS) == code
    assert within(GONE_SECONDS, lambda: not naming(tmp_path)), naming(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.faults
def test_the_demo_fails_when_a_row_is_deleted_before_it_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("penstock.demo.story.KILLS", ())  # what is tested comes after them
    heard: list[Figures] = []

    def tamper(event: Event) -> None:
        if isinstance(event, RunEnded):
            DeltaTable(str(event.place.table)).delete("payment_id = 'payment-000000000077'")
        if isinstance(event, Closed):
            heard.append(event.figures)

    with pytest.raises(Fatal) as caught:
        tell(Wishes(20_000, 1), tamper)
    amount = abs(heard[0].count.cents_found - heard[0].count.cents_produced) / 100
    wrongs = f"1 missing, the amounts differ by {amount:,.2f}, the audit is not clean, or accounts for 20,000 records only"
    assert (caught.value.exit_code, caught.value.what) == (5, f"the counts are not right: {wrongs}")
    assert not list(tmp_path.iterdir())
