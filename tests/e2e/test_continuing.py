"""`improve --of ID` goes on with another task's branch."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.byhand import ADDS_A_LINE
from testing.lab import APPROVE, REJECT, Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Task 1 is verified, task 2 is to improve it."""
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE)
    lab.add("Add division")
    lab.burnish("run")
    lab.add("Improve it", "-t", "improve", "--of", "1", "-a")
    return lab


def statuses(lab: Lab) -> list[str]:
    return [lab.task(number)["status"] for number in (1, 2)]


def test_it_goes_on_with_the_branch_and_is_told_the_last_review(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=REJECT)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    lab.agent("judge", APPROVE)
    lab.add("Improve it", "-t", "improve", "--of", "1", "-a")
    lab.burnish("run", "2")
    task, other = lab.task(2), lab.task(1)
    assert (task["status"], task["base"], task["branch"]) == ("verified", other["commit"], other["branch"])
    assert other["status"] == "blocked"
    prompt = next(c["prompt"] for c in lab.calls() if c["task"] == "2")
    assert "The last review of task 1" in prompt and "Zero is not handled" in prompt
    assert lab.text(other["branch"]).count("# implement 1") == 2
    assert list(lab.refs("refs/heads/burnish")) == [f"refs/heads/{other['branch']}"]
    # each has a directory and a story of its own
    assert lab.burnish("path", "1").out != lab.burnish("path", "2").out
    assert len(lab.refs("refs/burnish/artifacts")) == 2


@pytest.mark.long
def test_both_are_judged_as_they_are_then_merged_one_after_the_other(lab: Lab) -> None:
    lab.burnish("run", "2")
    assert statuses(lab) == ["code_review", "verified"]
    assert [e["task"] for e in lab.events("approval.voided")] == ["1"]
    before = lab.repo.git("rev-parse", "main")
    refused = lab.burnish("merge", "2", code=4)
    assert "continues the branch of task 1" in refused.err and "burnish review 1" in refused.err
    assert lab.repo.git("rev-parse", "main") == before
    lab.burnish("run", "1")
    assert statuses(lab) == ["verified", "verified"]
    assert [c["phase"] for c in lab.calls() if c["task"] == "1"] == ["implement", "review", "review"]
    lab.burnish("merge", "--all-verified", "--delete-branch")
    assert statuses(lab) == ["completed", "completed"]
    assert lab.text("main").count("# implement 1") == 2 and not lab.refs("refs/heads/burnish")


@pytest.mark.slow
def test_work_on_the_first_takes_the_approval_of_the_second_back(lab: Lab) -> None:
    lab.burnish("run", "2")
    lab.burnish("run", "1")
    lab.burnish("improve", "1", "-m", "once more")
    assert lab.task(2)["status"] == "code_review"
    lab.burnish("merge", "2", code=4)


@pytest.mark.long
def test_while_one_is_run_the_other_is_refused(lab: Lab) -> None:
    lab.agent("robot", "time.sleep(60)")
    with lab.start("run", "2") as running:
        lab.until(lambda: len([c for c in lab.calls() if c["task"] == "2"]) == 1)
        for argv in (("run", "1"), ("retry", "1", "--restart"), ("run", "2")):
            said = lab.burnish(*argv, code=4)
            assert "Task 2 is being run by" in said.err and f"pid {running.pid}" in said.err, argv
        running.terminate()
        running.communicate(timeout=60)
    assert lab.task(1)["status"] == "verified"


@pytest.mark.long
def test_beginning_anew_leaves_the_branch_to_its_owner(lab: Lab) -> None:
    lab.burnish("run", "2")
    tip = lab.refs("refs/heads/burnish")
    lab.burnish("retry", "2", "--restart")
    # the new run starts from what is there, the old tip has a name
    assert lab.task(2)["base"] in tip.values()
    assert any("continues" in ref for ref in lab.refs("refs/burnish/rescue"))
    assert lab.text(lab.task(1)["branch"]).count("# implement 1") == 3


@pytest.mark.long
def test_a_branch_that_is_not_there_yet_is_waited_for_by_name(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE)
    lab.add("First")
    lab.add("Improve it", "-t", "improve", "--of", "1")
    lab.burnish("run", "2", code=3)
    assert "burnish run 1" in lab.show(2)["note"]
    lab.burnish("run", "1")
    lab.burnish("run", "2", code=1)
    assert lab.task(2)["branch"] == lab.task(1)["branch"]


@pytest.mark.long
def test_run_side_by_side_the_second_waits_for_the_first(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE)
    lab.add("First")
    lab.add("Improve it", "-t", "improve", "--of", "1", "-a")
    said = lab.burnish("run", "--all", "-j", "2", code=None)
    assert "Task 2 waits for task 1" in said.err
    # the first is judged as it is now, before the run ends
    assert statuses(lab) == ["verified", "verified"]
    assert len(lab.events("approval.voided")) == 1
    assert lab.task(2)["branch"] == lab.task(1)["branch"]


@pytest.mark.long
def test_what_is_merged_already_is_begun_from(lab: Lab) -> None:
    lab.burnish("merge", "1")
    lab.burnish("run", "2")
    task = lab.task(2)
    assert (task["branch"], task["base"]) == ("burnish/2-continues-1", lab.repo.git("rev-parse", "main"))


@pytest.mark.long
def test_with_all_it_waits_for_the_one_it_continues_whatever_its_priority(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE)
    lab.add("Add division")
    lab.add("Improve it", "-t", "improve", "--of", "1", "-a", "--priority", "9")
    lab.burnish("run", "--all", code=None)
    assert [c["task"] for c in lab.calls() if c["phase"] == "implement"] == ["1", "2"]
    assert lab.task(2)["status"] == "verified" and lab.task(2)["branch"] == lab.task(1)["branch"]
