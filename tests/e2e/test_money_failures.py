"""Attempts that gave no answer: their cost is on record, budgets count it, and an unknown one is never zero."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab
from testing.program import PROGRAM, put_on_path

# Spends $1.00 as Claude Code reports it while it works, in the phase that is named.
SPENDS = """
import json, os, pathlib, sys
if os.environ["BURNISH_PHASE"] == "{phase}":
    used = {{"input_tokens": 0, "output_tokens": 40_000}}
    said = {{"id": "m1", "model": "claude-opus-4-5", "content": [], "usage": used}}
    print(json.dumps({{"type": "assistant", "message": said}}), flush=True)
    count = pathlib.Path(os.path.dirname(os.environ["HOME"]), "attempts")
    earlier = len(count.read_text()) if count.exists() else 0
    count.write_text("x" * (earlier + 1))
    {failure}
"""
FIRST_IS_DAMAGED = """
if os.environ["BURNISH_PHASE"] == "{phase}" and earlier == 0:
    print('{{"type": "ass')
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.agents.runner.RetryPolicy.pause", lambda self, attempt: 0.05)


def damaged(phase: str) -> str:
    return SPENDS.format(phase=phase, failure="pass") + PROGRAM + FIRST_IS_DAMAGED.format(phase=phase)


@pytest.mark.representatives(1)
@pytest.mark.parametrize("phase", ["implement", "review"])
def test_a_line_that_makes_a_call_unreadable_does_not_hide_its_cost(tmp_path: Path, phase: str) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "", damaged(phase))
    lab.add()
    lab.burnish("run", "1")

    task = lab.task()
    # The first attempt of the phase is metered at $1.00, and so is each later call of that phase.
    calls = {"implement": 1.0 + 1.0 + 0.25 * 3, "review": 1.0 + 1.0 + 1.0 + 0.25 * 2}
    assert (task["status"], task["cost_source"]) == ("verified", "partial")
    assert task["cost_usd"] == pytest.approx(calls[phase])
    assert "+" in lab.burnish("status").out


def test_attempts_that_failed_reach_a_budget_before_the_next_one(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 1.5}", SPENDS.format(phase="implement", failure="sys.exit('529 overloaded')"))
    lab.add()
    lab.burnish("run", "1", code=1)

    task = lab.task()
    assert (task["status"], task["reason"], task["cost_usd"]) == ("blocked", "budget", 2.0)
    assert (lab.root / "attempts").read_text() == "xx"


@pytest.mark.long
def test_a_call_that_reports_at_its_end_only_and_fails_has_an_unknown_cost(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 5}", "import sys\nsys.exit('no such model')")
    lab.add()
    lab.burnish("run", "1", code=3)

    task = lab.task()
    assert (task["status"], task["cost_usd"], task["cost_source"]) == ("failed", None, "unknown")
    (warned,) = lab.events("budget.warned")
    assert warned["data"]["uncounted"] and "cannot be counted" in warned["data"]["why"]


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "text", ["import sys\nsys.exit('no such model')", SPENDS.format(phase="implement", failure="sys.exit(3)")]
)
def test_refuse_acts_on_a_failed_call_with_an_unknown_or_partial_cost(tmp_path: Path, text: str) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 5, uncounted: refuse}", text)
    lab.add()
    lab.burnish("run", "1", code=1)

    task = lab.task()
    assert (task["status"], task["reason"]) == ("blocked", "budget")
    (reached,) = lab.events("budget.reached")
    assert "cannot be counted" in reached["data"]["why"] and "Its call failed" in reached["data"]["why"]


@pytest.mark.long
def test_refuse_acts_on_an_answer_with_a_partial_cost_and_asks_no_further(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 5, uncounted: refuse}", damaged("implement"))
    lab.add()
    lab.burnish("run", "1", code=1)

    task = lab.task()
    assert (task["status"], task["reason"], task["cost_usd"]) == ("blocked", "budget", 1.0)
    assert (lab.root / "attempts").read_text() == "x"


@pytest.mark.long
def test_the_answers_of_a_review_that_fails_as_a_whole_are_paid_for(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    script = f"sleep 2; test -e {tmp_path}/repaired || exit 3; exec {sys.executable} {lab.root}/judge.py"
    settings = f"agents: {{judge: {{kind: command, argv: [sh, -c, '{script}']}}}}\nreview: {{agents: [claude, judge]}}"
    put_on_path(lab, settings, PROGRAM)
    lab.add()
    lab.burnish("run", "1", code=3)

    assert lab.task()["status"] == "failed"
    (failed,) = [e["data"] for e in lab.events("phase.failed")]
    assert (failed["phase"], failed["cost_usd"], failed["cost_source"]) == ("review", 0.25, "partial")
    assert lab.task()["cost_usd"] == 0.5
    (tmp_path / "repaired").touch()
    lab.agent("judge", APPROVE)
    lab.burnish("retry", "1")
    # claude's first review is neither paid nor counted again; it asks for a second cycle of two calls
    assert (lab.task()["status"], lab.task()["cost_usd"]) == ("verified", 1.0)


def test_an_answer_whose_work_is_not_committed_is_paid_for(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    key = "AKIA" + "Q7W3ERTYUIOPASD2"
    put_on_path(lab, "", PROGRAM + f'\npathlib.Path("key.py").write_text("key = {key!r}\\n")\n')
    lab.add()
    lab.burnish("run", "1", code=1)

    assert (lab.task()["reason"], lab.task()["cost_usd"]) == ("secret", 0.25)
