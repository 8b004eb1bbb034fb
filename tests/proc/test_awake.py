"""The machine is kept awake while tasks run, and only then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnish.proc.awake import KeepAwake
from testing.lab import APPROVE, AUTHOR, Lab

# stands for systemd-inhibit: notes its start and its end, and runs its command meanwhile
INHIBIT = """#!/bin/sh
echo "start $*" >> "{log}"
for last; do :; done
"$last"
echo end >> "{log}"
"""


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of an inhibitor on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    put(folder, "systemd-inhibit", INHIBIT.format(log=tmp_path / "log"))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "log"


def lines(log: Path, word: str, count: int = 1) -> list[str]:
    """The log, as soon as so many of its lines begin with the word."""
    end = time.monotonic() + 60
    while True:
        found = log.read_text().splitlines() if log.exists() else []
        if sum(line.startswith(word) for line in found) >= count:
            return found
        assert time.monotonic() < end, found
        time.sleep(0.02)


def test_the_inhibitor_runs_while_it_is_needed(log: Path) -> None:
    awake = KeepAwake(is_enabled=True)
    awake.hold(False)
    awake.hold(True)
    awake.hold(True)
    (line,) = lines(log, "start")
    assert "--what=idle:sleep --who=burnish" in line
    awake.hold(False)
    awake.hold(True)
    lines(log, "start", 2)
    awake.release()
    awake.release()


def test_it_is_off_if_the_settings_say_so_or_the_program_is_not_there(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeepAwake(is_enabled=False).hold(True)
    monkeypatch.setenv("PATH", "/nonexistent")
    awake = KeepAwake(is_enabled=True)
    awake.hold(True)
    awake.release()
    assert not log.exists()


def test_an_inhibitor_that_fails_is_not_started_again_and_again(log: Path) -> None:
    put(log.parent / "bin", "systemd-inhibit", f'#!/bin/sh\necho start >> "{log}"\nexit 1\n')
    awake = KeepAwake(is_enabled=True)
    awake.hold(True)
    lines(log, "start")
    time.sleep(0.2)
    for _ in range(3):
        awake.hold(True)
    assert lines(log, "start") == ["start"]
    awake.release()


def test_the_inhibitor_ends_with_burnish_even_if_that_is_killed(log: Path) -> None:
    code = "import time; from burnish.proc.awake import KeepAwake; a = KeepAwake(is_enabled=True); a.hold(True)"
    with subprocess.Popen([sys.executable, "-c", f"{code}; time.sleep(60)"]) as process:
        lines(log, "start")
        process.send_signal(signal.SIGKILL)
    lines(log, "end")


@pytest.mark.slow
def test_a_run_keeps_the_machine_awake_only_while_a_task_runs(tmp_path: Path, log: Path) -> None:
    lab = Lab.make(tmp_path, author=f"time.sleep(1.5)\n{AUTHOR}", judge=APPROVE)
    lab.env["PATH"] = os.environ["PATH"]
    with lab.start("run", "--watch") as run:
        time.sleep(1.5)
        assert not log.exists()
        lab.add()
        lab.until(lambda: lab.task()["status"] == "verified")
        lines(log, "start")
        time.sleep(1)
        lab.burnish("stop")
        run.communicate(timeout=30)
    assert not [words for words in lab.processes() if "systemd-inhibit" in words]
