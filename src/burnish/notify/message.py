"""Decides which events are notified, and writes the messages. Pure."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import time

from burnish.core.event import RecordedEvent
from burnish.core.journal import read
from burnish.core.journal_events import TaskStatus
from burnish.core.status import Reason, Status
from burnish.core.task import Task

# reasons that come from the review
REVIEW_FAILED = frozenset(
    {
        Reason.MAX_CYCLES,
        Reason.NEEDS_DISCUSSION,
        Reason.STALLED,
        Reason.UNREADABLE_REVIEW,
        Reason.INCOMPLETE_REVIEW,
        Reason.GUARD,
    }
)
REJECTED = frozenset({Reason.REJECTED, Reason.HUMAN_REJECTED})
WORTH = {
    Status.BLOCKED: "blocked",
    Status.VERIFIED: "approved",
    Status.WAITING_APPROVAL: "waiting_approval",
    Status.FAILED: "failed",
}
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Message:
    title: str
    body: str
    # success has another sound
    good: bool = False


def message_for(task: Task, event: RecordedEvent, on: tuple[str, ...]) -> Message | None:
    """The message for an event that stopped a task; None if the user did not ask for it."""
    if event.type != "task.status":
        return None
    move = read(TaskStatus, event.data)
    status = Status(move.to)
    if WORTH.get(status) not in on:
        return None
    title, lead = _words(status, move, event.cycle)
    note = _plain(move.note)
    what = f"{lead}: {note}" if lead and note else lead or note
    body = f"{what}\nburnish show {task.id}".strip()
    return Message(f"{title}: {_plain(task.spec.title, 120)}", body, good=status is Status.VERIFIED)


def _words(status: Status, move: TaskStatus, cycle: int) -> tuple[str, str]:
    if status is Status.FAILED:
        return "Task Failed", move.error or ""
    if status is Status.WAITING_APPROVAL:
        return "Approval Needed", ""
    if status is Status.VERIFIED:
        cycles = max(cycle, 1)
        return "Review Approved", f"Approved after {cycles} cycle{'s' * (cycles != 1)}"
    if move.reason in REJECTED:
        return "Review Rejected", "Blocking issue found"
    if move.reason == Reason.MAX_CYCLES:
        tries = max(cycle, 1)
        return "Review Failed", f"Task needs human review after {tries} attempt{'s' * (tries != 1)}"
    return ("Review Failed" if move.reason in REVIEW_FAILED else "Task Blocked"), "Task needs a person"


def is_quiet(now: time, hours: str | None) -> bool:
    """Whether `now` is in `hours` (`22:00-07:00`, without the end); equal times mean the whole day."""
    if not hours:
        return False
    start, end = (time.fromisoformat(part) for part in hours.split("-"))
    now = now.replace(second=0, microsecond=0, tzinfo=None)
    if start < end:
        return start <= now < end
    return now >= start or now < end


def _plain(text: str, longest: int = LONGEST) -> str:
    """One line without control characters, which some receivers interpret."""
    visible = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text)
    line = " ".join(visible.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
