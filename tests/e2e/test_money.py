"""Budgets of a task, a run and an agent: reached means blocked, with all that was done kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.budget import Limit
from testing.lab import Lab
from testing.program import put_on_path


@pytest.mark.parametrize(
    ("settings", "argv", "name", "phases"),
    [
        ("budget: {task_usd: 0.5}", (), "budget.task_usd", ["implement", "review"]),
        ("budget: {session_usd: 0.3}", (), "budget.session_usd", ["implement", "review"]),
        ("", ("--budget", "0.25"), "budget.session_usd", ["implement"]),
        ("budget: {session_tokens: 300}", (), "budget.session_tokens", ["implement", "review", "improve"]),
        ("agents: {claude: {budget_usd: 0.6}}", (), "agents.claude.budget_usd", ["implement", "review", "improve"]),
    ],
)
def test_a_budget_that_is_reached_blocks_and_keeps_the_work(
    tmp_path: Path, settings: str, argv: tuple[str, ...], name: str, phases: list[str]
) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, settings)
    lab.add()
    lab.burnish("run", "1", *argv, code=1)

    task = lab.task()
    assert (task["status"], task["reason"], task["cost_usd"]) == ("blocked", "budget", 0.25 * len(phases))
    (reached,) = lab.events("budget.reached")
    assert name in reached["data"]["why"]
    done = [e["data"]["phase"] for e in lab.events("phase.finished") if e["data"]["phase"] != "check"]
    assert done == phases
    assert "BUG" in lab.text(task["branch"]) or "improve" in phases


def test_what_was_done_is_not_paid_again_with_a_new_budget(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "agents: {claude: {budget_usd: 0.5}}")
    lab.add()
    lab.burnish("run", "1", code=1)
    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "budget")
    lab.burnish("retry", "1")  # a run of its own: the agent's budget begins anew
    assert (lab.task()["status"], lab.task()["cost_usd"]) == ("verified", 1.0)


def test_four_fifths_are_told_once(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 0.6, session_usd: 0.62}\nagents: {claude: {budget_usd: 0.61}}")
    lab.add()
    said = lab.burnish("run", "1", code=1)
    warned = [e["data"]["budget"] for e in lab.events("budget.warned")]
    assert warned == ["budget.task_usd", "budget.session_usd", "agents.claude.budget_usd"]
    assert "Budget: the task has cost $0.50 of $0.60" in said.err
    assert "$0.75" in lab.burnish("status").out


def test_a_limit_speaks_in_its_own_unit() -> None:
    assert Limit("budget.task_usd", "the task", 0.8, 1.0).near
    assert not Limit("budget.task_usd", "the task", 0.79, 1.0).near
    tokens = Limit("budget.task_tokens", "the task", 10, 10, tokens=True)
    assert tokens.reached and tokens.words == "the task has used 10 of 10 tokens (budget.task_tokens)"
