"""Reads a task's events from its file, and verifies each approval in the repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from burnish.core.event import TYPES, RecordedEvent
from burnish.core.journal import read
from burnish.core.journal_events import TaskCreated, TaskStatus
from burnish.core.status import Status
from burnish.core.task import TaskType
from burnish.review.strictjson import loads

KEYS = {"id": int, "ts": str, "project": str, "task": str, "run": int, "cycle": int, "type": str, "data": dict}
CANNOT_BE_SHOWN = "its approval could not be verified, so it must be reviewed again"


class DamagedEventFile(Exception):
    """The file is damaged or inconsistent."""


def read_story(data: bytes, task: int) -> list[RecordedEvent]:
    """Every line of an `events.jsonl`, or `Damaged` with the line that is not right."""
    if not data or not data.endswith(b"\n"):
        raise DamagedEventFile("it was cut off" if data else "it is empty")
    events: list[RecordedEvent] = []
    for number, line in enumerate(data[:-1].decode("utf-8", "replace").split("\n"), 1):
        event = _event(line, number, task)
        if events and event.id <= events[-1].id:
            raise DamagedEventFile(f"line {number} is out of order")
        events.append(event)
    if events[0].type != "task.created":
        raise DamagedEventFile("it does not begin with the task")
    return events


def _event(line: str, number: int, task: int) -> RecordedEvent:
    try:
        value: Any = loads(line)
    except ValueError as error:
        raise DamagedEventFile(f"line {number} cannot be read") from error
    if not isinstance(value, dict) or set(value) != set(KEYS):
        raise DamagedEventFile(f"line {number} is not an event")
    if any(type(value[key]) is not kind for key, kind in KEYS.items()) or value["type"] not in TYPES:
        raise DamagedEventFile(f"line {number} is not an event that burnish knows")
    if value["task"] != str(task):
        raise DamagedEventFile(f"line {number} is of another task")
    where = (value["id"], value["ts"], value["project"], task, value["run"], value["cycle"])
    return RecordedEvent(*where, value["type"], value["data"])


def as_far_as_shown(
    events: list[RecordedEvent], holds: Callable[[Mapping[str, Any]], bool]
) -> tuple[list[RecordedEvent], str | None]:
    """The events up to the first approval that cannot be verified; `holds` verifies one in the repository."""
    has_approval = has_override = False
    kind = str(read(TaskCreated, events[0].data).spec.get("type", TaskType.IMPLEMENT))
    for place, event in enumerate(events):
        to = read(TaskStatus, event.data).to if event.type == "task.status" else None
        unshown = to == Status.VERIFIED and not (has_approval or has_override)
        if event.type == "review.approved":
            has_approval = holds(event.data)
            unshown = not has_approval
        elif event.type in ("approval.voided", "run.started"):
            has_approval = has_override = False
        elif event.type == "override.recorded":
            has_override = True
        if unshown or (to == Status.COMPLETED and not _may_complete(event, kind)):
            return _cut(events, place), CANNOT_BE_SHOWN
    return events, None


def _may_complete(event: RecordedEvent, kind: str) -> bool:
    return read(TaskStatus, event.data).before == Status.VERIFIED or kind in (TaskType.PLAN, TaskType.REVIEW)


def _cut(events: list[RecordedEvent], place: int) -> list[RecordedEvent]:
    """The events before that place, and a decision to review again."""
    cut_event = events[place]
    again = {"action": "again", "by": "burnish", "why": CANNOT_BE_SHOWN, "supersede": ["check", "review"]}
    word = RecordedEvent(
        cut_event.id,
        cut_event.ts,
        cut_event.project,
        cut_event.task,
        cut_event.run,
        cut_event.cycle,
        "decision.made",
        again,
    )
    # A removed task stays removed, even if its event file is damaged.
    removals = [event for event in events[place + 1 :] if event.type == "task.removed"]
    return [*events[:place], word, *removals[-1:]]
