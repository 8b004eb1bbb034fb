"""The events that move a task: one place that knows their shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from burnish.core.event import Event
from burnish.core.history import History
from burnish.core.journal import read
from burnish.core.journal_events import TaskStatus
from burnish.core.status import ErrorCode, FinalVerdict, Reason, ReviewStatus, Status
from burnish.core.task import Task

RESTS = frozenset({Status.VERIFIED, Status.COMPLETED, Status.BLOCKED, Status.FAILED, Status.CANCELLED})


def with_finish(events: Sequence[Event]) -> list[Event]:
    """The events, with `run.finished` after each status in which a run ends."""
    all_events: list[Event] = []
    for event in events:
        all_events.append(event)
        move = read(TaskStatus, event.data) if event.type == "task.status" else None
        if move and move.to in RESTS and move.before not in RESTS:
            all_events.append(Event("run.finished", {"status": move.to}, run=event.run, cycle=event.cycle))
    return all_events


def verdict_when_stopped(history: History) -> FinalVerdict | None:
    """Of a loop that ends before it is decided: what the last review or check asked for."""
    return FinalVerdict.CHANGES_REQUESTED if history.sent_back else None


def status_events(
    task: Task,
    to: Status,
    *,
    cycle: int | None = None,
    reason: Reason | None = None,
    error: ErrorCode | None = None,
    note: str = "",
    output: str = "",
    final_verdict: FinalVerdict | None = None,
    review_status: ReviewStatus | None = None,
) -> Event:
    """`task.status`: exactly one per change of status."""
    data: dict[str, Any] = {"from": task.status.value, "to": to.value}
    words = {
        "reason": reason,
        "error": error,
        "note": note,
        "output": output,
        "final_verdict": final_verdict,
        "review_status": review_status,
    }
    data |= {key: str(value) for key, value in words.items() if value}
    if to not in (Status.COMPLETED, Status.CANCELLED):
        # said outright: what an earlier round ended with is no longer so
        data.setdefault("final_verdict", None)
    return Event("task.status", data, run=task.run, cycle=task.cycle if cycle is None else cycle)


def resumed(history: History, to: Status, *, note: str = "") -> Event:
    """A task that stopped goes on. A review that judged nothing, such as an unreadable one, leaves no status behind."""
    event = status_events(history.task, to, note=note)
    if history.task.review_status is not ReviewStatus.FAILED or history.sent_back:
        return event
    return replace(event, data={**event.data, "review_status": None})


def judge_again(history: History, why: str) -> Event:
    """The same code in the same cycle: its checks and reviews are repeated, and the earlier results stay on record."""
    data = {"action": "again", "by": "burnish", "why": why, "supersede": ["check", "review", "gate"]}
    return Event("decision.made", data, run=history.task.run, cycle=history.cycle)


def rebased(task: Task, base: str | None) -> list[Event]:
    """On record where the change begins, if that is elsewhere now: the branch has taken its target in."""
    if base in (None, task.base):
        return []
    return [Event("run.started", {"run": task.run, "base": base}, run=task.run, cycle=task.cycle)]


def judge_again_on_new_base(
    history: History, commit: str, tree: str, why: str, *, base: str | None = None
) -> list[Event]:
    """The next cycle judges what is on the branch now, from `base` on; no agent works in it."""
    task, cycle = history.task, history.cycle + 1
    decision = {"action": "revise", "by": "burnish", "why": why, "blockers": []}
    work = {"phase": "improve", "attempt": 1, "by_hand": True, "why": why}
    finish_data = {**work, "commit": commit, "tree": tree, "changed": True}
    return [
        *rebased(task, base),
        Event("decision.made", decision, run=task.run, cycle=history.cycle),
        Event("phase.started", {**work, "runner": ""}, run=task.run, cycle=cycle),
        Event("phase.finished", finish_data, run=task.run, cycle=cycle),
    ]
