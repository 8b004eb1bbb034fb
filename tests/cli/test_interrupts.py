"""SIGINT, SIGTERM and SIGHUP end every command, however it was started."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.cli.interrupts import Terminated, delayed_interrupts, install_handlers
from testing.lab import Lab

# What `sh -c 'burnish … &'` and `nohup burnish …` do to a program, without a shell that stays in between.
IGNORING = ["sh", "-c", 'trap "" $0; exec "$@"']
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def start(lab: Lab, *argv: str, ignored: str = "INT", stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    words = [*IGNORING, ignored, sys.executable, "-m", "burnish.cli", "-C", str(lab.repo.path), *argv]
    return subprocess.Popen(words, env={**os.environ, **lab.env}, stdout=stdout, stderr=subprocess.PIPE)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab.make(tmp_path, author="print('working', flush=True)\ntime.sleep(100)")
    made.add()
    return made


@pytest.mark.representatives(1)
@pytest.mark.parametrize("number", SIGNALS)
def test_following_the_events_as_a_background_job_ends_on_every_signal(lab: Lab, number: signal.Signals) -> None:
    with start(lab, "events", "-f") as following:
        assert following.stdout and following.stdout.readline()
        following.send_signal(number)
        _, err = following.communicate(timeout=60)
    assert (following.returncode, err) == (130, b"Interrupted.\n")


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_run_and_its_log_as_background_jobs_end_on_every_signal(lab: Lab, number: signal.Signals) -> None:
    with start(lab, "run") as running:
        lab.until(lambda: lab.calls())
        with start(lab, "log", "1", "-f") as following:
            assert following.stdout and following.stdout.readline()
            following.send_signal(number)
            following.communicate(timeout=60)
        assert following.returncode == 130
        running.send_signal(number)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert lab.processes() == []
    assert lab.task()["error"] == "INTERRUPTED"


@pytest.mark.long
@pytest.mark.parametrize("number", SIGNALS)
def test_a_server_as_a_background_job_stops_in_order_on_every_signal(lab: Lab, number: signal.Signals) -> None:
    with start(lab, "serve", "--port", "0") as serving:
        assert serving.stdout and serving.stdout.readline().startswith(b"http://")
        serving.send_signal(number)
        _, err = serving.communicate(timeout=60)
    assert (serving.returncode, b"Stopped." in err) == (0, True), err


@pytest.mark.representatives(1)
@pytest.mark.parametrize("argv", [("events", "-f"), ("serve", "--port", "0"), ("run",)])
def test_what_nohup_started_outlives_the_terminal_and_ends_on_sigterm(lab: Lab, argv: tuple[str, ...]) -> None:
    with start(lab, *argv, ignored="HUP") as process:
        if argv == ("run",):
            lab.until(lambda: lab.calls())
        else:
            assert process.stdout and process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.7)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == (0 if argv[0] == "serve" else 130)


def test_a_pager_that_waits_for_its_reader_ends_on_sigterm(lab: Lab, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pager.pid\ncat >/dev/null\nexec sleep 100\n")
    pager.chmod(0o755)
    master, slave = pty.openpty()
    lab.env.update({"BURNISH_PAGER": str(pager), "TERM": "xterm"})
    with start(lab, "events", stdout=slave) as process:
        os.close(slave)
        pid = tmp_path / "pager.pid"
        lab.until(lambda: pid.exists() and bool(pid.read_text().strip()))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    os.close(master)
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_signal_that_arrives_while_a_program_is_started_counts_once_it_has_started() -> None:
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    started = []
    install_handlers()
    try:
        with pytest.raises(Terminated), delayed_interrupts():
            signal.raise_signal(signal.SIGTERM)
            started.append("the pager")
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert started
