"""What comes next, from what is on record: the same question after any crash."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from burnish.core.finding import Category, Finding, Remark, Severity
from burnish.core.flow import CheckStep, DecideStep, ReviewStep, Step, StopStep, WorkStep, next_step
from burnish.core.history import AnyPhase, DecisionRecord, History, PhaseRecord, decision_record, phase_record
from burnish.core.policy import Policy, ReviewerSpec, StepSpec
from burnish.core.status import Status
from burnish.core.task import Spec, Task, TaskType

POLICY = Policy(agent="robot", model=None, reviewers=(ReviewerSpec("judge"),))
TASK = Task("p", 1, Spec("Title"), status=Status.IN_PROGRESS, run=1)
BROKEN = Finding("F1", Remark(Category.TEST, Severity.ERROR, "test fails", source="check:test"))


def phase(name: str, cycle: int = 1, state: str = "finished", attempt: int = 1, **result: Any) -> AnyPhase:
    if name in ("implement", "improve") and state == "finished":
        result = {"changed": True, "tree": f"tree-{cycle}", "commit": f"commit-{cycle}", **result}
    if name == "review" and state == "finished":
        result = {"verdict": "approved", "tree": f"tree-{cycle}", **result}
    superseded = bool(result.pop("superseded", False))
    return phase_record(1, cycle, name, attempt, state, result, superseded=superseded)


def decided(action: str, cycle: int = 1, **data: Any) -> DecisionRecord:
    return decision_record(1, cycle, action, "burnish", data)


def step(*records: AnyPhase | DecisionRecord, policy: Policy = POLICY, task: Task = TASK, **more: Any) -> Step:
    phases = tuple(r for r in records if isinstance(r, PhaseRecord))
    decisions = tuple(r for r in records if isinstance(r, DecisionRecord))
    return next_step(History(task, phases, decisions, **more), policy)


def test_the_road_of_one_task_step_by_step() -> None:
    road: list[tuple[AnyPhase | DecisionRecord | None, Step]] = [
        (None, WorkStep(1, "implement")),
        (phase("implement"), CheckStep(1)),
        (phase("check"), ReviewStep(1)),
        (phase("review"), DecideStep(1)),
        (decided("revise"), WorkStep(2, "improve")),
        (phase("improve", 2), CheckStep(2)),
        (phase("check", 2), ReviewStep(2)),
        (phase("review", 2), DecideStep(2)),
        (decided("accept", 2), StopStep("decided: accept")),
    ]
    records: list[AnyPhase | DecisionRecord] = []
    for record, wanted in road:
        records += [record] if record else []
        assert step(*records) == wanted


@pytest.mark.parametrize("state", ["started", "failed"])
def test_a_phase_that_was_cut_or_failed_is_the_next_step_again(state: str) -> None:
    done: list[AnyPhase] = []
    for name, wanted in (("implement", WorkStep(1, "implement")), ("check", CheckStep(1)), ("review", ReviewStep(1))):
        assert step(*done, phase(name, state=state)) == wanted
        done.append(phase(name))


@pytest.mark.parametrize("status", [s for s in Status if s not in (Status.IN_PROGRESS, Status.CODE_REVIEW)])
def test_what_is_not_under_way_stops(status: Status) -> None:
    assert isinstance(step(task=replace(TASK, status=status)), StopStep)


def test_nothing_to_judge_is_decided_at_once() -> None:
    assert step(phase("implement", changed=False)) == DecideStep(1)
    circle = (phase("implement", tree="a"), decided("revise"), phase("improve", 2, tree="b"), decided("revise", 2))
    assert step(*circle, phase("improve", 3, tree="a")) == DecideStep(3)
    assert step(*circle, phase("improve", 3, tree="a", by_hand=True)) == CheckStep(3)
    disputing = phase("improve", 2, changed=False, disputes=["F1"])
    assert step(phase("implement"), decided("revise"), disputing) == CheckStep(2)


def test_a_broken_check_is_decided_before_a_review_is_paid_for() -> None:
    records = (phase("implement"), phase("check"))
    assert step(*records, findings=(BROKEN,)) == DecideStep(1)
    assert step(*records, findings=(BROKEN,), policy=replace(POLICY, on_failure="review")) == ReviewStep(1)


@pytest.mark.parametrize(
    ("required", "enabled", "auto", "trigger", "reviewed"),
    [
        (True, True, True, "completion", True),
        (True, False, True, "completion", True),
        (False, True, True, "completion", True),
        (False, False, True, "completion", False),
        (True, True, False, "completion", False),
        (True, True, True, "explicit", False),
    ],
)
def test_when_a_cycle_is_reviewed_by_itself(
    required: bool, enabled: bool, auto: bool, trigger: str, reviewed: bool
) -> None:
    policy = replace(POLICY, review_required=required, review_enabled=enabled, trigger=trigger)
    task = replace(TASK, auto_review=auto)
    records = (phase("implement"), phase("check"))
    assert step(*records, policy=policy, task=task) == (ReviewStep(1) if reviewed else DecideStep(1))


def test_with_a_gate_at_every_review_the_next_step_waits_for_a_person() -> None:
    steps = (StepSpec("security", (ReviewerSpec("judge"),)), StepSpec("speed", (ReviewerSpec("judge"),)))
    done = (phase("implement"), phase("check"), phase("review"))
    every, final = (replace(POLICY, pipeline=steps, hitl=word) for word in ("every", "final"))
    assert step(*done, policy=every) == DecideStep(1)
    assert step(*done, policy=final) == ReviewStep(1, "security")
    passed = decided("again", passed="")
    assert step(*done, decided("wait"), passed, policy=every) == ReviewStep(1, "security")
    heard = phase("review:security", verdict="approved", tree="tree-1")
    assert step(*done, heard, passed, policy=every) == DecideStep(1)
    assert step(*done, heard, passed, decided("again", passed="security"), policy=every) == ReviewStep(1, "speed")
    assert step(*done, heard, passed, decided("again", supersede=["check"]), policy=every) == DecideStep(1)


def test_a_review_that_a_person_asked_for_is_done_even_without_auto_review() -> None:
    task = replace(TASK, auto_review=False)
    records = (phase("implement"), phase("check"), decided("wait"))
    assert isinstance(step(*records, task=task), StopStep)
    again = decided("again", supersede=["review"])
    assert step(*records, replace(again, by="user:ada"), task=task) == ReviewStep(1)
    # an approval that is void asks for nothing by itself
    assert step(*records, again, task=task) == DecideStep(1)
    # working again is not asking for a review
    again = decided("again", supersede=["implement", "improve", "check", "review"])
    assert step(phase("implement", attempt=2), phase("check", attempt=2), again, task=task) == DecideStep(1)


def test_what_is_to_be_done_again_is_the_next_step_and_keeps_its_numbers() -> None:
    old = phase("review", superseded=True)
    records = (phase("implement"), phase("check"), old, decided("escalate"), decided("again", supersede=["review"]))
    assert step(*records) == ReviewStep(1)
    history = History(TASK, tuple(r for r in records if isinstance(r, PhaseRecord)))
    assert history.attempt(1, "review") == (2, True)


def test_a_cut_attempt_is_gone_on_with_and_a_failed_one_is_not() -> None:
    assert History(TASK, (phase("check", state="started"),)).attempt(1, "check") == (1, False)
    assert History(TASK, (phase("check", state="failed"),)).attempt(1, "check") == (2, True)
    assert History(TASK).attempt(1, "check") == (1, True)
    stopped = phase("review", state="failed", error="INTERRUPTED")
    assert History(TASK, (stopped,)).attempt(1, "review") == (2, True)
    assert History(TASK, (stopped,)).kept_under(1, "review", 2) == 1
    assert History(TASK, (phase("review", state="failed"),)).kept_under(1, "review", 2) == 2
    assert History(TASK, (replace(stopped, phase="implement"),)).attempt(1, "implement") == (2, True)


def test_a_plan_is_decided_after_it_is_written_and_a_review_task_is_only_reviewed() -> None:
    plan = replace(TASK, spec=Spec("Plan", type=TaskType.PLAN))
    assert step(task=plan) == WorkStep(1, "implement")
    assert step(phase("implement", changed=False), task=plan) == DecideStep(1)
    review = replace(TASK, spec=Spec("Look", type=TaskType.REVIEW))
    assert step(task=review) == ReviewStep(1)
    assert step(phase("review"), task=review) == DecideStep(1)
