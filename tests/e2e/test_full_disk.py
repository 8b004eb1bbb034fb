"""An agent, a check or a set-up that fails because a disk is full: the error is DISK_FULL, and nothing else is paid."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.lab import APPROVE, AUTHOR, Lab
from testing.small_disk import fill, small_disk, why_no_mount

MOUNTED = pytest.mark.skipif(bool(why_no_mount()), reason=why_no_mount() or "-")
SILENT = "sys.exit(1)\n"
PRINTED = "sys.exit('OSError: [Errno 28] No space left on device')\n"
CHECK_WITH_WORDS = 'sh -c "echo No space left on device; exit {code}"'


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """Where temporary files go, on a disk that is full."""
    with small_disk(tmp_path / "small", megabytes=1) as place:
        fill(place)
        yield place


def assert_disk_full(lab: Lab, *, program: str) -> None:
    task = lab.task()
    assert (task["status"], task["error"]) == ("failed", "DISK_FULL"), lab.show()["note"]
    note = lab.show()["note"]
    assert note.startswith("The disk is full: ") and program in note
    assert "Free some space" in note and "burnish retry 1" in note


@pytest.mark.long
@MOUNTED
def test_an_agent_that_ends_silently_while_the_disk_is_full(tmp_path: Path, temporary: Path) -> None:
    lab = Lab.make(tmp_path / "lab", author=SILENT, judge=APPROVE)
    lab.add()
    lab.apart("run", code=3, TMPDIR=str(temporary))
    assert_disk_full(lab, program="robot")
    assert len(lab.calls()) == 1
    lab.agent("robot", AUTHOR)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"


@MOUNTED
def test_a_check_that_fails_while_the_disk_is_full_is_no_finding(tmp_path: Path, temporary: Path) -> None:
    # it passes on the base
    lab = Lab.make(tmp_path / "lab", judge=APPROVE, extra="checks: {test: '! grep -q BUG app.py', lint: null}\n")
    lab.add()
    lab.apart("run", code=3, TMPDIR=str(temporary))
    assert_disk_full(lab, program="grep")
    assert ([call["phase"] for call in lab.calls()], lab.show()["findings"]) == (["implement"], [])


@pytest.mark.long
def test_an_agent_that_prints_that_the_disk_is_full_is_not_followed_by_another_one(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=PRINTED, judge=APPROVE)
    lab.agent("other", AUTHOR)
    settings = lab.settings("")
    robot = f"robot: {{kind: command, argv: ['{sys.executable}', -I, -S, '{lab.root}/robot.py']"
    assert robot in settings
    lab.commit_settings(settings.replace(robot, f"{robot}, fallback: other"))
    lab.add()
    lab.burnish("run", code=3)
    assert_disk_full(lab, program="robot")
    assert [call["agent"] for call in lab.calls()] == ["robot"]


@pytest.mark.long
def test_a_set_up_that_prints_that_the_disk_is_full(tmp_path: Path) -> None:
    setup = CHECK_WITH_WORDS.format(code=1)
    lab = Lab.make(tmp_path, judge=APPROVE, extra=f"workspace: {{setup: '{setup}'}}\n")
    lab.add()
    lab.burnish("run", code=3)
    assert_disk_full(lab, program="workspace.setup")
    assert lab.calls() == []


@pytest.mark.long
def test_a_check_that_cannot_be_run_and_prints_that_the_disk_is_full(tmp_path: Path) -> None:
    check = CHECK_WITH_WORDS.format(code=127)
    lab = Lab.make(tmp_path, judge=APPROVE, extra=f"checks: {{test: '{check}', lint: null}}\n")
    lab.add()
    lab.burnish("run", code=3)
    assert_disk_full(lab, program="exit 127")


@pytest.mark.long
def test_a_failing_test_that_prints_such_words_is_a_finding_as_long_as_no_disk_is_full(tmp_path: Path) -> None:
    check = 'sh -c "! grep BUG app.py || { echo No space left on device; exit 1; }"'
    lab = Lab.make(tmp_path, judge=APPROVE, extra=f"checks: {{test: '{check}', lint: null}}\n")
    lab.add()
    lab.burnish("run")
    assert [finding["category"] for finding in lab.show()["findings"]] == ["test"]
