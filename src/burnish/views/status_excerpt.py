"""The status of a project with very many tasks: those that matter now are read, the others only counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from burnish.core.agent import UsageLimit
from burnish.core.cost import joint_source
from burnish.core.journal import read
from burnish.core.journal_events import PhaseProgress
from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.store import Store
from burnish.store.rows import TaskTotal
from burnish.views.status import (
    NEEDS_A_PERSON,
    UNDER_WAY,
    Alive,
    StatusView,
    Summary,
    next_step,
    status_line,
    status_view,
)

# more lines than anybody reads; `--all`, `burnish list` and `--json` have all
MAX_LINES = 200

# what is read first: at work, waiting for a person, ready to merge, to do, over
_ORDER = (
    Status.IN_PROGRESS,
    Status.CODE_REVIEW,
    Status.BLOCKED,
    Status.WAITING_APPROVAL,
    Status.FAILED,
    Status.VERIFIED,
    Status.BACKLOG,
    Status.COMPLETED,
    Status.CANCELLED,
)


@dataclass(frozen=True, slots=True)
class StatusExcerpt:
    view: StatusView
    # tasks without a line, by status
    left_out: Mapping[Status, int]

    @property
    def words(self) -> str:
        """`9,800 more tasks are not shown: 300 backlog, 9,500 completed. All: burnish status --all`, or nothing."""
        if not self.left_out:
            return ""
        parts = ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in self.left_out.items())
        total = sum(self.left_out.values())
        head = "1 more task is" if total == 1 else f"{total:,} more tasks are"
        return f"{head} not shown: {parts}. All: burnish status --all"


def status_excerpt(
    store: Store, project: str, now: datetime, *, alive: Alive = None, everything: bool = False
) -> StatusExcerpt:
    """All tasks of a project up to `MAX_LINES`; of more, those that need somebody, the next and the newest.

    `everything`: all of them, however many.
    """
    totals = store.task_totals(project)
    counts = _counts(totals)
    if everything or sum(counts.values()) <= MAX_LINES:
        return StatusExcerpt(status_view(store.tasks(project, brief=True), now, alive=alive), {})
    tasks = _first_tasks(store, project, counts)
    unmet = store.unmet_needs(project)
    lines = tuple(status_line(task, now, unmet=unmet.get(task.id, ()), alive=alive) for task in tasks)
    is_any_ready = counts.get(Status.BACKLOG, 0) > len(unmet)
    step = next_step(tasks, alive=alive, is_any_ready=is_any_ready)
    left_out = {
        status: number
        for status, count in counts.items()
        if (number := count - sum(task.status is status for task in tasks))
    }
    return StatusExcerpt(StatusView(tuple(tasks), lines, _summary(totals, counts, step)), left_out)


def _first_tasks(store: Store, project: str, counts: Mapping[Status, int]) -> list[Task]:
    found: list[Task] = []
    for status in _ORDER:
        room = MAX_LINES - len(found)
        if room and counts.get(status):
            found += store.first_tasks(project, status, room)
    return sorted(found, key=lambda task: task.id)


def _counts(totals: Sequence[TaskTotal]) -> dict[Status, int]:
    counts = {status: sum(total.tasks for total in totals if total.status is status) for status in Status}
    return {status: count for status, count in counts.items() if count}


def _summary(totals: Sequence[TaskTotal], counts: Mapping[Status, int], step: str) -> Summary:
    costs = [total.cost_usd for total in totals if total.cost_usd is not None]
    waiting = [
        total.tasks for total in totals if total.status in NEEDS_A_PERSON and total.reason is not Reason.HUMAN_REJECTED
    ]
    return Summary(
        counts=counts,
        cost_usd=sum(costs) if costs else None,
        cost_source=joint_source(total.cost_source for total in totals),
        tokens=sum(total.tokens for total in totals),
        need_a_person=sum(waiting),
        next_step=step,
    )


def reported_limit(store: Store, task: Task, limits: Iterable[UsageLimit]) -> UsageLimit | None:
    """The limit that the running phase of a task has reported to wait for."""
    if task.status not in UNDER_WAY or not task.phase_started:
        return None
    by_end = {limit.until: limit for limit in limits}
    events = store.events(task.project, task=task.id, types=["phase.progress"])
    ends = [read(PhaseProgress, event.data).until for event in events if event.ts >= task.phase_started]
    return next((by_end[end] for end in reversed(ends) if end in by_end), None)
