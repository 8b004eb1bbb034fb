"""Some of the tasks: the filters of `list`, and what a task waits for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from burnish.core.status import ErrorCode, Reason, Status
from burnish.core.task import Spec, Task, TaskType
from burnish.errors import BadInput
from burnish.views.filters import TaskFilter, narrow, pick, since_when

X, Y, Z = (
    Task("p", 29, Spec("X"), Status.VERIFIED),
    Task("p", 30, Spec("Y"), Status.BLOCKED),
    Task("p", 31, Spec("Z"), Status.IN_PROGRESS),
)


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, [29, 30, 31, 40, 41]),
        ({"statuses": ["blocked", "verified"]}, [29, 30]),
        ({"ready": True}, [40]),
        ({"only_blocked": True}, [30]),
        ({"agent": "robot"}, [41]),
        ({"agent": "nobody"}, []),
    ],
)
def test_filters_pick_what_fits_all_of_them(filters: dict[str, Any], ids: list[int]) -> None:
    mine = Task("p", 41, Spec("mine", agent="robot", depends_on=(30,)))
    tasks = [X, Y, Z, Task("p", 40, Spec("next")), mine]
    wanted = {"statuses": [], "ready": False, "only_blocked": False, "agent": None} | filters
    assert [t.id for t in pick(tasks, **wanted)] == ids


def test_a_status_that_does_not_exist_is_refused_with_the_list() -> None:
    with pytest.raises(BadInput) as refusal:
        pick([], statuses=["finished"], ready=False, only_blocked=False, agent=None)
    assert "waiting_approval" in refusal.value.hint


NOW = datetime(2026, 5, 10, 12, tzinfo=UTC)
PLAN = Spec("Three", type=TaskType.PLAN)
TAGGED = (
    Task("p", 1, Spec("One", tags=("login", "urgent")), Status.BLOCKED, Reason.BUDGET, updated_at="2026-05-10T11:00Z"),
    Task("p", 2, Spec("Two", "about **passkeys**", tags=("login",)), updated_at="2026-05-01T00:00:00.000Z"),
    Task("p", 3, PLAN, Status.FAILED, error=ErrorCode.AGENT_MISSING, updated_at="2026-05-09T00:00Z"),
    Task("p", 4, Spec("Four", archived=True), Status.COMPLETED, updated_at="2026-05-10T00:00:00.000Z"),
    # it was archived, and came back
    Task("p", 5, Spec("Five", archived=True), Status.BACKLOG, updated_at="2026-05-10T00:00:00.000Z"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (TaskFilter(), [1, 2, 3, 5]),
        (TaskFilter(tags=("#Login",)), [1, 2]),
        (TaskFilter(tags=("login", "urgent")), [1]),
        (TaskFilter(types=("plan",)), [3]),
        (TaskFilter(reasons=("budget", "agent_missing")), [1, 3]),
        (TaskFilter(since=since_when("2d", NOW)), [1, 3, 5]),
        (TaskFilter(since=since_when("2026-05-09", NOW)), [1, 3, 5]),
        (TaskFilter(text="PASSKEYS about"), [2]),
        (TaskFilter(text="urgent"), [1]),
        (TaskFilter(archived=True), [4]),
    ],
)
def test_tasks_are_narrowed_down(wanted: TaskFilter, ids: list[int]) -> None:
    assert [task.id for task in narrow(TAGGED, wanted)] == ids


@pytest.mark.parametrize("wanted", [TaskFilter(types=("plans",)), TaskFilter(reasons=("tired",))])
def test_words_that_are_no_type_or_reason_are_refused(wanted: TaskFilter) -> None:
    with pytest.raises(BadInput, match="is not a"):
        narrow(TAGGED, wanted)


@pytest.mark.parametrize("text", ["", "soon", "5", "7y", "2026-13-01", "99999999999d"])
def test_a_time_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not a time"):
        since_when(text, NOW)
