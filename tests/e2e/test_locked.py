"""A task that somebody runs: told who, since when and what to type; broken by proof of death alone."""

from __future__ import annotations

import getpass
import os
import signal
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testing.byhand import facts
from testing.lab import APPROVE, Lab

SLOW = """
while not pathlib.Path(os.environ["HOME"], "go").exists() and not pathlib.Path(GO).exists(): time.sleep(0.05)
app.write_text(app.read_text() + "# x\\n")
"""
COMMANDS = [
    ["run", "1"],
    ["decide", "1", "approve"],
    ["decide", "1", "reject"],
    ["decide", "1", "fix", "-m", "x"],
    ["improve", "1", "-m", "x"],
    ["override", "1", "--explain", "x"],
    ["done", "1", "--reason", "x"],
    ["edit", "1", "--accept", "another criterion"],
    ["edit", "1", "--verdict", "APPROVED", "--reason", "x"],
    ["waive", "1", "F1", "--reason", "x"],
    ["reopen", "1", "F1"],
    ["review", "1"],
    ["handoff", "1"],
    ["rm", "1"],
]


@contextmanager
def let_go(sign: Path) -> Iterator[None]:
    """Whatever happens here, the agent does not wait for ever."""
    try:
        yield
    finally:
        sign.touch()


@pytest.mark.slow
def test_a_second_one_is_told_and_age_breaks_nothing(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author=f"GO = {str(tmp_path / 'go')!r}\n{SLOW}")
    lab.add()
    with lab.start("run", "1") as runner:
        with let_go(tmp_path / "go"):
            lab.until(lambda: lab.calls())
            before = facts(lab)
            for words in COMMANDS:
                said = lab.burnish(*words, code=4)
                who = f"being run by {getpass.getuser()}@{socket.gethostname()}, pid {runner.pid}, since 20"
                assert (
                    who in said.err
                    and "burnish stop 1" in said.err
                    and "abandon the task: burnish cancel 1" in said.err
                ), (words, said)
                assert facts(lab) == before
            told = lab.burnish("run", "1", code=4).err
            assert f"pid {runner.pid}, since 20" in told and " min ago)" in told
            # a claim from years ago, and one from tomorrow: the runner lives, so it holds
            for when in ("2001-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z"):
                with sqlite3.connect(lab.env["BURNISH_HOME"] + "/burnish.db") as db:
                    db.execute("UPDATE tasks SET claimed_at = ?", (when,))
                db.close()
                for words in COMMANDS:
                    lab.burnish(*words, code=4)
        runner.communicate(timeout=60)
    assert lab.task()["status"] == "verified" and len(lab.calls()) == 2


def test_the_lock_of_the_dead_is_taken_over_at_once(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author=f"GO = {str(tmp_path / 'go')!r}\n{SLOW}")
    lab.add()
    with lab.start("run", "1") as runner:
        lab.until(lambda: lab.calls())
        os.kill(runner.pid, signal.SIGKILL)
        runner.communicate(timeout=60)
    (tmp_path / "go").touch()
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"
    assert len(lab.events("lock.taken_over")) == 1
