"""Notifies the user when a task stops, in the ways set in the settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from burnish.core.agent import Use
from burnish.core.event import RecordedEvent
from burnish.core.journal_events import NotifyFailed, new_event
from burnish.core.task import Task
from burnish.engine.ports import Progress
from burnish.errors import BurnishError
from burnish.notify.notifier import Channel, Notifier, bell, desktop, url
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
def notifying(event_log: EventLog, settings: Notify, progress: Progress) -> Iterator[NotifyingProgress]:
    reported_errors: set[str] = set()

    def failed(task: Task, why: str) -> None:
        # A full disk or a missing database: the task reports that itself.
        with suppress(BurnishError):
            event_log.record(task.id, new_event("notify.failed", NotifyFailed(why), run=task.run, cycle=task.cycle))
        if why not in reported_errors:
            reported_errors.add(why)
            progress.note(f"A notification could not be sent: {why}")

    notifier = Notifier(
        channels(settings), on=settings.on, quiet_hours=settings.quiet_hours, on_failure=failed, now=clock.now
    )
    try:
        yield NotifyingProgress(progress, notifier)
    finally:
        notifier.close()


def channels(settings: Notify) -> list[Channel]:
    """The enabled and available channels."""
    own = (bell() if settings.bell else None, desktop(os.environ, settings.sound) if settings.desktop else None)
    return [way for way in own if way] + [url(address) for address in settings.urls]
