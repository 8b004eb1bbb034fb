"""The purse of a run: each dollar counts once, from the moment it is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.agents.base import AgentSettings
from burnish.core.agent import AgentReply, AgentRequest, CostSource, Use
from burnish.wiring.purse import Purse

ENTRY = AgentSettings("claude", "claude", budget_usd=5.0)


def request(task: int, call: str) -> AgentRequest:
    return AgentRequest("claude", "review", "", Path(), Path(call), task=task, cycle=1, phase="review")


def spent(purse: Purse) -> list[float]:
    """Dollars and tokens of the run, dollars of the agent."""
    return [round(limit.spent, 6) for limit in purse.limits(["claude"])]


def test_a_dollar_is_counted_once_on_its_way_to_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = [10.0, 1000]  # of earlier runs
    purse = Purse({"claude": ENTRY}, lambda: (record[0], int(record[1])), 9.0, 5000).opened()
    assert spent(purse) == [0, 0, 0]

    assert purse.using(1, "a", "claude", Use(0.5, 50)) == Use(0.5, 50)
    assert purse.using(1, "b", "claude", Use(None, 10)) == Use(0.5, 60)
    assert purse.using(1, "a", "claude", Use(0.75, 70)) == Use(0.75, 80)  # the same call, later
    assert purse.using(2, "a", "claude", Use(1.0, 5)) == Use(1.0, 5)  # another task's
    assert spent(purse) == [1.75, 85, 1.75]

    purse.paid(request(1, "a"), AgentReply("done", cost_usd=0.8, tokens=75))
    assert spent(purse) == [1.8, 90, 1.8]
    assert purse.unrecorded(1, answered=False) == Use(None, 10)
    assert purse.unrecorded(1, answered=True) == Use(0.8, 85, CostSource.UNKNOWN)

    record[:] = [10.8, 1085]  # the phase is on record
    purse.settled(1)
    assert spent(purse) == [1.8, 90, 1.8]
    assert purse.unrecorded(1, answered=True) == Use() and purse.unrecorded(2, answered=False) == Use(1.0, 5)


def test_what_an_ended_call_has_cost_stays_with_its_agent() -> None:
    purse = Purse({"claude": ENTRY}, lambda: (0.0, 0)).opened()
    purse.using(1, "a", "claude", Use(2.0, 1))
    purse.settled(1)
    purse.using(1, "b", "claude", Use(1.0, 1))
    assert spent(purse) == [3.0]


def test_without_budgets_nobody_asks_for_the_record() -> None:
    def never() -> tuple[float, int]:
        raise AssertionError

    purse = Purse({}, never).opened()
    purse.using(1, "a", "claude", Use(1.0, 1))
    assert purse.limits(["claude"]) == ()
