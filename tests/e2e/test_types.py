"""plan, review and improve tasks, each to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.byhand import ADDS_A_LINE
from testing.lab import APPROVE, CRITIC, REJECT, Lab
from testing.terminal import terminal


def test_a_plan_is_text_that_its_dependents_receive(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author='print("First A, then B.") if task == "1" else None\n' + ADDS_A_LINE)
    lab.add("Think first", "-t", "plan")
    lab.add("Do it", "--depends-on", "1")
    lab.burnish("run", "--all")
    assert [lab.task(n)["status"] for n in (1, 2)] == ["completed", "verified"]
    assert lab.commits(lab.task(1)["branch"] or "main") == []
    assert "First A, then B." in next(c["prompt"] for c in lab.calls() if c["task"] == "2")


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("judge", "final", "status"),
    [
        (APPROVE, "APPROVED", "passed"),
        (REJECT, "CHANGES_REQUESTED", "failed"),
        ("print(verdict('rejected'))", "REJECTED", "rejected"),
    ],
    ids=["approved", "changes", "rejected"],
)
def test_a_review_task_reviews_a_branch_once_and_changes_nothing(
    tmp_path: Path, judge: str, final: str, status: str
) -> None:
    lab = Lab.make(tmp_path, judge=judge, author="sys.exit(9)")
    lab.repo.git("checkout", "-q", "-b", "feature")
    lab.repo.commit({"app.py": "def add(a, b):\n    return a - b\n"})
    lab.repo.git("checkout", "-q", "main")
    lab.add("Look at feature", "-t", "review", "--base", "feature")
    before = lab.repo.fingerprint()
    lab.burnish("run")
    task = lab.show(1)
    assert (task["status"], task["final_verdict"], task["review_status"]) == ("completed", final, status)
    assert [c["phase"] for c in lab.calls()] == ["review"] and "return a - b" in lab.calls()[0]["prompt"]
    assert task["findings"] == [] or task["findings"][0]["title"] == "Zero is not handled"
    assert lab.repo.fingerprint() == before


@pytest.mark.long
def test_a_review_task_compares_the_branch_that_is_checked_out_with_its_base(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author="sys.exit(9)")
    lab.repo.git("checkout", "-q", "-b", "feature")
    lab.repo.commit({"app.py": "def add(a, b):\n    return b + a\n"})
    lab.add("Look at it", "-t", "review", "--base", "main")
    lab.burnish("run")
    assert lab.task()["status"] == "completed" and "return b + a" in lab.calls()[0]["prompt"]


@pytest.mark.long
def test_a_review_task_with_nothing_to_review_says_so(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add("Look at nothing", "-t", "review", "--base", "main")
    said = lab.burnish("run", code=3)
    assert "nothing to review" in said.out and lab.calls() == []


@pytest.mark.long
def test_the_branch_of_a_task_can_be_reviewed_once_more_by_a_review_task(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=CRITIC)
    lab.add()
    lab.burnish("run")
    lab.add("Look again", "-t", "review", "--of", "1")
    lab.burnish("run", "2")
    assert lab.task(2)["status"] == "completed"
    assert (lab.calls()[-1]["phase"], "div_1" in lab.calls()[-1]["prompt"]) == ("review", True)


PLANNER = """
print("Plan B: with logging." if "please log" in prompt else "Plan A: first one, then two.")
"""


@pytest.mark.long
def test_show_of_a_plan_shows_the_plan(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=PLANNER)
    lab.add("Think first", "-t", "plan")
    lab.burnish("run")
    assert "Plan A: first one, then two." in lab.burnish("show", "1").out
    assert lab.show(1)["plan_text"].strip() == "Plan A: first one, then two."


@pytest.mark.slow
def test_a_plan_waits_for_approval_and_is_written_again_with_a_note(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=PLANNER, extra="approval: required\n")
    lab.add("Think first", "-t", "plan")
    lab.add("Do it", "--depends-on", "1")
    lab.burnish("run", "1", code=1)
    assert (lab.task()["status"], lab.show(1)["note"]) == (
        "waiting_approval",
        "a person is to approve the plan (approval: required)",
    )
    assert "waits for 1" in lab.burnish("status").out
    lab.burnish("decide", "1", "fix", code=2)
    lab.burnish("decide", "1", "fix", "-m", "please log")
    line = lab.burnish("status").out
    assert 'sent back with "please log": `burnish run 1`' in line and "interrupted" not in line
    assert "sent back, not fixed yet: please log" in lab.burnish("inbox").out
    lab.burnish("run", "1", code=1)
    assert "Plan A" in lab.calls()[-1]["prompt"]
    assert lab.show(1)["plan_text"].strip() == "Plan B: with logging."
    lab.burnish("decide", "1", "approve")
    assert (lab.task()["status"], lab.task()["final_verdict"]) == ("completed", "APPROVED")
    assert lab.burnish("list", "--ready", "--json").json["tasks"][0]["id"] == "2"


@pytest.mark.long
def test_a_plan_can_be_rejected(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=PLANNER, extra="approval: required\n")
    lab.add("Think first", "-t", "plan")
    lab.burnish("run", code=1)
    lab.burnish("decide", "1", "reject", "-m", "not now")
    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "human_rejected")
    lab.burnish("retry", "1", code=1)
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.long
def test_a_plan_is_approved_on_a_terminal_without_questions_about_a_review(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=PLANNER, extra="approval: required\n")
    lab.add("Think first", "-t", "plan")
    lab.burnish("run", code=1)
    with terminal(lab, "decide", "1", "approve") as screen:
        assert screen.ended() == 0, screen.plain
    assert lab.task()["status"] == "completed"
