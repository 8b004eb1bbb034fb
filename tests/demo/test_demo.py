"""`burnish demo`, as a newcomer runs it."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cli.main import main
from burnish.core.status import Reason, Status
from burnish.core.task import Spec, Task
from burnish.demo import stage
from burnish.demo.stage import TASKS, summarize, unexpected_outcomes
from testing.userrepo import UserRepo
from tools.record import FILE, record

Capture = pytest.CaptureFixture[str]
DEMO = [sys.executable, "-m", "burnish.cli", "demo"]


def drawn(svg: str) -> list[str]:
    """The lines of a recording, without indent and the empty ones."""
    rows = re.findall(r"<g .*?</g>", svg, re.DOTALL)
    return [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", row)).split()) for row in rows]


def anywhere(lines: list[str]) -> list[str]:
    """Without what differs by machine: whether there is a sandbox."""
    return [line for line in lines if not line.startswith("Agents and checks run")]


@pytest.mark.slow
def test_on_a_terminal_it_prints_what_the_recording_in_the_readme_shows(hermetic: Path) -> None:
    before = sorted(hermetic.rglob("*"))
    code, lines = record(DEMO)
    assert code == 0, "\n".join(line.text for line in lines)
    shown = [" ".join(line.text.split()) for line in lines if line.text]
    assert anywhere(drawn(FILE.read_text("utf-8"))) == anywhere(shown), "run .venv/bin/python -m tools.record"
    # nothing of the person's: no home, no settings
    assert sorted(hermetic.rglob("*")) == before


@pytest.mark.long
def test_kept_it_can_be_looked_at_with_the_commands_that_it_prints(tmp_path: Path) -> None:
    done = subprocess.run([*DEMO, "--dir", str(tmp_path / "it's here")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[2/3] Review: APPROVED" in done.stderr and "1 failed (1 new), 1 fixed" in done.stderr

    commands = done.stdout.partition("Explore it:\n")[2].splitlines()
    assert len(commands) == 9, done.stdout
    env = {key: value for key, value in os.environ.items() if key != "BURNISH_HOME"}
    script = "\n".join(["set -e", *commands, "burnish status --json"])
    tried = subprocess.run(["/bin/sh", "-c", script], env=env, capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stdout + tried.stderr
    ended = json.loads(tried.stdout.splitlines()[-1])["tasks"]
    assert [task["status"] for task in ended] == ["completed", "verified", "verified"]
    assert "Undefined name `BadParcel`" in tried.stdout and "+class BadParcel(ValueError):" in tried.stdout


def one_task(monkeypatch: pytest.MonkeyPatch, plan: stage.Planned) -> None:
    monkeypatch.setattr(stage, "TASKS", (plan,))


@pytest.mark.long
def test_a_demo_that_ends_otherwise_is_a_failed_self_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    one_task(monkeypatch, replace(TASKS[0], cycles=2))
    assert main(["demo", "--json", "--dir", str(tmp_path / "demo")]) == 3
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert said["ok"] is False and said["wrong"] == ["task 1 is verified in cycle 1 and should be verified in cycle 2"]
    assert "did not end as expected: task 1 is verified in cycle 1" in err
    assert said["directory"] == str(tmp_path / "demo") and (tmp_path / "demo" / "postage" / ".git").is_dir()


@pytest.mark.slow
def test_it_leaves_nothing_behind_and_the_settings_of_the_person_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    one_task(monkeypatch, TASKS[0])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # would end everything after the first phase
    monkeypatch.setenv("BURNISH__REVIEW__AGENTS", '["nobody"]')
    assert main(["demo", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert os.environ["BURNISH__REVIEW__AGENTS"] == '["nobody"]'
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


@pytest.mark.long
def test_ctrl_c_ends_it_and_cleans_up(tmp_path: Path) -> None:
    env = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(DEMO, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        while "Implementing" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "$ burnish run 2" not in out
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_a_directory_that_is_in_use_is_not_touched(user_repo: UserRepo, capsys: Capture) -> None:
    before = user_repo.fingerprint()
    assert main(["demo", "--dir", str(user_repo.path)]) == 2
    assert "not empty" in capsys.readouterr().err
    assert user_repo.fingerprint() == before


def test_every_way_to_end_otherwise_is_noticed() -> None:
    good = [
        Task("p", 1, Spec("a"), Status.VERIFIED, cycle=1),
        Task("p", 2, Spec("b"), Status.VERIFIED, cycle=2),
        Task("p", 3, Spec("c"), Status.BLOCKED, reason=Reason.GUARD, cycle=2),
    ]
    assert unexpected_outcomes(good) == []
    assert unexpected_outcomes(good[:2]) == ["task 3 is missing and should be blocked (guard) in cycle 2"]
    for number, changes in ((0, {"cycle": 2}), (1, {"status": Status.FAILED}), (2, {"reason": Reason.MAX_CYCLES})):
        ended = [replace(task, **changes) if n == number else task for n, task in enumerate(good)]
        assert len(unexpected_outcomes(ended)) == 1


def test_the_summary_comes_from_the_record() -> None:
    finding = {"id": "F4", "severity": "error", "category": "code", "file": "a.py", "line": 7, "title": "Wrong"}
    finding |= {"reviewers": ["check:lint"], "first_cycle": 2, "state": "open"}
    check = {"name": "test", "new": ["tests/test_a.py::b"], "old": ["tests/test_a.py::c"], "fixed": []}
    story = {"cycles": [{"number": 1, "checks": [check]}, {"number": 2, "checks": [check]}], "findings": [finding]}
    story |= {"status": "failed", "reason": None, "error": "TIMEOUT", "cycle": 2, "note": "it took too long"}
    assert summarize(story) == [
        "new failure in cycle 2: test_a.py::b",
        "not blamed, failed before: test_a.py::c",
        "F4 a.py:7 Wrong (found in cycle 2 by lint; open)",
        "failed (TIMEOUT) after 2 cycles: it took too long",
    ]
