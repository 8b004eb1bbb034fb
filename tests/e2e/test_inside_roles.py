"""Every program that a run starts is known to be inside a phase, whatever it does to its environment and parents."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import APPROVE, Lab

# Asked plainly, in a session of its own, and by an orphan; each without a variable of burnish.
ASK = """
import json, os, pathlib, subprocess, sys, time
role, out = sys.argv[1], pathlib.Path(sys.argv[2])
clean = {name: value for name, value in os.environ.items() if not name.startswith("BURNISH")}
ask = [PYTHON, "-c", "from burnish.proc.inside import inside_phase; print(inside_phase())"]
def answer(how, **more):
    done = subprocess.run(ask, env=clean, capture_output=True, text=True, **more)
    (out / f"{role}-{how}").write_text(done.stdout.strip() or done.stderr[-300:])
answer("plainly")
answer("session", start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(0.2)
        answer("orphan")
    os._exit(0)
os.wait()
end = time.monotonic() + 20
while not (out / f"{role}-orphan").exists() and time.monotonic() < end:
    time.sleep(0.05)
"""
ROLES = ("author", "improver", "reviewer", "test", "lint", "extra", "setup", "fixer", "build")


@pytest.mark.long
@pytest.mark.parametrize("confined", [True, False], ids=["sandbox", "no sandbox"])
def test_every_role_of_a_run_is_inside_a_phase(tmp_path: Path, *, confined: bool) -> None:
    if confined:
        needs_bubblewrap()
    out = tmp_path / "answers"
    out.mkdir()
    (tmp_path / "ask.py").write_text(f"PYTHON = {sys.executable!r}\n{ASK}")

    def asking(role: str) -> str:
        return f"{sys.executable} {tmp_path / 'ask.py'} {role} {out}"

    checks = {
        "test": asking("test"),
        "lint": asking("lint"),
        "lint_fix": asking("fixer"),
        "build": asking("build"),
        "extra": {"more": {"command": asking("extra")}},
    }
    extra = f"checks: {json.dumps(checks)}\nworkspace: {json.dumps({'setup': asking('setup')})}\n"
    lab = Lab.make(tmp_path, confined=confined, extra=extra)
    call = "import subprocess\nsubprocess.run(['sh', '-c', %r])\n"
    author = "app.write_text(app.read_text() + f'# {phase} {cycle}\\n')\n"
    improver = f"if phase == 'improve':\n    subprocess.run(['sh', '-c', {asking('improver')!r}])\n"
    lab.agent("robot", author + call % asking("author") + improver)
    rejects_first = "print(verdict('changes_requested', 'no', [flaw])) if cycle == 1 else None\nif cycle > 1:\n    "
    lab.agent("judge", call % asking("reviewer") + rejects_first + APPROVE)
    lab.add()

    lab.apart("run", "1", code=None, timeout=200)

    answers = {path.name: path.read_text() for path in out.iterdir()}
    missing = {f"{role}-{how}" for role in ROLES for how in ("plainly", "session", "orphan")} - answers.keys()
    print(
        f"{len(answers)} questions, sandbox: {confined}, outside of a phase:",
        sum(a != "True" for a in answers.values()),
    )
    assert missing == set(), missing
    assert {name: text for name, text in answers.items() if text != "True"} == {}
