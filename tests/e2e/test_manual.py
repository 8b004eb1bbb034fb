"""Manual mode: each step by hand, and going on past the last cycle."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.flow import WORK_ALONE
from burnish.core.gate import Actor
from burnish.engine.commands import decide as engine
from testing.approved import app_of
from testing.byhand import ADDS_A_LINE, facts
from testing.lab import APPROVE, CRITIC, REJECT, Lab


def steps(lab: Lab) -> list[str]:
    return [call["phase"] for call in lab.calls()]


@pytest.mark.slow
def test_implement_review_improve_review_each_a_step_of_its_own(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=CRITIC)
    lab.add("Add division", "-A")
    lab.burnish("run", code=1)
    assert (lab.task()["status"], steps(lab)) == ("code_review", ["implement"])
    assert "burnish review 1" in lab.burnish("inbox").out
    lab.burnish("review", "1", code=1)
    assert (lab.task()["status"], steps(lab)) == ("code_review", ["implement", "review"])
    assert "burnish improve 1" in lab.burnish("inbox").out
    lab.burnish("run", "--all")
    assert len(steps(lab)) == 2, "nobody goes on by himself"
    lab.burnish("improve", "1", "-m", "return None for zero")
    assert (lab.task()["status"], steps(lab)) == ("code_review", ["implement", "review", "improve"])
    prompt = lab.calls()[-1]["prompt"]
    assert "return None for zero" in prompt and "Zero is not handled" in prompt
    lab.burnish("review", "1")
    assert (lab.task()["status"], lab.task()["cycle"]) == ("verified", 2)
    assert lab.commits(lab.task()["branch"])[-1] == "fix: address review feedback (cycle 2)"


def test_a_branch_in_the_users_checkout_is_refused_before_anybody_works(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE)
    lab.add("Add division")
    lab.burnish("run")
    branch, before = lab.task()["branch"], (lab.events(), len(steps(lab)))
    lab.repo.git("switch", "-q", branch)
    said = " ".join(lab.burnish("improve", "1", "-m", "shorter", code=4).err.split())
    assert f"{branch} is checked out in {lab.repo.path}" in said and "switch -" in said
    assert (lab.events(), len(steps(lab))) == before and lab.task()["status"] == "verified"
    with app_of(lab) as app:
        # an order that was given before, and not yet carried out
        engine.improve(app.event_log, 1, "shorter", Actor("user:me", "cli"), then=WORK_ALONE)
    before = lab.events(), len(steps(lab))
    lab.burnish("run", "1", code=4)
    assert (lab.events(), len(steps(lab))) == before and lab.task()["status"] == "in_progress"
    lab.burnish("run", "--all", code=3)
    assert len(steps(lab)) == before[1] and "switch -" in lab.show()["note"], "nobody is paid for what cannot be kept"
    lab.repo.git("switch", "-q", "main")
    lab.burnish("retry", "1", code=None)
    assert steps(lab)[-1] == "improve" and lab.task()["status"] == "code_review"


@pytest.mark.long
def test_past_the_maximum_it_counts_on(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=REJECT)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    assert lab.task()["final_verdict"] == "MAX_CYCLES_REACHED"
    said = lab.burnish("improve", "1", "--review", code=1)
    assert "[cycle 2 (max 1)] Improvement complete" in said.err
    assert (lab.task()["status"], lab.task()["reason"], lab.task()["cycle"]) == ("blocked", "max_cycles", 2)
    assert "cycle 2 (max 1)" in lab.burnish("show", "1").out
    lab.agent("judge", APPROVE)
    lab.burnish("improve", "1", "--review")
    assert (lab.task()["status"], lab.task()["cycle"]) == ("verified", 3)
    assert steps(lab) == ["implement", "review", "improve", "review", "improve", "review"]


@pytest.mark.long
def test_an_improve_with_a_review_stops_after_it_even_if_cycles_are_left(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge="print(verdict('needs_discussion', 'hm', [flaw]))")
    lab.add("Add division", "--max-cycles", "5")
    lab.burnish("run", code=1)
    lab.agent("judge", REJECT)
    lab.burnish("improve", "1", "--review", code=1)
    assert (lab.task()["status"], steps(lab)) == ("code_review", ["implement", "review", "improve", "review"])
    assert lab.show(1)["cycles"][1]["review_status"] == "failed"


@pytest.mark.long
def test_an_approved_task_may_be_improved_and_is_then_no_longer_approved(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE)
    lab.add()
    lab.burnish("run")
    before = facts(lab)
    assert "-m" in lab.burnish("improve", "1", code=2).err
    assert facts(lab) == before
    lab.burnish("improve", "1", "-m", "shorter names")
    assert lab.task()["status"] == "code_review" and lab.events("approval.voided")
    lab.burnish("merge", "1", code=4)
    lab.burnish("review", "1")
    lab.burnish("merge", "1")


@pytest.mark.long
def test_failing_checks_after_an_improve_by_hand_stop_it_too(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE, extra="checks: {test: 'test ! -f bad', lint: null}\n")
    lab.add("Add division", "--max-cycles", "5")
    lab.burnish("run")
    lab.agent("robot", "pathlib.Path('bad').write_text('1')")
    lab.burnish("improve", "1", "-m", "more", "--review", code=1)
    assert (lab.task()["status"], steps(lab)[-1]) == ("code_review", "improve")
    assert lab.task()["open_findings"] == 1


@pytest.mark.long
def test_what_was_never_worked_on_cannot_be_improved(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="sys.exit(9)")
    lab.add()
    before = facts(lab)
    lab.burnish("improve", "1", "-m", "x", code=4)
    assert facts(lab) == before
    lab.burnish("run", code=3)
    before = facts(lab)
    assert "retry" in lab.burnish("improve", "1", "-m", "x", code=4).err
    assert facts(lab) == before
