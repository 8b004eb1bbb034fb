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
NOT_VERIFIED = "its approval could not be verified, so it must be reviewed again"


class DamagedEventFile(Exception):
    """The file is damaged or inconsistent."""


def read_event_file(data: bytes, task: int) -> list[RecordedEvent]:
    """The events of an `events.jsonl`. Raises `DamagedEventFile` with the number of the first wrong line."""
    if not data or not data.endswith(b"\n"):
        raise DamagedEventFile("it was cut off" if data else "it is empty")
    events: list[RecordedEvent] = []
    for number, line in enumerate(data[:-1].decode("utf-8", "replace").split("\n"), 1):
        event = _event(line, number, task)
        if events and event.id <= events[-1].id:
            raise DamagedEventFile(f"line {number} is out of order")
        events.append(event)
    if events[0].type != "task.created":
        raise DamagedEventFile("it does not begin with task.created")
    return events


def _event(line: str, number: int, task: int) -> RecordedEvent:
    try:
        value: Any = loads(line)
    except ValueError as error:
        raise DamagedEventFile(f"line {number} cannot be read") from error
    if not isinstance(value, dict) or set(value) != set(KEYS):
        raise DamagedEventFile(f"line {number} is not an event")
    if any(type(value[key]) is not kind for key, kind in KEYS.items()) or value["type"] not in TYPES:
        raise DamagedEventFile(f"line {number} has an unknown event type or a value of the wrong type")
    if value["task"] != str(task):
        raise DamagedEventFile(f"line {number} belongs to another task")
    where = (value["id"], value["ts"], value["project"], task, value["run"], value["cycle"])
    return RecordedEvent(*where, value["type"], value["data"])


def verified_events(
    events: list[RecordedEvent], is_valid: Callable[[Mapping[str, Any]], bool]
) -> tuple[list[RecordedEvent], str | None]:
    """The events up to the first approval that cannot be verified; `is_valid` looks it up in the repository."""
    has_approval = has_override = False
    kind = str(read(TaskCreated, events[0].data).spec.get("type", TaskType.IMPLEMENT))
    for index, event in enumerate(events):
        to = read(TaskStatus, event.data).to if event.type == "task.status" else None
        is_unverified = to == Status.VERIFIED and not (has_approval or has_override)
        if event.type == "review.approved":
            has_approval = is_valid(event.data)
            is_unverified = not has_approval
        elif event.type in ("approval.voided", "run.started"):
            has_approval = has_override = False
        elif event.type == "override.recorded":
            has_override = True
        if is_unverified or (to == Status.COMPLETED and not _may_complete(event, kind)):
            return _cut(events, index), NOT_VERIFIED
    return events, None


def _may_complete(event: RecordedEvent, kind: str) -> bool:
    return read(TaskStatus, event.data).before == Status.VERIFIED or kind in (TaskType.PLAN, TaskType.REVIEW)


def _cut(events: list[RecordedEvent], index: int) -> list[RecordedEvent]:
    """The events before `index`, and a decision to review again."""
    cut_event = events[index]
    data = {"action": "again", "by": "burnish", "why": NOT_VERIFIED, "supersede": ["check", "review"]}
    decision = RecordedEvent(
        cut_event.id,
        cut_event.ts,
        cut_event.project,
        cut_event.task,
        cut_event.run,
        cut_event.cycle,
        "decision.made",
        data,
    )
    # A removed task stays removed, even if its event file is damaged.
    removals = [event for event in events[index + 1 :] if event.type == "task.removed"]
    return [*events[:index], decision, *removals[-1:]]
