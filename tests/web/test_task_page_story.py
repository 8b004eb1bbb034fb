"""The line through time: what went wrong is told as clearly as what went well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnish.core.event import Event
from burnish.core.task import Spec
from burnish.store import Store
from burnish.views.task_page.story import CycleStory, Moment, story
from burnish.web.pages.rendering import brief_cost, cost


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path) as opened:
        yield opened


class Teller:
    """A task with one run, told event by event."""

    def __init__(self, store: Store, tmp_path: Path) -> None:
        row = store.project_for(tmp_path / ".git", tmp_path, create=True)
        assert row
        self.store, self.key = store, row.key
        store.add_task(self.key, Spec("Add login"), max_cycles=3, auto_review=True)
        facts = {"branch": "burnish/1-add-login", "target": "main", "base": "b" * 40, "max_cycles": 3}
        self.tell("run.started", 0, run=1, auto_review=True, agent="claude", model=None, **facts)

    def tell(self, kind: str, cycle: int = 1, **data: Any) -> None:
        self.store.record(self.key, 1, [Event(kind, data, run=1, cycle=cycle)])

    def phase(self, name: str, attempt: int = 1, *, ends: str | None = "finished", **result: Any) -> None:
        self.tell("phase.started", phase=name, attempt=attempt, runner="r")
        if ends:
            self.tell(f"phase.{ends}", phase=name, attempt=attempt, **result)

    def cycle(self, *, running: bool = False) -> CycleStory:
        return story(self.store, self.key, 1, running=running).runs[0].cycles[0]

    def moments(self, *, running: bool = False) -> dict[str, Moment]:
        return {moment.title: moment for moment in self.cycle(running=running).moments}


@pytest.fixture
def told(store: Store, tmp_path: Path) -> Teller:
    return Teller(store, tmp_path)


def test_a_phase_that_failed_says_why_what_it_cost_and_where_its_work_is(told: Teller) -> None:
    told.phase("implement", ends="failed", error="TIMEOUT", what="It took too long.", hint="Retry.", cost_usd=0.5,
               rescue="refs/burnish/rescue/1")  # fmt: skip
    told.phase("implement", 2, commit="c" * 40, agent="claude", model="opus", seconds=12.5, cost_usd=0.25, tokens=900)
    first, second = told.cycle().moments
    assert (first.tone, first.detail, first.saved) == ("bad", "It took too long. Retry.", "refs/burnish/rescue/1")
    assert (second.attempt, second.who, second.seconds, second.commit) == (2, "claude opus", 12.5, "c" * 40)
    assert (told.cycle().cost_usd, second.cost_usd) == (0.75, 0.25)


def test_a_failure_and_its_remedy_are_two_sentences(told: Teller) -> None:
    told.phase("implement", ends="failed", error="AGENT_FAILED", what="the network is gone", hint="See `burnish log`.")
    assert told.cycle().moments[0].detail == "the network is gone. See `burnish log`."


def test_a_budget_that_is_not_reached_is_not_told_as_an_error(told: Teller) -> None:
    told.phase("implement", commit="c")
    told.tell("budget.warned", what="budget.task_usd cannot be counted")
    assert told.moments()["Budget"].tone == "warn"


def test_a_cycle_with_an_unknown_cost_is_not_shown_as_the_sum_of_the_others(told: Teller) -> None:
    told.phase("implement", ends="failed", error="TIMEOUT", cost_usd=None, cost_source="unknown")
    told.phase("implement", 2, cost_usd=0.25, cost_source="program")
    first, second = told.cycle().moments
    assert [cost(first), cost(second)] == ["cost unknown", "$0.25 (reported by the agent)"]
    assert brief_cost(told.cycle()) == "$0.25+"


def test_what_runs_is_live_and_what_was_cut_is_not(told: Teller) -> None:
    told.phase("implement", ends=None)
    assert told.moments(running=True)["Implement"].live
    assert told.cycle(running=True).seconds is None
    cut = told.moments()["Implement"]
    assert not cut.live and "cut" in cut.detail


def test_what_the_reviewer_proposes_and_what_a_person_decides_are_told_apart(told: Teller) -> None:
    told.tell("decision.made", action="accept", by="burnish", why="all is well")
    told.phase("gate", ends=None)
    told.tell("gate.opened", commit="c", why="a person decides")
    told.tell("phase.finished", phase="gate", attempt=1, choice="approve")
    told.tell("decision.made", action="accept", by="user:ada", choice="approve", why="approved by a person")
    moments = [(moment.title, moment.who, moment.tone) for moment in told.cycle().moments if moment.kind == "decision"]
    assert moments == [("Proposed for approval", "", ""), ("Approved", "ada", "good")]
    assert told.moments()["Approved"].detail == ""
    told.tell("decision.made", 2, action="accept", by="burnish", why="all is well")
    assert [m.title for m in story(told.store, told.key, 1, running=False).runs[0].cycles[0].moments] == ["Accepted"]


def test_the_gate_is_told_once(told: Teller) -> None:
    told.tell("decision.made", action="ask", by="burnish", why="Not yet.")
    told.phase("gate", ends=None)
    told.tell("gate.opened", commit="c", why="Not yet.")
    moments = told.cycle(running=True).moments
    assert [(moment.title, moment.detail, moment.live) for moment in moments] == [
        ("Gate", "It waits for a person.", False)
    ]


def test_checks_and_reviews_are_told_by_what_they_say_not_by_that_they_ended(told: Teller) -> None:
    counts = {"total": 8, "passed": 6, "failed": 2, "skipped": 0}
    told.phase("check", commit="c", checks=[{"name": "test", "counts": counts, "new": ["a"]}], warnings=["no lint"])
    told.phase("review", verdict="changes_requested", summary="Not yet.", commit="c", tree="t")
    told.tell("decision.made", action="revise", by="burnish", why="Not yet.")
    moments = told.moments()
    assert (moments["Checks"].detail, moments["Checks"].tone) == ("test: 6 passed, 2 failed (1 new)", "warn")
    assert (moments["Review"].detail, moments["Review"].tone) == ("changes requested", "warn")
    # the summary stands above already
    assert moments["Sent back"].detail == "" and told.cycle().summary == "Not yet."
    assert told.cycle().warnings == ("no lint",)


def test_people_overrides_and_voided_approvals_have_lines_of_their_own(told: Teller) -> None:
    told.phase("implement", commit="c")
    told.tell("decision.made", action="escalate", by="user:ann", why="Not like this.", choice="reject")
    told.tell("override.recorded", category="infra", explanation="The disk was full.", by="user:ann")
    told.tell("approval.voided", why="the branch has moved")
    told.tell("phase.rescued", phase="improve", ref="refs/burnish/rescue/2")
    told.tell("task.merged", into="main", by="user:ann")
    moments = told.moments()
    assert (moments["Rejected"].who, moments["Rejected"].detail) == ("ann", "Not like this.")
    assert moments["Overridden"].detail == "it comes from the environment: The disk was full."
    assert moments["The approval is void"].detail == "the branch has moved"
    assert moments["Work was saved"].saved == "refs/burnish/rescue/2" and "Merged into main" in moments


def test_what_belongs_to_no_cycle_is_told_all_the_same(told: Teller) -> None:
    told.store.edit_task(told.key, 1, {"title": "Add a login"})
    whole = story(told.store, told.key, 1, running=False)
    assert [moment.title for moment in whole.before] == ["Added", "Edited"]
    assert whole.runs[0].cycles == ()


def test_a_phase_that_failed_has_no_commit_of_its_own(told: Teller) -> None:
    told.phase("implement", ends="failed", error="TIMEOUT", what="It took too long.", commit="b" * 40)
    (moment,) = told.cycle().moments
    assert moment.commit == ""


def test_a_gate_comes_after_the_proposal_that_is_recorded_with_it(told: Teller) -> None:
    told.phase("implement", commit="c" * 40)
    events = [
        Event("phase.started", {"phase": "gate", "attempt": 1, "runner": "r"}, run=1, cycle=1),
        Event("decision.made", {"action": "accept", "by": "burnish"}, run=1, cycle=1),
        Event("gate.opened", {"why": ""}, run=1, cycle=1),
    ]
    told.store.record(told.key, 1, events)
    assert [moment.title for moment in told.cycle().moments][1:] == ["Proposed for approval", "Gate"]
