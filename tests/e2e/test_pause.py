"""`burnish pause`: no run takes the task up; one that runs ends after its phase."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, AUTHOR, Lab
from tests.e2e.test_usage_limits import limited, limits

HOLD = """
pathlib.Path(LOG).with_name("working").touch()
while not pathlib.Path(LOG).with_name("go").exists():
    time.sleep(0.02)
"""


def test_a_paused_task_is_run_by_nothing_until_it_is_unpaused(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add("First")
    lab.add("Second")
    assert lab.burnish("pause", "1").out == "Paused task 1: First (backlog)\n"
    assert "paused already" in lab.burnish("pause", "1", code=4).err
    for argv in (["run", "1"], ["retry", "1"], ["retry", "1", "--later"], ["review", "1"], ["improve", "1"]):
        assert "burnish unpause 1" in lab.burnish(*argv, code=4).err, argv
    assert lab.burnish("run", "--all", "--dry-run").out == "Would run task 2: Second\n"
    lab.burnish("run", "--all")
    assert [lab.task(number)["status"] for number in (1, 2)] == ["backlog", "verified"]
    shown = lab.burnish("status").out
    assert "backlog    paused" in shown and "burnish run" not in shown
    assert lab.burnish("list", "--ready", "--json").json["tasks"] == [] and lab.task(1)["paused"] is True
    entry = next(one for one in lab.burnish("inbox", "--json").json["inbox"] if one["id"] == "1")
    assert (entry["kind"], entry["command"]) == ("paused", "burnish unpause 1")
    assert "Next: burnish unpause 1" in lab.burnish("show", "1").out
    assert "Continue: burnish run 1" in lab.burnish("unpause", "1").err
    assert "not paused" in lab.burnish("unpause", "1", code=4).err
    lab.burnish("run", "1")
    assert lab.task(1)["status"] == "verified"
    assert "no run takes it up" in lab.burnish("pause", "1", code=4).err


def test_a_running_task_ends_after_its_phase_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=HOLD + AUTHOR, judge=APPROVE)
    lab.add()
    with lab.start("run", "1") as run:
        lab.until((lab.root / "working").exists)
        assert "ends after the phase that it is in" in lab.burnish("pause", "1").err
        assert "pauses after it" in lab.burnish("status").out
        (lab.root / "go").touch()
        _, err = run.communicate(timeout=60)
    assert run.returncode == 1 and "Task 1 is paused" in err
    assert (lab.task()["status"], lab.task()["commit"] is not None) == ("code_review", True)
    assert "paused: `burnish unpause 1`" in lab.burnish("status").out
    lab.burnish("unpause", "1")
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"
    assert [call["phase"] for call in lab.calls()] == ["implement", "review"]


@pytest.mark.slow
def test_a_run_that_stands_continues_a_task_that_is_unpaused(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=HOLD + AUTHOR, judge=APPROVE)
    lab.add()
    with lab.start("run", "--watch") as run:
        lab.until((lab.root / "working").exists)
        lab.burnish("pause", "1")
        (lab.root / "go").touch()
        lab.until(lambda: lab.task()["status"] == "code_review")
        lab.add("Another")
        lab.until(lambda: lab.task(2)["status"] == "verified")
        assert lab.task(1)["status"] == "code_review"
        lab.burnish("unpause", "1")
        lab.until(lambda: lab.task(1)["status"] == "verified")
        lab.burnish("stop")
        run.communicate(timeout=60)
    assert [call["phase"] for call in lab.calls() if call["task"] == "1"] == ["implement", "review"]


@pytest.mark.slow
def test_a_task_that_waits_for_a_usage_limit_is_paused_at_once(tmp_path: Path) -> None:
    lab = limited(tmp_path, 3600)
    with lab.start("run", "1") as run:
        lab.until(lambda: bool(limits(lab)))
        lab.burnish("pause", "1")
        _, err = run.communicate(timeout=30)
    assert lab.task()["status"] == "in_progress" and not (lab.root / "program.jsonl").exists()
    # nothing failed: the person asked for it
    assert "Implement interrupted: The task was waiting: claude's limit resets at" in err
    assert "Task 1 is paused. Let it be run again: burnish unpause 1" in err and "failed" not in err
