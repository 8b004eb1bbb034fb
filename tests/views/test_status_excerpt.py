from __future__ import annotations

from datetime import UTC, datetime

import pytest

from burnish.core.status import Status
from burnish.core.task import Spec
from burnish.store import Store
from burnish.views import status_excerpt as excerpts
from burnish.views.status import summary
from burnish.views.status_excerpt import MAX_LINES, status_excerpt
from testing.boards import bring

NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)


def add(store: Store, project: str, number: int, to: Status | None = None, **more: object) -> int:
    task = store.add_task(project, Spec(f"t{number}", **more), max_cycles=3, auto_review=True)  # type: ignore[arg-type]
    if to:
        bring(store, project, task.id, to, cost=0.25)
    return task.id


def test_few_tasks_are_all_shown(store: Store, project: str) -> None:
    for number in range(5):
        add(store, project, number, Status.CANCELLED if number == 2 else None)
    found = status_excerpt(store, project, NOW)
    assert [line.id for line in found.view.lines] == ["1", "2", "3", "4", "5"]
    assert (found.left_out, found.words) == ({}, "")


@pytest.fixture
def few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "MAX_LINES", 4)


@pytest.mark.usefixtures("few_lines")
def test_of_many_tasks_those_at_work_and_waiting_for_a_person_come_before_the_backlog_and_what_is_over(
    store: Store, project: str
) -> None:
    for number in range(6):
        add(store, project, number, Status.COMPLETED)
    blocked = add(store, project, 7, Status.BLOCKED)
    add(store, project, 8)
    urgent = add(store, project, 9, priority=5)
    working = add(store, project, 10, Status.IN_PROGRESS)
    add(store, project, 11)
    found = status_excerpt(store, project, NOW)
    assert [task.id for task in found.view.tasks] == [blocked, 8, urgent, working]
    assert found.words == "7 more tasks are not shown: 1 backlog, 6 completed. All: burnish status --all"
    whole = summary(store.tasks(project))
    assert found.view.summary == whole
    assert whole.next_step == f"burnish show {blocked}"


@pytest.mark.usefixtures("few_lines")
def test_every_task_has_a_line_if_all_are_wanted(store: Store, project: str) -> None:
    ids = [add(store, project, number, Status.COMPLETED if number % 2 else None) for number in range(9)]
    found = status_excerpt(store, project, NOW, everything=True)
    assert [line.id for line in found.view.lines] == [str(id) for id in ids]
    assert found.words == ""


@pytest.mark.usefixtures("few_lines")
def test_of_tasks_that_are_over_the_newest_are_shown(store: Store, project: str) -> None:
    ids = [add(store, project, number, Status.COMPLETED) for number in range(9)]
    assert [task.id for task in status_excerpt(store, project, NOW).view.tasks] == ids[-4:]


@pytest.mark.usefixtures("few_lines")
def test_the_next_step_knows_of_a_ready_task_that_is_not_shown(store: Store, project: str) -> None:
    first = add(store, project, 0, Status.CANCELLED)
    for number in range(1, 6):
        add(store, project, number, depends_on=(first,), priority=9)
    waiting = status_excerpt(store, project, NOW).view
    assert {line.detail for line in waiting.lines} == {f"waits for {first}"}
    assert waiting.summary.next_step == ""
    add(store, project, 7)
    assert status_excerpt(store, project, NOW).view.summary.next_step == "burnish run --all"


def test_more_tasks_cost_no_more_statements_and_no_more_rows_read_into_tasks(store: Store, project: str) -> None:
    costs = []
    for upto in (MAX_LINES + 10, MAX_LINES + 100):
        while (total := sum(one.tasks for one in store.task_totals(project))) < upto:
            add(store, project, total, Status.COMPLETED if total % 2 else None)
        before = store.statements
        found = status_excerpt(store, project, NOW)
        costs.append((store.statements - before, len(found.view.tasks)))
    assert costs[0] == costs[1] == (4, MAX_LINES)
