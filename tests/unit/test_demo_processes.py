"""What the demo knows of processes: who belongs to whom, what they hold, and a folder that goes with its owner."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.demo import processes, sweep
from penstock.demo.place import temporary_place
from penstock.devstack.processes import process

PARENT = "import subprocess, sys, time; c = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); print(c.pid, flush=True); time.sleep(60)"


def within(seconds: float, reached: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_a_tree_is_the_process_and_what_it_started_and_can_be_killed_whole() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert processes.tree(parent.pid) == [parent.pid, child]
        held = processes.resident_bytes([parent.pid, child])
        assert held is None or held > 5e6
        processes.kill([parent.pid, child])
        assert within(10, lambda: process(child) is None)
        assert processes.tree(parent.pid) == []


def test_memory_keeps_the_highest_sum_and_leaves_what_has_gone_uncounted() -> None:
    if not processes.measurable():
        pytest.skip("this system does not show the memory of processes")
    program = "import time; block = b'x' * 100_000_000; print('there', flush=True); time.sleep(60)"
    watched: list[int] = []
    with processes.Memory(lambda: watched[0] if watched else None) as memory:
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as large:
            assert large.stdout is not None
            large.stdout.readline()
            watched.append(large.pid)
            assert within(10, lambda: memory.tree_bytes > 100e6)
            large.kill()
        highest = memory.tree_bytes
        time.sleep(3 * processes.SAMPLE_EVERY_SECONDS)
        assert memory.tree_bytes == highest < 200e6
    assert memory.own_bytes > 10e6


def test_the_folder_goes_with_the_block_or_stays_where_it_is_wanted() -> None:
    with temporary_place(keep=False) as place:
        (place.kafka / "file").touch()
    assert not place.folder.exists()
    with temporary_place(keep=True) as place:
        pass
    assert sorted(path.name for path in place.folder.iterdir()) == ["kafka", "tmp"]
    for part in (place.kafka, place.temporary, place.folder):
        part.rmdir()


def test_the_folder_goes_when_its_owner_is_killed_even_while_others_still_write_into_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    arguments = f"[sys.executable, '-I', '-S', {sweep.__file__!r}, str(os.getpid()), {str(folder)!r}]"
    owner = f"import subprocess, sys, os, time; subprocess.Popen({arguments}); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        (folder / "state").mkdir()
        time.sleep(2 * sweep.LOOK_EVERY_SECONDS)
        assert folder.exists()
        running.kill()
    assert within(10, lambda: not folder.exists())
    (folder / "late").mkdir(parents=True)
    assert within(10, lambda: not folder.exists())
