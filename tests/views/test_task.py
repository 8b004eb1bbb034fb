from __future__ import annotations

import json
from typing import Any

import pytest

from burnish.core.codec import encode
from burnish.core.event import Event
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, Waiver
from burnish.core.history import phase_record
from burnish.core.journal import CheckRecord, ReviewerRecord, read
from burnish.core.task import Item, Spec
from burnish.errors import BadInput
from burnish.store import Store
from burnish.views.status import task_json
from burnish.views.task import cycles, show_json

TASK_KEYS = """id project title type status reason error final_verdict cycle max_cycles review_status
    open_findings branch base commit agent model auto_review priority cost_usd cost_source tokens depends_on
    overrides waits_for usage_limit paused tags needs archived issues_fixed created_at updated_at"""
CYCLE_KEYS = "number phases commit tree review_status verdict summary reviewers checks artifact"
FINDING_KEYS = """id state category severity title description suggestion file line end_line quote rule
    confidence first_cycle last_cycle reviewers waiver"""
EVENT_KEYS = "id ts project task run cycle type data"

CHECK = {"name": "test", "command": "pytest", "status": "failed", "new": ["t::a"], "blocking": True}
REVIEWER = {"agent": "static", "model": None, "verdict": "approved", "summary": "fine"}


def done(phase: str, cycle: int, attempt: int = 1, **result: Any) -> list[Event]:
    key = {"phase": phase, "attempt": attempt}
    return [
        Event("phase.started", key, run=1, cycle=cycle),
        Event("phase.finished", {**key, **result}, run=1, cycle=cycle),
    ]


def decided(action: str, cycle: int, **more: Any) -> Event:
    return Event("decision.made", {"action": action, "by": "burnish", "why": "", **more}, run=1, cycle=cycle)


@pytest.fixture
def lived(store: Store, project: str) -> tuple[Store, str]:
    """Task 2: the checks sent it back in cycle 1, it was approved in cycle 2."""
    store.add_task(project, Spec("first"), max_cycles=3, auto_review=True)
    spec = Spec("Add login", description="long", checklist=(Item("docs"),), depends_on=(1,), priority=2)
    store.add_task(project, spec, max_cycles=3, auto_review=True)
    begun = {"run": 1, "branch": "burnish/2-add-login", "base": "b" * 40, "agent": "scripted", "model": "m"}
    remark = Remark(Category.TEST, Severity.ERROR, "t::a fails", file="t.py", line=3)
    finding = Finding("F1", remark, FindingState.WAIVED, waiver=Waiver("ann", "flaky", "2026-01-01T00:00:00Z"))
    review = {"verdict": "approved", "summary": "fine", "review_status": "passed", "reviewers": [REVIEWER]}
    store.record(
        project,
        2,
        [
            Event("task.status", {"from": "backlog", "to": "in_progress"}),
            Event("run.started", begun, run=1),
            *done("implement", 1, commit="1" * 40, tree="a" * 40, agent="scripted", cost_usd=0.25, tokens=7),
            *done("check", 1, commit="1" * 40, checks=[CHECK]),
            Event("finding.waived", {"finding": finding}, run=1, cycle=1),
            decided("revise", 1),
            *done("improve", 2, commit="2" * 40, tree="c" * 40),
            *done("check", 2, checks=[{**CHECK, "status": "passed", "new": []}]),
            *done("review", 2, **review, commit="2" * 40, tree="c" * 40, artifact="review-cycle-2.md"),
            decided("accept", 2),
        ],
    )
    return store, project


def test_status_json_has_exactly_the_promised_keys(lived: tuple[Store, str]) -> None:
    store, project = lived
    told = task_json(store.task(project, 2))
    assert list(told) == TASK_KEYS.split()
    assert (told["id"], told["depends_on"], told["agent"], told["model"]) == ("2", ["1"], "scripted", "m")
    assert (told["base"], told["commit"], told["cost_usd"], told["tokens"]) == ("b" * 40, "2" * 40, 0.25, 7)
    assert told == json.loads(json.dumps(told))
    assert told == task_json(store.tasks(project, brief=True)[1])


def test_show_json_tells_each_cycle(lived: tuple[Store, str]) -> None:
    first, second = show_json(*lived, 2)["cycles"]
    assert set(CYCLE_KEYS.split()) <= set(first)
    assert (first["number"], first["commit"], first["tree"]) == (1, "1" * 40, "a" * 40)
    # the checks sent it back before anyone reviewed
    assert (first["review_status"], first["verdict"], first["reviewers"]) == ("failed", None, [])
    # every key of the journal's type, also those that this log does not have
    assert first["checks"] == [encode(read(CheckRecord, CHECK))]
    assert [(p["phase"], p["state"], p["agent"]) for p in first["phases"]] == [
        ("implement", "finished", "scripted"),
        ("check", "finished", None),
    ]
    assert (second["review_status"], second["verdict"], second["summary"]) == ("passed", "approved", "fine")
    assert (second["reviewers"], second["artifact"]) == ([encode(read(ReviewerRecord, REVIEWER))], "review-cycle-2.md")
    assert second["decision"]["action"] == "accept"


def test_show_json_has_findings_and_events_in_full(lived: tuple[Store, str]) -> None:
    told = show_json(*lived, 2)
    assert set(TASK_KEYS.split()) < set(told)
    (finding,) = told["findings"]
    assert list(finding) == [*FINDING_KEYS.split(), "disputes", "evidence", "note", "replies", "count", "examples"]
    assert (finding["id"], finding["state"], finding["category"]) == ("F1", "waived", "test")
    assert finding["waiver"]["reason"] == "flaky"
    assert list(told["events"][0]) == EVENT_KEYS.split()
    assert {event["task"] for event in told["events"]} == {"2"}
    assert [event["type"] for event in told["events"]][:2] == ["task.created", "task.status"]
    assert (told["description"], told["checklist"]) == ("long", [{"text": "docs", "done": False}])
    assert told == json.loads(json.dumps(told))


def test_a_persons_decision_has_the_last_word_on_a_cycle(lived: tuple[Store, str]) -> None:
    store, project = lived
    store.record(project, 2, [decided("escalate", 2, review_status="rejected")])
    assert show_json(store, project, 2)["cycles"][1]["review_status"] == "rejected"


def test_a_review_that_is_to_be_done_again_no_longer_counts(lived: tuple[Store, str]) -> None:
    store, project = lived
    store.record(project, 2, [decided("again", 2, supersede=["review"])])
    cycle = show_json(store, project, 2)["cycles"][1]
    assert (cycle["verdict"], cycle["review_status"], cycle["reviewers"]) == (None, None, [])
    assert [p["superseded"] for p in cycle["phases"]] == [False, False, True]
    store.record(project, 2, done("review", 2, attempt=2, verdict="rejected", review_status="rejected"))
    assert show_json(store, project, 2)["cycles"][1]["verdict"] == "rejected"


def test_an_earlier_run_is_kept_apart(lived: tuple[Store, str]) -> None:
    store, project = lived
    store.record(project, 2, [Event("run.started", {"run": 2}, run=2)])
    told = show_json(store, project, 2)
    assert told["cycles"] == [] and told["findings"] == []
    assert [(run["run"], len(run["cycles"])) for run in told["earlier_runs"]] == [(1, 2)]


def test_a_task_that_is_not_there_is_told(store: Store, project: str) -> None:
    with pytest.raises(BadInput, match="no task 9"):
        show_json(store, project, 9)


def test_a_phase_tells_how_long_it_took_and_who_reviewed_even_if_its_result_does_not() -> None:
    times = {"started_at": "2026-01-01T00:00:00.250Z", "finished_at": "2026-01-01T00:01:01.000Z"}
    check = phase_record(1, 1, "check", 1, "finished", {"phase": "check"}, **times)
    reviewers = [REVIEWER, {"agent": "claude", "model": "opus"}]
    review = phase_record(1, 1, "review", 1, "finished", {"phase": "review", "reviewers": reviewers}, **times)
    work = phase_record(1, 1, "implement", 1, "finished", {"seconds": 3.5, "agent": "codex"}, **times)
    odd = phase_record(1, 1, "check", 2, "started", {}, started_at="yesterday")
    (told,) = cycles([work, check, review, odd], [])
    assert [p["seconds"] for p in told["phases"]] == [3.5, 60.75, 60.75, None]
    assert [p["agent"] for p in told["phases"]] == ["codex", None, "static, claude", None]
    assert told["phases"][2]["model"] == "opus"
