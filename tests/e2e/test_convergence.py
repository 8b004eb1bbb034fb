"""Rounds shrink, circles are noticed, and each end is told in a sentence that a person understands."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import REJECT, Lab

ADDS = 'app.write_text(app.read_text() + f"# {phase} {cycle}\\n")'


def stopped(lab: Lab) -> tuple[str, str, int]:
    """Reason, sentence and cycle of a blocked task; `show` tells the sentence as it is."""
    task = lab.show(1)
    assert task["status"] == "blocked", task
    assert task["note"] in " ".join(lab.burnish("show", "1").out.split())
    return task["reason"], task["note"], task["cycle"]


def test_new_warnings_outside_of_what_changed_are_only_told_from_cycle_2_on(tmp_path: Path) -> None:
    judge = """
def warn(title, line, severity="warning"):
    return {**flaw, "title": title, "line": line, "severity": severity, "description": title}
last = len(app.read_text().splitlines())
if cycle == 1:
    print(verdict("changes_requested", "first", [flaw]))
else:
    news = [warn("Old name is unclear", 1), warn("New comment is unclear", last)]
    print(verdict("approved", "second", news, prior=[{"id": "F1", "state": "resolved"}]))
"""
    lab = Lab.make(tmp_path, author=ADDS, judge=judge)
    lab.repo.commit({"app.py": "def add(a, b):\n    return a + b\n\n\nx = 1\n" + "y = 2\n" * 20})
    lab.add()
    lab.burnish("run")
    found = {f["title"]: f["severity"] for f in lab.show(1)["findings"]}
    assert found["Old name is unclear"] == "info" and found["New comment is unclear"] == "warning"


@pytest.mark.long
def test_the_same_blockers_after_two_fixes_are_a_stall(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS, judge=REJECT)
    lab.add("Add division", "--max-cycles", "9")
    lab.burnish("run", code=1)
    reason, why, cycle = stopped(lab)
    assert (reason, cycle) == ("stalled", 3)
    assert why == "Two fixes in a row did not settle F1: not yet"


@pytest.mark.long
def test_code_that_comes_back_is_a_stall_before_anyone_is_paid_to_review_it(tmp_path: Path) -> None:
    author = 'app.write_text("x = 1\\n" if cycle % 2 else "x = 2\\n")'
    judge = """
settled = [{"id": i, "state": "resolved"} for i in prior]
print(verdict("changes_requested", "no", [{**flaw, "title": f"Bad in {cycle}", "line": 1}], prior=settled))
"""
    lab = Lab.make(tmp_path, author=author, judge=judge)
    lab.add("Add division", "--max-cycles", "9")
    lab.burnish("run", code=1)
    reason, why, cycle = stopped(lab)
    assert (reason, cycle) == ("stalled", 3)
    assert why == "The agent is going in circles: cycle 3 brought back exactly the code of cycle 1."
    assert [c["phase"] for c in lab.calls()][-1] == "improve"


@pytest.mark.long
def test_an_improve_that_changes_nothing_is_a_stall(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=f'if phase == "implement": {ADDS}', judge=REJECT)
    lab.add()
    lab.burnish("run", code=1)
    reason, why, cycle = stopped(lab)
    assert (reason, cycle) == ("stalled", 2)
    assert why == "The agent was asked to fix the findings, but changed nothing and disputed none (cycle 2)."
    assert lab.task()["final_verdict"] == "CHANGES_REQUESTED"


def test_an_agent_that_does_nothing_at_all_is_told_so(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="pass", judge=REJECT)
    lab.add()
    lab.burnish("run", code=1)
    assert stopped(lab) == ("no_changes", "The agent changed nothing.", 1)


@pytest.mark.long
def test_the_last_cycle_rejected_is_max_cycles(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS, judge=REJECT)
    lab.add("Add division", "--max-cycles", "2")
    lab.burnish("run", code=1)
    reason, why, cycle = stopped(lab)
    assert (reason, cycle, lab.task()["final_verdict"]) == ("max_cycles", 2, "MAX_CYCLES_REACHED")
    assert why == "All 2 cycles are used up and it is still not approved: not yet"


@pytest.mark.long
def test_three_times_the_same_failure_on_the_same_commit_trips_the_breaker(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS, judge="sys.exit(3)")
    lab.add()
    lab.burnish("run", "1", code=3)
    lab.burnish("run", "1", code=3)
    assert lab.task()["status"] == "failed"
    lab.burnish("run", "1", code=1)
    reason, why, _ = stopped(lab)
    assert reason == "stalled" and why.startswith("The same failure 3 times in a row on the same commit: ")
    # a person who fixed the cause retries it, and it continues
    lab.agent("judge", 'print(verdict("approved", "good"))')
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"
