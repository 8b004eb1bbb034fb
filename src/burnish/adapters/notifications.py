"""Notifies the user when a task stops, in the ways set in the settings."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.adapters.answer_codes import OpenAnswer, host_of, issue_codes
from burnish.core.agent import Use
from burnish.core.event import RecordedEvent
from burnish.core.gate import GateChoice
from burnish.core.journal import read
from burnish.core.journal_events import NotifyFailed, TaskStatus, new_event
from burnish.core.status import Status
from burnish.core.task import Task, TaskType
from burnish.engine.ports import Progress
from burnish.errors import BurnishError
from burnish.notify.notifier import Channel, MessageButton, Notifier, bell, desktop, url
from burnish.proc import clock

if TYPE_CHECKING:
    from burnish.config.sections import Notify
    from burnish.engine.ports import EventLog


@dataclass(frozen=True, slots=True)
class NotifyingProgress:
    """A progress listener that also notifies the user."""

    inner: Progress
    notifier: Notifier

    def event(self, task: Task, event: RecordedEvent) -> None:
        self.inner.event(task, event)
        self.notifier.event(task, event)

    def output(self, task_id: int, line: str) -> None:
        self.inner.output(task_id, line)

    def spent(self, task_id: int, use: Use) -> None:
        self.inner.spent(task_id, use)

    def note(self, text: str) -> None:
        self.inner.note(text)


@contextmanager
def notifying(
    event_log: EventLog, settings: Notify, progress: Progress, *, home: Path, project: str
) -> Iterator[NotifyingProgress]:
    reported_errors: set[str] = set()

    def failed(task: Task, why: str) -> None:
        # A full disk or a missing database: the task reports that itself.
        with suppress(BurnishError):
            event_log.record(task.id, new_event("notify.failed", NotifyFailed(why), run=task.run, cycle=task.cycle))
        if why not in reported_errors:
            reported_errors.add(why)
            progress.note(f"A notification could not be sent: {why}")

    notifier = Notifier(
        channels(settings),
        on=settings.on,
        quiet_hours=settings.quiet_hours,
        on_failure=failed,
        now=clock.now,
        buttons=lambda task, event: answer_buttons(home, event_log, project, settings, task, event),
    )
    try:
        yield NotifyingProgress(progress, notifier)
    finally:
        notifier.close()


def channels(settings: Notify) -> list[Channel]:
    """The enabled and available channels."""
    own = (bell() if settings.bell else None, desktop(os.environ, settings.sound) if settings.desktop else None)
    return [way for way in own if way] + [url(address) for address in settings.urls]


def answer_buttons(
    home: Path, event_log: EventLog, project: str, settings: Notify, task: Task, event: RecordedEvent
) -> tuple[MessageButton, ...]:
    """Buttons that approve or send back a task that waits for approval; none unless the user set an address."""
    url = (settings.answer_url or "").rstrip("/")
    is_waiting = event.type == "task.status" and read(TaskStatus, event.data).to == Status.WAITING_APPROVAL
    if not url or not task.commit or not is_waiting or not any(one.startswith("ntfy") for one in settings.urls):
        return ()
    expires = time.time() + settings.answer_hours * 3600
    answer = OpenAnswer(project, task.id, task.run, task.commit, host_of(url), expires)
    try:
        codes = issue_codes(home, answer, _choices(event_log, task))
    except OSError:
        return ()  # a full disk: the message without buttons is still worth sending
    labels = {GateChoice.APPROVE: f"Approve {task.commit[:7]}", GateChoice.FIX: "Send back"}
    address = f"{url}/answer"
    return tuple(MessageButton(labels[choice], address, json.dumps({"code": code})) for choice, code in codes.items())


def _choices(event_log: EventLog, task: Task) -> tuple[GateChoice, ...]:
    """Without a finding, and for a plan, an author needs a note, which no button can send."""
    can_be_sent_back = task.spec.type is not TaskType.PLAN and event_log.history(task.id).has_something_to_fix()
    return (GateChoice.APPROVE, GateChoice.FIX) if can_be_sent_back else (GateChoice.APPROVE,)
