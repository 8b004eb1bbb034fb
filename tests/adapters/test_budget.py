"""The purse of a run: each dollar counts once, from the moment it is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.adapters.budget import BudgetTracker
from burnish.agents.base import AgentSettings
from burnish.core.agent import AgentReply, AgentRequest, Use
from burnish.core.cost import CostSource

ENTRY = AgentSettings("claude", "claude", budget_usd=5.0)


def request(task: int, call: str) -> AgentRequest:
    return AgentRequest("claude", "review", "", Path(), Path(call), task=task, cycle=1, phase="review")


def spent(budget_tracker: BudgetTracker) -> list[float]:
    """Dollars and tokens of the run, dollars of the agent."""
    return [round(limit.spent, 6) for limit in budget_tracker.limits(["claude"])]


def test_a_dollar_is_counted_once_on_its_way_to_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = [10.0, 1000]  # of earlier runs
    budget_tracker = BudgetTracker({"claude": ENTRY}, lambda: (record[0], int(record[1])), 9.0, 5000).opened()
    assert spent(budget_tracker) == [0, 0, 0]

    assert budget_tracker.using(1, "a", "claude", Use(0.5, 50)) == Use(0.5, 50)
    assert budget_tracker.using(1, "b", "claude", Use(None, 10)) == Use(0.5, 60)
    assert budget_tracker.using(1, "a", "claude", Use(0.75, 70)) == Use(0.75, 80)  # the same call, later
    assert budget_tracker.using(2, "a", "claude", Use(1.0, 5)) == Use(1.0, 5)  # another task's
    assert spent(budget_tracker) == [1.75, 85, 1.75]

    budget_tracker.paid(request(1, "a"), AgentReply("done", cost_usd=0.8, tokens=75))
    assert spent(budget_tracker) == [1.8, 90, 1.8]
    assert budget_tracker.unrecorded(1, include_answered=False) == Use(None, 10)
    assert budget_tracker.unrecorded(1, include_answered=True) == Use(0.8, 85, CostSource.UNKNOWN)

    record[:] = [10.8, 1085]  # the phase is on record
    budget_tracker.settled(1)
    assert spent(budget_tracker) == [1.8, 90, 1.8]
    assert budget_tracker.unrecorded(1, include_answered=True) == Use() and budget_tracker.unrecorded(
        2, include_answered=False
    ) == Use(1.0, 5)


def test_what_an_ended_call_has_cost_stays_with_its_agent() -> None:
    budget_tracker = BudgetTracker({"claude": ENTRY}, lambda: (0.0, 0)).opened()
    budget_tracker.using(1, "a", "claude", Use(2.0, 1))
    budget_tracker.settled(1)
    budget_tracker.using(1, "b", "claude", Use(1.0, 1))
    assert spent(budget_tracker) == [3.0]


def test_without_budgets_nobody_asks_for_the_record() -> None:
    def never() -> tuple[float, int]:
        raise AssertionError

    budget_tracker = BudgetTracker({}, never).opened()
    budget_tracker.using(1, "a", "claude", Use(1.0, 1))
    assert budget_tracker.limits(["claude"]) == ()
