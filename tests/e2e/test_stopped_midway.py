"""A loop that stops before it is decided: what is said of it, and where it can be found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, AUTHOR, CRITIC, REJECT, Lab

FAILS_TO_FIX = AUTHOR.replace("else:\n    app", "else:\n    sys.exit(3)\n    app")


def inbox_kinds(lab: Lab) -> dict[str, tuple[str, str]]:
    return {one["id"]: (one["kind"], one["command"]) for one in lab.burnish("inbox", "--json").json["inbox"]}


def test_a_failed_improve_after_a_rejection_ends_with_changes_requested(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=FAILS_TO_FIX)
    lab.add()
    lab.burnish("run", code=3)
    task = lab.task()
    assert (task["status"], task["error"]) == ("failed", "AGENT_FAILED")
    assert (task["final_verdict"], task["review_status"]) == ("CHANGES_REQUESTED", "failed")
    assert "CHANGES_REQUESTED" in lab.burnish("status").out


@pytest.mark.long
def test_a_first_phase_that_fails_has_no_verdict(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="sys.exit(3)")
    lab.add()
    lab.burnish("run", code=3)
    assert lab.task()["final_verdict"] is None


@pytest.mark.slow
def test_a_killed_run_is_found_in_inbox_list_and_next(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add()
    lab.apart("run", code=-9, BURNISH_FAILPOINT="work-started:2")
    task = lab.task()
    assert (task["status"], task["final_verdict"]) == ("in_progress", "CHANGES_REQUESTED")
    assert inbox_kinds(lab) == {"1": ("interrupted", "burnish run 1")}
    assert [one["id"] for one in lab.burnish("list", "--ready", "--json").json["tasks"]] == ["1"]
    assert "Next: burnish run 1" in lab.burnish("status").out
    assert "Next: burnish run 1" in lab.burnish("show", "1").out
    lab.burnish("run")
    assert lab.task()["final_verdict"] == "APPROVED"


@pytest.mark.long
def test_a_manual_task_that_was_rejected_says_so_and_names_improve(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=CRITIC)
    lab.add("Add division", "-A")
    lab.burnish("run", "1", code=None)
    assert (lab.task()["waits_for"], lab.task()["final_verdict"]) == ("review", None)
    assert "Next: burnish review 1" in lab.burnish("status").out
    lab.burnish("review", "1", code=1)
    task = lab.task()
    assert (task["final_verdict"], task["review_status"], task["waits_for"]) == (
        "CHANGES_REQUESTED",
        "failed",
        "improve",
    )
    assert "CHANGES_REQUESTED" in lab.burnish("status").out and "review: failed" in lab.burnish("status").out
    assert "Next: burnish improve 1" in lab.burnish("show", "1").out
    assert inbox_kinds(lab) == {"1": ("review", "burnish improve 1")}
    lab.burnish("improve", "1", "--review")
    assert (lab.task()["status"], lab.task()["waits_for"]) == ("verified", None)


@pytest.mark.long
def test_what_a_person_rejected_leaves_the_inbox(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra="approval: required\n")
    lab.add()
    lab.burnish("run", code=1)
    assert inbox_kinds(lab)["1"][0] == "waiting_approval"
    lab.burnish("decide", "1", "reject")
    assert inbox_kinds(lab) == {} and "Nothing waits for you" in lab.burnish("inbox").out
    assert "Next: burnish show 1" not in lab.burnish("status").out
    assert "burnish retry 1" in lab.burnish("show", "1").out


@pytest.mark.long
def test_a_handoff_says_that_it_voids_the_approval_and_marks_the_task(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add()
    lab.burnish("run")
    assert "The approval of task 1 is void" in lab.burnish("handoff", "1").err
    assert lab.task()["waits_for"] == "outside"
    assert "handed to a reviewer outside" in lab.burnish("status").out
    assert inbox_kinds(lab) == {"1": ("review", "burnish review 1 --from FILE")}
    assert "burnish review 1 --from FILE" in lab.burnish("show", "1").out
    assert "is void" not in lab.burnish("handoff", "1").err


@pytest.mark.long
@pytest.mark.parametrize(("author", "judge"), [(AUTHOR, 'print("fine")'), ('print("no")', REJECT)])
def test_what_no_review_judged_has_no_verdict_however_often_it_is_tried(
    author: str, judge: str, tmp_path: Path
) -> None:
    lab = Lab.make(tmp_path, author=author, judge=judge)
    lab.add()
    lab.burnish("run", "1", code=1)
    lab.burnish("retry", "1", code=1)

    assert lab.task()["reason"] in ("unreadable_review", "no_changes")
    assert lab.task()["final_verdict"] is None


@pytest.mark.long
@pytest.mark.parametrize(("author", "judge", "place"), [
    (AUTHOR, 'print("fine")', "review-started"),
    ('print("no")', REJECT, "work-started"),
    (AUTHOR, "sys.exit(3)", "review-started"),
])  # fmt: skip
def test_a_retry_that_is_killed_has_no_verdict_where_no_review_judged(
    author: str, judge: str, place: str, tmp_path: Path
) -> None:
    lab = Lab.make(tmp_path, author=author, judge=judge)
    lab.add()
    lab.burnish("run", "1", code=None)
    lab.apart("retry", "1", code=-9, BURNISH_FAILPOINT=place)

    task = lab.task()
    assert task["status"] in ("in_progress", "code_review")
    assert (task["final_verdict"], task["review_status"]) == (None, None)


@pytest.mark.long
def test_a_killed_retry_of_an_unreadable_review_has_the_verdict_of_the_one_before(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge='print(verdict("changes_requested", "no", [flaw]) if cycle == 1 else "fine")')
    lab.add()
    lab.burnish("run", "1", code=1)
    lab.apart("retry", "1", code=-9, BURNISH_FAILPOINT="review-started")

    assert lab.task()["final_verdict"] == "CHANGES_REQUESTED"


@pytest.mark.long
def test_a_review_that_cannot_be_read_leaves_the_verdict_of_the_one_before(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge='print(verdict("changes_requested", "no", [flaw]) if cycle == 1 else "fine")')
    lab.add()
    lab.burnish("run", "1", code=1)

    assert (lab.task()["reason"], lab.task()["final_verdict"]) == ("unreadable_review", "CHANGES_REQUESTED")


@pytest.mark.long
def test_a_task_that_a_review_from_outside_sent_back_is_not_called_interrupted(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add()
    lab.burnish("run", "1")
    (tmp_path / "review.md").write_text("Verdict: CHANGES_REQUESTED\n\n- app.py:1 handle zero\n")
    lab.burnish("review", "1", "--from", str(tmp_path / "review.md"), code=1)

    inbox = lab.burnish("inbox").out
    assert "sent back, not fixed yet" in inbox and "interrupted" not in inbox
    assert "burnish run 1" in inbox


@pytest.mark.long
def test_what_a_reviewer_wrote_is_shown_where_it_did_not_approve(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge='print("Please rewrite the loop.")')
    lab.add()
    lab.burnish("run", "1", code=1)

    page = lab.burnish("show", "1").out
    assert "reviewer: Please rewrite the loop." in page
    # the same command as in the inbox comes first
    assert "Next: burnish review 1" in page and "burnish retry 1" in page
