"""Statistics counted by hand, and laws that hold for any past."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.finding import Category, FindingState, Severity
from burnish.views.cost import CostView
from burnish.views.reviewer_stats import Fate
from burnish.views.stats import StatsView, cost_json, stats, stats_json
from testing.long_forms import examples
from testing.tales import NOON, Tale, Teller

JUDGE = {"agent": "judge", "model": "m1", "verdict": "changes_requested", "cost_usd": 0.25, "tokens": 100}
OTHER = {"agent": "static", "model": None, "verdict": "approved", "cost_usd": None, "tokens": 0}


@pytest.fixture
def teller(tmp_path: Path) -> Iterator[Teller]:
    teller = Teller.at(tmp_path / "burnish-home", tmp_path / "app")
    yield teller
    teller.store.close()


def seen(teller: Teller, days: int | None = None) -> StatsView:
    return stats(teller.store, [teller.project], now=teller.clock.now, days=days)


def told(teller: Teller) -> None:
    """One task approved in cycle 2, one accepted by a person in cycle 1, one stopped, one that nobody touched."""
    first = teller.add("First")
    first.begin()
    first.phase("implement", 100, agent="robot", model="big", cost_usd=1.0, tokens=1000, commit="1" * 40)
    first.to("code_review")
    first.phase("check", 10, checks=[])
    first.review("changes_requested", [JUDGE, OTHER])
    first.finding("judge", state=FindingState.RESOLVED)
    first.finding("judge", "static", state=FindingState.WAIVED, category=Category.TEST, severity=Severity.WARNING)
    first.finding("judge", state=FindingState.RESOLVED, note="withdrawn: it is fine", severity=Severity.INFO)
    first.again()
    first.phase("improve", 50, agent="robot", model="big", cost_usd=0.5, tokens=500, commit="2" * 40)
    first.to("code_review")
    first.review("approved", [{**JUDGE, "verdict": "approved"}])
    first.accepted()
    second = teller.add("Second")
    second.begin()
    second.phase("implement", 20, agent="robot", model="small", cost_usd=None, tokens=7, commit="3" * 40)
    second.review(None, [{**JUDGE, "verdict": None}])
    second.accepted(by="user:ada")
    third = teller.add("Third")
    third.begin()
    third.phase("implement", 5, failed=True, error="AGENT_FAILED")
    third.to("failed", error="AGENT_FAILED")
    teller.add("Fourth")


def test_the_numbers_are_those_counted_by_hand(teller: Teller) -> None:
    told(teller)
    view = seen(teller)
    assert (view.tasks.total, view.runs.approved, view.runs.stopped) == (4, 2, 1)
    assert view.runs.success_rate == pytest.approx(2 / 3)
    assert (view.cycles.by_burnish, view.cycles.by_person) == ({2: 1}, {1: 1})
    assert (view.cycles.average, view.cycles.middle) == (1.5, 1.5)
    assert {word: n for word, n in view.verdicts.items() if n} == {
        "approved": 1,
        "changes_requested": 1,
        "unreadable": 1,
    }
    assert {name: (s.error, s.warning, s.info) for name, s in view.categories.items()} == {
        "code": (1, 0, 1),
        "test": (0, 1, 0),
    }
    assert view.fate == Fate(resolved=1, waived=1, withdrawn=1)


def waiting(teller: Teller) -> Tale:
    """The reviewer approves, and a person is to say yes or no."""
    tale = teller.add()
    tale.begin()
    tale.review("approved", [OTHER])
    tale.decide("accept", review_status="passed")
    tale.to("waiting_approval")
    return tale


def ends(teller: Teller) -> tuple[int, int, list[int], list[int]]:
    view = seen(teller)
    times = [sum(s.accepted for s in view.over_time), sum(s.stopped for s in view.over_time)]
    return view.runs.approved, view.runs.stopped, view.cycles.each, times


def test_what_still_waits_for_a_person_has_not_ended_and_counts_once_when_it_has(teller: Teller) -> None:
    good, bad = waiting(teller), waiting(teller)
    assert ends(teller) == (0, 0, [], [0, 0])
    good.accepted(by="user:ada")
    bad.decide("escalate", by="user:ada")
    bad.to("blocked", reason="human_rejected")
    assert ends(teller) == (1, 1, [1], [1, 1])
    assert seen(teller).cycles.by_person == {1: 1}
    # merged is approved still; what a person takes back is not
    good.to("completed")
    assert ends(teller) == (1, 1, [1], [1, 1])
    bad.to("code_review")
    assert ends(teller) == (1, 0, [1], [1, 0])


def test_each_run_of_a_task_ends_by_itself_and_cancelled_is_stopped(teller: Teller) -> None:
    tale = waiting(teller)
    tale.to("blocked", reason="human_rejected")
    tale.to("backlog")
    # the move that begins a run still bears the number of the one before
    tale.to("in_progress")
    tale.run = 2
    assert ends(teller) == (0, 1, [], [0, 1])
    tale.review("approved", [OTHER])
    tale.accepted()
    assert ends(teller) == (1, 1, [1], [1, 1])
    never = teller.add()
    never.run = 0
    never.to("cancelled")
    assert ends(teller)[1] == 1


def test_precision_is_the_share_of_settled_findings_that_were_fixed(teller: Teller) -> None:
    told(teller)
    by_name = {r.name: r for r in seen(teller).reviewers}
    judge, static = by_name["judge"], by_name["static"]
    assert judge.verdicts == {"approved": 1, "changes_requested": 1, "unreadable": 1}
    assert (judge.found.all, judge.fate.precision) == (3, pytest.approx(1 / 3))
    # the finding with two reviewers counts for both
    assert (static.found.all, static.fate.precision, static.reviews) == (1, 0.0, 1)


def test_cost_and_time_go_to_whoever_spent_them(teller: Teller) -> None:
    told(teller)
    view = seen(teller)
    # told without a source, as before sources were recorded
    assert {line.effort.cost_source for line in view.agents} == {"mixed", "unknown"}
    lines = {(line.name, line.detail): replace(line.effort, cost_source=None) for line in view.agents}
    assert lines["robot", "big"] == CostView(calls=2, seconds=150, cost_usd=1.5, tokens=1500)
    assert lines["robot", "small"] == CostView(calls=1, seconds=20, cost_usd=None, tokens=7, unpriced=1)
    # whoever failed is not told by the event: the task's own agent did
    assert lines["robot", ""] == CostView(calls=1, failed=1, seconds=5, unpriced=1)
    assert lines["judge", "m1"] == CostView(calls=3, failed=1, seconds=90, cost_usd=0.75, tokens=300)
    assert lines["static", ""].unpriced == 1
    assert [line.name for line in view.phases] == ["implement", "improve", "check", "review"]
    assert view.total.cost_usd == pytest.approx(2.25) and view.total.seconds == 275
    assert [(line.name, line.effort.cost_usd) for line in view.most_expensive] == [("1", 2.0), ("2", 0.25), ("3", None)]


def test_a_panel_of_old_whose_members_costs_were_not_kept_is_counted_together(teller: Teller) -> None:
    tale = teller.add()
    tale.begin()
    old = [{"agent": name, "model": None, "verdict": "approved"} for name in ("a", "b")]
    tale.to("code_review")
    tale.phase("review", 9, verdict="approved", reviewers=old, cost_usd=0.5, tokens=5)
    (line,) = seen(teller).agents
    assert (line.name, line.effort.calls, line.effort.cost_usd) == ("a + b", 1, 0.5)


def test_a_persons_review_is_no_agents_bill(teller: Teller) -> None:
    tale = teller.add()
    tale.begin()
    tale.review("approved", [{"agent": "user:ada", "model": None, "verdict": "approved", "cost_usd": None}])
    view = seen(teller)
    assert view.agents == () and [r.name for r in view.reviewers] == ["user:ada"]


def test_an_approval_that_its_findings_contradict_counts_as_what_it_came_to(teller: Teller) -> None:
    tale = teller.add()
    tale.begin()
    tale.review("approved", [{**JUDGE, "verdict": "approved"}], weighed="changes_requested")
    assert seen(teller).verdicts["changes_requested"] == 1


def test_a_window_leaves_out_what_was_before_it(teller: Teller) -> None:
    told(teller)
    teller.clock.passes(86400 * 3)
    tale = teller.add("Late")
    tale.begin()
    tale.phase("implement", 5, agent="robot", model="big", cost_usd=0.1, tokens=1, commit="9" * 40)
    tale.review("approved", [OTHER])
    tale.finding("static")
    tale.accepted()
    view = seen(teller, days=3)
    assert view.since == (NOON + timedelta(days=1)).date().isoformat()
    assert view.cycles.each == [1] and view.total.cost_usd == 0.1
    assert (view.tasks.total, view.fate) == (1, Fate(open=1))
    assert [s.accepted for s in view.over_time] == [0, 0, 1]
    assert seen(teller, days=4).cycles.each == [1, 1, 2]


def test_what_a_wrong_clock_put_into_the_future_is_counted_today(teller: Teller) -> None:
    told(teller)
    view = stats(teller.store, [teller.project], now=NOON - timedelta(days=9))
    assert [s.accepted for s in view.over_time] == [2]


def test_nothing_is_no_mistake(teller: Teller) -> None:
    assert seen(teller).empty and stats(teller.store, [], now=NOON).empty
    teller.add()
    view = seen(teller)
    assert view.empty and view.tasks.total == 1 and view.over_time == ()
    assert stats_json(view)["runs"]["success_rate"] is None


def test_what_was_removed_was_paid_for_but_is_no_success(teller: Teller) -> None:
    tale = teller.add()
    tale.begin()
    tale.phase("implement", 5, agent="robot", cost_usd=2.0, commit="1" * 40)
    tale.tell("task.removed")
    view = seen(teller)
    assert (view.tasks.total, view.total.cost_usd) == (0, 2.0)


def test_projects_are_counted_apart_and_together(teller: Teller, tmp_path: Path) -> None:
    told(teller)
    row = teller.store.project_for(tmp_path / "two/.git", tmp_path / "two", create=True)
    assert row
    other = Teller(teller.store, row.key, teller.clock)
    told(other)
    both = stats(teller.store, [teller.project, row.key], now=NOON)
    assert both.tasks.total == 8 and both.total.cost_usd == pytest.approx(4.5)
    assert seen(other) == stats(teller.store, [row.key], now=teller.clock.now)
    assert {line.project for line in both.most_expensive} == {teller.project, row.key}


def test_it_takes_the_same_few_queries_however_much_there_is(teller: Teller) -> None:
    teller.years(60)
    before = teller.store.statements
    seen(teller)
    assert teller.store.statements - before == 8  # five between BEGIN and COMMIT, and the plans


@pytest.mark.parametrize(("days", "step", "most"), [(20, "day", 31), (100, "week", 31), (400, "month", 15)])
def test_time_is_cut_into_as_many_pieces_as_can_be_told_apart(teller: Teller, days: int, step: str, most: int) -> None:
    told(teller)
    teller.clock.passes(86400 * days)
    told(teller)
    view = seen(teller)
    starts = [s.start for s in view.over_time]
    assert view.step == step and len(starts) <= most and starts == sorted(set(starts))
    assert sum(s.accepted for s in view.over_time) == len(view.cycles.each)


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 10_000), tasks=st.integers(1, 12), days=st.one_of(st.none(), st.integers(1, 40)))
def test_the_parts_make_up_the_whole(
    tmp_path_factory: pytest.TempPathFactory, seed: int, tasks: int, days: int | None
) -> None:
    root = tmp_path_factory.mktemp("laws")
    teller = Teller.at(root / "home", root / "app")
    teller.store._db._connection().execute("PRAGMA synchronous = OFF")
    teller.years(tasks, seed=seed)
    view = seen(teller, days)
    teller.store.close()
    assert sum(line.effort.cost_usd or 0 for line in view.agents) == pytest.approx(view.total.cost_usd or 0)
    assert sum(line.effort.seconds for line in view.phases) == pytest.approx(view.total.seconds)
    assert sum(line.effort.tokens for line in view.most_expensive) == view.total.tokens
    assert sum(s.effort.calls for s in view.over_time) == view.total.calls
    assert sum(s.accepted for s in view.over_time) == len(view.cycles.each) == view.runs.approved
    assert sum(s.stopped for s in view.over_time) == view.runs.stopped
    assert sum(dict(s.verdicts).get("approved", 0) for s in view.over_time) == view.verdicts["approved"]
    assert sum(c.all for c in view.categories.values()) == view.fate.all
    assert all(r.found.all == r.fate.all for r in view.reviewers)
    for told_json in (stats_json(view), cost_json(view)):
        assert json.loads(json.dumps(told_json)) == told_json
