from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from burnish.core.event import Event
from burnish.core.status import ErrorCode, FinalVerdict, Reason, ReviewStatus, Status
from burnish.core.task import Spec, Task
from burnish.store import Store
from burnish.views.status import MARKS, elapsed, review_words, status_line, summary
from burnish.views.status_excerpt import status_excerpt

NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)


def task(status: Status, **more: Any) -> Task:
    return Task("p", 29, Spec("Add feature X"), status=status, **more)


def words(one: Task, **how: Any) -> str:
    line = status_line(one, NOW, **how)
    return f"{line.mark} {line.id} {line.title}  {line.status}  {line.words}"


def test_the_sample_lines_of_the_contract() -> None:
    approved = task(
        Status.VERIFIED,
        final_verdict=FinalVerdict.APPROVED,
        cycle=3,
        review_status=ReviewStatus.PASSED,
        cost_usd=0.42,
    )
    assert words(approved) == "✓ 29 Add feature X  verified  APPROVED (3 cycles)  review: passed   $0.42"
    stuck = task(
        Status.BLOCKED,
        final_verdict=FinalVerdict.MAX_CYCLES_REACHED,
        reason=Reason.MAX_CYCLES,
        cycle=3,
        open_findings=2,
    )
    assert words(stuck) == "! 29 Add feature X  blocked  MAX_CYCLES_REACHED (3 cycles)  2 open"
    improving = task(Status.IN_PROGRESS, cycle=2, phase="improve", phase_started="2026-05-01T11:58:48.000Z", runner="r")
    assert words(improving) == "→ 29 Add feature X  in_progress  (cycle 2/3, improving 1m12s)"


def test_past_the_maximum_it_counts_on() -> None:
    late = task(Status.CODE_REVIEW, cycle=4, phase="review", phase_started="2026-05-01T11:59:57.000Z", runner="r")
    assert status_line(late, NOW).detail == "(cycle 4 (max 3), reviewing 3s)"


@pytest.mark.parametrize(("runner", "alive"), [(None, True), ("r", False)])
def test_work_without_a_living_runner_says_how_it_goes_on(runner: str | None, alive: bool) -> None:
    cut = task(Status.IN_PROGRESS, cycle=1, phase="implement", runner=runner)
    line = status_line(cut, NOW, alive=lambda _: alive)
    assert line.detail == "(cycle 1/3, interrupted: `burnish run 29` goes on)"


def test_what_a_person_sent_back_was_not_interrupted() -> None:
    back = task(Status.IN_PROGRESS, cycle=1, review_status=ReviewStatus.FAILED)
    assert status_line(back, NOW).detail == "CHANGES_REQUESTED (cycle 1/3, sent back: `burnish run 29` fixes it)"


def test_a_task_that_waits_for_an_explicit_review_was_not_interrupted() -> None:
    assert status_line(task(Status.CODE_REVIEW, cycle=1), NOW).detail == "(cycle 1/3)"


def test_why_a_task_stands_still_is_said_once() -> None:
    first = task(Status.BLOCKED, reason=Reason.NO_CHANGES, cycle=1)
    assert status_line(first, NOW).detail == "no_changes (1 cycle)"
    both = task(Status.BLOCKED, reason=Reason.GUARD, final_verdict=FinalVerdict.CHANGES_REQUESTED, cycle=2)
    assert status_line(both, NOW).detail == "CHANGES_REQUESTED, guard (2 cycles)"
    failed = task(Status.FAILED, error=ErrorCode.AGENT_MISSING)
    assert (status_line(failed, NOW).mark, status_line(failed, NOW).detail) == ("✗", "AGENT_MISSING")


def test_what_was_put_back_says_only_whether_it_can_begin() -> None:
    back = task(Status.BACKLOG, cycle=3, open_findings=2, overrides=1, review_status=ReviewStatus.FAILED, cost_usd=0.4)
    assert status_line(back, NOW).words == "ready   $0.40"
    assert status_line(back, NOW, unmet=[3, 4]).words == "waits for 3, 4   $0.40"


def test_every_status_has_a_mark() -> None:
    assert set(MARKS) == set(Status)


@pytest.mark.parametrize(
    ("since", "shown"),
    [
        (None, ""),
        ("2026-05-01T11:59:59.500Z", "0s"),
        ("2026-05-01T12:00:09.000Z", "0s"),
        ("2026-05-01T09:55:00.000Z", "2h05m"),
    ],
)
def test_elapsed_time_is_short_and_never_negative(since: str | None, shown: str) -> None:
    assert elapsed(since, NOW) == shown


def test_the_summary_counts_and_says_what_to_type_next() -> None:
    tasks = [task(Status.VERIFIED, cost_usd=0.4), task(Status.BLOCKED, cost_usd=0.02), task(Status.BACKLOG)]
    total = summary(tasks)
    assert total.words == "3 tasks: 1 backlog, 1 verified, 1 blocked; $0.42. Next: burnish show 29"
    assert (total.need_a_person, total.next_step) == (1, "burnish show 29")
    assert summary([task(Status.BACKLOG)]).cost_usd is None


def test_while_a_task_runs_the_next_command_follows_it_instead_of_starting_a_second_run() -> None:
    tasks = [replace(task(Status.IN_PROGRESS, runner="r"), id=30), task(Status.BACKLOG)]
    assert summary(tasks, alive=lambda _: True).next_step == "burnish log -f 30"
    assert summary(tasks, alive=lambda _: False).next_step == "burnish run 30"


def test_the_status_screen_is_two_queries(store: Store, project: str) -> None:
    for n in range(5):
        store.add_task(project, Spec(f"t{n}"), max_cycles=3, auto_review=True)
    store.record(project, 2, [Event("task.status", {"from": "backlog", "to": "cancelled"})])
    before = store.statements
    view = status_excerpt(store, project, NOW).view
    assert store.statements - before == 2
    assert [(line.id, line.title, line.mark) for line in view.lines][:2] == [
        ("1", "t0", "·"),
        ("2", "t1", "✗"),
    ]
    assert view.summary.counts == {Status.BACKLOG: 4, Status.CANCELLED: 1}


def test_a_task_that_was_never_reviewed_has_no_failed_review() -> None:
    task = Task(
        "p", 1, Spec("x"), status=Status.BLOCKED, reason=Reason.NO_CHANGES, cycle=1, review_status=ReviewStatus.FAILED
    )
    assert review_words(task) == ""
    assert review_words(replace(task, cycle=2)) == "failed"
    assert review_words(replace(task, reason=Reason.MAX_CYCLES)) == "failed"
