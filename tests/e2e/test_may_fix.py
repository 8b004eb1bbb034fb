"""A reviewer that is allowed to fix what it finds: its edits are judged like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, AUTHOR, Lab
from testing.terminal import terminal

FIXES = """
text = app.read_text()
if "# BUG" in text and "You may fix what you find" in prompt:
    app.write_text(text.replace("a / b  # BUG", "a / b if b else None"))
    print(verdict("approved", "fixed the division"))
elif "# BUG" in text:
    print(verdict("changes_requested", "one error", [flaw]))
else:
    print(verdict("approved", "good"))
"""
MAY = "review: {agents: [judge], may_fix: true}\n"
COUNTS = "checks: {test: null, lint: null, extra: {count: 'echo $(git rev-parse --short HEAD 2>/dev/null) run'}}\n"


@pytest.mark.slow
def test_edits_are_a_commit_of_their_own_checked_again_and_read_by_one_who_may_not_edit(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=FIXES, extra=MAY + COUNTS)
    lab.add()
    lab.burnish("run")
    task = lab.show(1)
    assert (task["status"], task["review_status"], task["cycle"]) == ("verified", "fixed", 1)
    assert lab.phases_committed(task["branch"]) == [("1", "implement"), ("1", "review-fix")]
    assert "# BUG" not in lab.text(task["branch"])
    assert [(c["agent"], "You may fix" in c["prompt"]) for c in lab.calls()] == [
        ("robot", False),
        ("judge", True),
        ("judge", False),
    ]
    (cycle,) = task["cycles"]
    phases = [p["phase"] for p in cycle["phases"] if p["state"] == "finished"]
    assert phases == ["implement", "check", "review-fix", "check", "review"]
    assert cycle["review_status"] == "fixed"
    assert task["approval"]["commit"] == task["commit"] == lab.refs("refs/heads/burnish/").popitem()[1]
    body = lab.repo.git("log", "-1", "--format=%B", task["branch"])
    assert "Burnish-Phase: review-fix" in body and "Burnish-Agent: judge" in body


FIRST_WORDS = {
    "rejected": 'verdict("rejected", "the approach is wrong")',
    "discussion": 'verdict("needs_discussion", "which of the two?")',
    "blocking": 'verdict("changes_requested", "stop", [flaw], blocking=True)',
    "unreadable": '"Verdict: REJECTED"',
}


@pytest.mark.attacks("a reviewer that may fix rejects, changes the code and approves later", len(FIRST_WORDS))
@pytest.mark.parametrize("words", FIRST_WORDS.values(), ids=list(FIRST_WORDS))
def test_a_reviewer_that_wants_a_person_fixes_nothing(tmp_path: Path, words: str) -> None:
    first = f'app.write_text(app.read_text() + "# fixed\\n"); print({words})'
    judge = f"if 'You may fix what you find' in prompt:\n    {first}\nelse: {APPROVE}"
    lab = Lab.make(tmp_path, judge=judge, extra=MAY)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    task = lab.task()
    assert task["status"] == "blocked"
    assert "# fixed" not in lab.text(task["branch"])
    assert lab.refs("refs/burnish/rescue/"), "its edits are kept"


@pytest.mark.long
def test_one_that_mends_nothing_has_reviewed_and_is_not_asked_twice(tmp_path: Path) -> None:
    lab = Lab.make(
        tmp_path,
        judge='print(verdict("changes_requested", "one", [flaw]) if cycle == 1 else verdict("approved", "ok"))',
        extra=MAY,
    )
    lab.add()
    lab.burnish("run")
    assert [(c["cycle"], c["agent"]) for c in lab.calls()] == [(1, "robot"), (1, "judge"), (2, "robot"), (2, "judge")]
    task = lab.show(1)
    assert (task["status"], task["review_status"]) == ("verified", "passed")
    assert task["findings"][0]["state"] == "resolved"


def test_its_own_approval_does_not_count_for_what_it_fixed(tmp_path: Path) -> None:
    worse = """
if "You may fix what you find" in prompt:
    app.write_text(app.read_text() + "import os\\n")
    print(verdict("approved", "all is well now"))
else:
    print(verdict("changes_requested", "what is this import for?", [{**flaw, "title": "Unused import"}]))
"""
    lab = Lab.make(tmp_path, judge=worse, extra=MAY)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    assert lab.task()["status"] == "blocked"


@pytest.mark.long
def test_with_a_panel_nobody_mends(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=FIXES)
    lab.agent("second", APPROVE)
    lab.settle("review: {agents: [judge, second], may_fix: true}\n")
    lab.add()
    lab.burnish("run")
    assert not any("You may fix" in c["prompt"] for c in lab.calls())
    assert [p for _, p in lab.phases_committed(lab.task()["branch"])] == ["implement", "improve"]


@pytest.mark.long
@pytest.mark.parametrize("point", ["fix-started", "fix-replied", "fix-committed", "fix-finished"])
def test_a_runner_killed_meanwhile_pays_for_nothing_twice(tmp_path: Path, point: str) -> None:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=FIXES, extra=MAY)
    lab.add()
    lab.apart("run", code=-9, BURNISH_FAILPOINT=point)
    lab.burnish("run")
    task = lab.task()
    assert (task["status"], task["review_status"]) == ("verified", "fixed")
    assert [(c["agent"], "You may fix" in c["prompt"]) for c in lab.calls("end")] == [
        ("robot", False),
        ("judge", True),
        ("judge", False),
    ]
    assert lab.phases_committed(task["branch"]) == [("1", "implement"), ("1", "review-fix")]


REPORTS = """
text = app.read_text()
if "You may fix what you find" in prompt:
    app.write_text(text.replace("a / b  # BUG", "a / b if b else None"))
    print(verdict("approved", "guarded the division", [flaw, {**flaw, "title": "No docstring", "line": 3}]))
else:
    print(verdict("approved", "good"))
"""


@pytest.mark.long
def test_what_the_reviewer_fixed_is_on_record_as_findings_and_counted_in_status(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=REPORTS, extra=MAY)
    lab.add()
    lab.burnish("run")
    task = lab.show(1)
    assert (task["status"], task["review_status"], task["issues_fixed"]) == ("verified", "fixed", 2)
    assert "review: fixed, 2 issues" in lab.burnish("status").out
    assert [(f["title"], f["state"]) for f in task["findings"]] == [
        ("Zero is not handled", "resolved"),
        ("No docstring", "resolved"),
    ]
    assert all("fixed by the reviewer" in f["note"] for f in task["findings"])
    assert "Zero is not handled" in lab.burnish("findings", "1").out
    artifact = lab.burnish("show", "review-cycle://1/review-cycle-1.md").out
    assert "Changed by the Reviewer" in artifact and "guarded the division" in artifact
    assert "Zero is not handled" in artifact
    assert "guarded the division" in lab.burnish("show", "1").out


@pytest.mark.long
def test_what_a_fixing_reviewer_leaves_open_has_to_be_ruled_on(tmp_path: Path) -> None:
    judge = REPORTS.replace('verdict("approved", "guarded', 'verdict("changes_requested", "guarded')
    silent = judge.replace('print(verdict("approved", "good"))', 'prior = []; print(verdict("approved", "good"))')
    lab = Lab.make(tmp_path, judge=silent, extra=MAY)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    assert lab.task()["status"] == "blocked"
    assert {f["state"] for f in lab.show(1)["findings"]} == {"open"}


@pytest.mark.long
def test_the_gate_says_what_the_reviewer_changed(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=REPORTS, extra=MAY)
    lab.add()
    with terminal(lab, "run", "--hitl-review") as screen:
        screen.answer("a")
        assert screen.ended() == 0, screen.plain
    assert "Verdict: REVIEW_FIXED (auto-fixed 2 issues)" in screen.plain
    assert "The reviewer changed the code: guarded the division" in screen.plain
    assert "FIXED: F1 Zero is not handled" in screen.plain
