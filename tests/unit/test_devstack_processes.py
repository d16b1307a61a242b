"""Processes by identity, the guard that lets none outlive its parent, and the state of the detached stack; no JVM."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.devstack import processes, stack
from penstock.devstack.java import Java
from penstock.devstack.kraft import PORTS, Node, demand_free, free_ports
from penstock.devstack.launch import launch
from penstock.devstack.processes import Process, process
from penstock.errors import PlanRefused, Retryable

SLEEP = [sys.executable, "-c", "import time; time.sleep(120)"]
SOURCE = str(Path(processes.__file__).parents[2])


@contextmanager
def sleeping(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    running = subprocess.Popen(command or SLEEP, stdout=subprocess.PIPE)
    try:
        yield running
    finally:
        running.kill()
        running.communicate(timeout=10)


def known(pid: int) -> Process:
    found = process(pid)
    assert found is not None
    return found


def within(seconds: float, reached: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not reached() and time.monotonic() < until:
        time.sleep(0.02)
    return reached()


def test_a_process_is_alive_until_it_ends_even_when_nobody_waits_for_it() -> None:
    with sleeping() as running:
        found = known(running.pid)
        assert found.alive()
        running.kill()
        assert found.gone_within(10)
        assert running.returncode is None  # a zombie still: its pid exists
        assert process(running.pid) is None


def test_a_process_that_merely_has_the_pid_is_neither_alive_nor_signalled() -> None:
    with sleeping() as running:
        former = Process(running.pid, "some other boot 12345")
        former.end(grace_seconds=0)
        assert (former.alive(), former.signal(signal.SIGKILL), running.poll()) == (False, False, None)


def test_a_process_that_ignores_sigterm_is_killed_after_the_grace() -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(120)"
    with sleeping(sys.executable, "-c", stubborn) as running:
        assert running.stdout is not None and running.stdout.readline() == b"up\n"
        known(running.pid).end(grace_seconds=0.2)
        assert running.wait(10) == -signal.SIGKILL


def test_a_paused_process_ends_by_sigterm() -> None:
    with sleeping() as running:
        running.send_signal(signal.SIGSTOP)
        known(running.pid).end(grace_seconds=10)
        assert running.wait(10) == -signal.SIGTERM


def test_a_watched_command_goes_when_its_parent_is_killed_and_its_folder_too(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    # The parent forks a child that survives it and inherits all it has open: it must not keep the command alive.
    program = f"""
        import os, sys, time
        from pathlib import Path
        from penstock.devstack.launch import launch
        started, guard = launch({SLEEP!r}, Path({str(tmp_path / "log")!r}), watched=True, remove=Path({str(folder)!r}))
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        print(started.pid, guard.pid, flush=True)
        time.sleep(120)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": SOURCE}) as parent:
        assert parent.stdout is not None
        command, guard = (known(int(pid)) for pid in parent.stdout.readline().split())
        parent.kill()
        assert command.gone_within(5)
        assert guard.gone_within(5)
        assert not folder.exists()
        parent.stdout.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's death signal is Linux's")
def test_a_watched_command_goes_when_its_guard_is_killed(tmp_path: Path) -> None:
    command, guard = launch(SLEEP, tmp_path / "log", watched=True)
    guard.kill()
    guard.wait(10)
    assert command.gone_within(5)


def test_the_guard_ends_with_its_command_and_leaves_the_folder_to_the_parent(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    command, guard = launch(SLEEP, tmp_path / "log", watched=True, remove=folder)
    command.signal(signal.SIGKILL)
    assert guard.wait(10) == 128 + signal.SIGKILL
    assert folder.is_dir()


def test_a_detached_command_outlives_the_process_that_started_it(tmp_path: Path) -> None:
    program = f"""
        from pathlib import Path
        from penstock.devstack.launch import launch
        print(launch({SLEEP!r}, Path({str(tmp_path / "log")!r}), watched=False)[0].pid)
    """
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=30, check=True, env=os.environ | {"PYTHONPATH": SOURCE}
    )
    command = known(int(answer.stdout))
    try:
        assert not command.gone_within(0.5)
    finally:
        command.end(grace_seconds=0)
    assert answer.stderr == ""


def test_what_the_command_prints_is_in_the_log(tmp_path: Path) -> None:
    _, guard = launch([sys.executable, "-c", "import time; print('hello', flush=True); time.sleep(0.3)"], tmp_path / "log", watched=True)
    assert guard.wait(10) == 0
    assert (tmp_path / "log").read_text() == "hello\n"


def test_a_command_that_does_not_exist_is_an_error_with_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(Retryable, match=r"^the Kafka broker is not up: it could not be started\n") as caught:
        launch([str(tmp_path / "no-java")], log, watched=True)
    assert caught.value.where.startswith(f"{log}\n")
    assert "No such file or directory" in caught.value.where


def node(folder: Path, **properties: str) -> Node:
    return Node(folder, 21_000, 21_001, Java(folder, 17, "test"), (), properties)


def test_server_properties_take_what_is_given_over_what_is_fixed(tmp_path: Path) -> None:
    lines = node(tmp_path, **{"offsets.topic.num.partitions": "9", "x.path": "a\\b"}).server_properties().splitlines()
    assert "offsets.topic.num.partitions=9" in lines
    assert "x.path=a\\\\b" in lines
    assert len({line.partition("=")[0] for line in lines}) == len(lines)


def test_further_listeners_are_added_to_the_plain_one(tmp_path: Path) -> None:
    lines = node(tmp_path, listeners="SASL_PLAINTEXT://127.0.0.1:21002").server_properties().splitlines()
    assert "listeners=PLAINTEXT://127.0.0.1:21000,CONTROLLER://127.0.0.1:21001,SASL_PLAINTEXT://127.0.0.1:21002" in lines


def test_ports_are_chosen_outside_the_range_of_outgoing_connections() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert all(port in PORTS for port in ports)


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        (port,) = free_ports(1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        yield port


def test_a_taken_port_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with taken_port() as port:
        for refused in (lambda: demand_free(port), lambda: stack.up(tmp_path / "dev", port=port)):
            with pytest.raises(PlanRefused) as caught:
                refused()
            assert str(caught.value) == (f"another program listens on port {port}\nwhere: 127.0.0.1:{port}\nnext:  end it, or choose another port")
    assert not (tmp_path / "dev/data").exists()


def test_a_stack_that_was_never_up_is_down_and_nothing_is_created(tmp_path: Path) -> None:
    home = tmp_path / "dev"
    for answer in (stack.status(home), stack.down(home)):
        assert answer == stack.StackStatus(home, running=False, answering=False, change="none")
    assert not home.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 1, "broker": {"pid": 1}}'])
def test_a_damaged_state_file_means_down(tmp_path: Path, text: str) -> None:
    (tmp_path / "stack.json").write_text(text)
    assert not stack.status(tmp_path).running


def state_of(home: Path, pid: int, started: str) -> None:
    broker = {"pid": pid, "started": started, "servers": "127.0.0.1:1", "since": "2026-11-19T00:00:00+00:00", "log_file": str(home / "broker.log")}
    (home / "stack.json").write_text(json.dumps({"format": 1, "broker": broker}))


def test_a_state_file_from_before_a_reboot_is_stale_and_the_pids_new_owner_let_alone(tmp_path: Path) -> None:
    with sleeping() as running:
        state_of(tmp_path, running.pid, "former boot 1")
        assert not stack.status(tmp_path).running
        assert stack.down(tmp_path).change == "none"
        assert not (tmp_path / "stack.json").exists()
        assert running.poll() is None


def test_a_running_process_that_does_not_answer_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "ANSWER_SECONDS", 0.2)
    with sleeping() as running:
        state_of(tmp_path, running.pid, known(running.pid).started)
        answer = stack.status(tmp_path)
        assert (answer.running, answer.answering, answer.pid) == (True, False, running.pid)


def test_down_ends_the_process_of_the_state_file(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with sleeping() as running:
        state_of(tmp_path, running.pid, known(running.pid).started)
        assert stack.down(tmp_path, delete_data=True).change == "stopped"
        assert within(5, lambda: running.poll() is not None)
    assert not (tmp_path / "data").exists()


def test_two_commands_at_once_are_refused(tmp_path: Path) -> None:
    with stack._alone(tmp_path), pytest.raises(PlanRefused, match="another command is starting or stopping this stack"):
        stack.up(tmp_path)
