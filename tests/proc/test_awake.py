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


def lines(log: Path, count: int) -> list[str]:
    end = time.monotonic() + 10
    while not log.exists() or len(log.read_text().splitlines()) < count:
        assert time.monotonic() < end
        time.sleep(0.02)
    return log.read_text().splitlines()


def test_the_inhibitor_runs_while_it_is_needed(log: Path) -> None:
    awake = KeepAwake(is_enabled=True)
    awake.hold(False)
    awake.hold(True)
    awake.hold(True)
    assert len(lines(log, 1)) == 1 and "--what=idle:sleep --who=burnish" in lines(log, 1)[0]
    awake.hold(False)
    awake.hold(True)
    assert len([line for line in lines(log, 2) if line.startswith("start")]) == 2
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
    lines(log, 1)
    time.sleep(0.2)
    for _ in range(3):
        awake.hold(True)
    assert lines(log, 1) == ["start"]
    awake.release()


def test_the_inhibitor_ends_with_burnish_even_if_that_is_killed(log: Path) -> None:
    code = "import time; from burnish.proc.awake import KeepAwake; a = KeepAwake(is_enabled=True); a.hold(True)"
    with subprocess.Popen([sys.executable, "-c", f"{code}; time.sleep(60)"]) as process:
        lines(log, 1)
        process.send_signal(signal.SIGKILL)
    assert lines(log, 2)[1] == "end"


@pytest.mark.slow
def test_a_run_keeps_the_machine_awake_only_while_a_task_runs(tmp_path: Path, log: Path) -> None:
    lab = Lab.make(tmp_path, author=f"time.sleep(1.5)\n{AUTHOR}", judge=APPROVE)
    lab.env["PATH"] = os.environ["PATH"]
    with lab.start("run", "--watch") as run:
        time.sleep(1.5)
        assert not log.exists()
        lab.add()
        lab.until(lambda: lab.task()["status"] == "verified")
        assert lines(log, 1)[0].startswith("start")
        time.sleep(1)
        lab.burnish("stop")
        run.communicate(timeout=30)
    assert not [words for words in lab.processes() if "systemd-inhibit" in words]
