"""Promise 19 in a sandbox, where no shim can be seen: a mounted marker refuses, and there is no database to write."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from burnish.proc.private_places import MARKERS
from burnish.proc.run import Command, run
from burnish.proc.sandbox import Sandbox
from testing.bubblewrap import needs_bubblewrap
from testing.deciding_commands import DECISIONS, OTHER_COMMANDS
from testing.lab import APPROVE, Lab

# All in one process: what is tried is the refusal, not the start of Python.
TRIES = """
import contextlib, io, json
from burnish.cli.main import main
results = []
for command in COMMANDS:
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = main(["-C", CHECKOUT, *command])
    results.append([command, code, errors.getvalue()])
print(json.dumps(results))
"""


def waiting_task(root: Path) -> tuple[Lab, Sandbox]:
    """A task that waits for a person, and the sandbox of an agent beside it. The agent has dropped BURNISH_TASK."""
    lab = Lab.make(root, judge=APPROVE, author='app.write_text(app.read_text() + "# x\\n")')
    lab.add()
    lab.burnish("run", "--hitl-review", code=1)
    assert lab.task()["status"] == "waiting_approval"
    (root / "work").mkdir()
    return lab, Sandbox(root / "home", lab.repo.path, root / "home" / "burnish")


def inside(lab: Lab, box: Sandbox, argv: tuple[str, ...]) -> str:
    env = {"PATH": os.environ["PATH"], **lab.env}
    work, call = lab.root / "work", lab.root / "call"
    call.mkdir(exist_ok=True)
    wrapped = box.around(argv, env=env, writable=(work,))
    result = run(Command(wrapped, work, env, call, timeout_seconds=90, wrapped=True))
    return result.stdout.read_text() + result.stderr.read_text()


def database(box: Sandbox) -> list[str]:
    """What it contains. The bytes of the file change when a connection closes late and the log is copied into it."""
    with closing(sqlite3.connect(box.burnish_home / "burnish.db")) as db:
        return list(db.iterdump())


@pytest.mark.slow
def test_every_deciding_command_is_refused_in_a_sandbox(tmp_path: Path) -> None:
    needs_bubblewrap()
    lab, box = waiting_task(tmp_path)
    before = database(box)
    # without the database `review 3` means a revision of that name, and decides nothing
    commands = [command for command in (*DECISIONS, *OTHER_COMMANDS) if command != ["review", "3"]]
    code = f"COMMANDS, CHECKOUT = {commands!r}, {str(lab.repo.path)!r}\n{TRIES}"

    results = json.loads(inside(lab, box, (sys.executable, "-c", code)))

    accepted = [result for result in results if result[1] != 4 or "from inside a phase" not in result[2]]
    print(f"{len(results)} deciding commands in a sandbox, {len(accepted)} accepted")
    assert len(results) == len(commands)
    assert accepted == []
    assert database(box) == before


def test_an_agent_that_covers_the_markers_finds_no_database(tmp_path: Path) -> None:
    """In a user namespace of its own it may mount over them, and over /proc."""
    needs_bubblewrap()
    lab, box = waiting_task(tmp_path)
    before = database(box)
    cover = "; ".join(f"mount -t tmpfs none {place.parent}" for place in MARKERS)
    ask = "from burnish.proc.inside import inside_phase; print('inside:', inside_phase())"
    burnish = f"{sys.executable} -m burnish.cli -C {lab.repo.path} decide 1 approve"
    script = f'{cover}; mount -t tmpfs none /proc; {sys.executable} -c "{ask}"; {burnish}; echo code: $?'

    printed = inside(lab, box, ("unshare", "-Urm", "sh", "-c", script))

    assert "inside: False" in printed, "the attack does not get past the markers: it proves nothing"
    assert "code: 0" not in printed and "code: " in printed
    assert database(box) == before and lab.task()["status"] == "waiting_approval"
