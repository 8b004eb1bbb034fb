"""Sends notifications in a separate thread, so that they cannot delay or fail a task."""

from __future__ import annotations

import queue
import threading
import time as clock
from collections.abc import Callable, Sequence
from datetime import datetime

from burnish.core.event import RecordedEvent
from burnish.core.task import Task
from burnish.notify.channels import Channel
from burnish.notify.message import Message, is_quiet, message_for

# seconds to send one message, and to wait for pending ones at the end of a run
ONE, PATIENCE = 8.0, 10.0


class Notifier:
    """Sends a message for each event that the user asked for; calls `on_failure` if that fails."""

    def __init__(
        self,
        channels: Sequence[Channel],
        *,
        on: tuple[str, ...],
        quiet_hours: str | None,
        on_failure: Callable[[Task, str], None],
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self.channels, self.on, self.quiet_hours = tuple(channels), on, quiet_hours
        self.on_failure, self.now = on_failure, now
        self.waiting: queue.SimpleQueue[tuple[Task, Message] | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.last: Task | None = None

    def event(self, task: Task, event: RecordedEvent) -> None:
        """Queue a message for the event, if it is to be notified. Does not block."""
        message = message_for(task, event, self.on) if self.channels else None
        if message is None or is_quiet(self.now().time(), self.quiet_hours):
            return
        if self.thread is None:
            # a daemon thread, so that a receiver that hangs does not keep burnish running
            self.thread = threading.Thread(target=self._work, name="notifier", daemon=True)
            self.thread.start()
        self.waiting.put((task, message))

    def close(self, patience: float = PATIENCE) -> None:
        """Wait for pending messages, at most `patience` seconds."""
        if self.thread is None:
            return
        self.waiting.put(None)
        self.thread.join(patience)
        if self.thread.is_alive() and self.last is not None:
            self.on_failure(self.last, f"not delivered within {patience:g} seconds")

    def _work(self) -> None:
        while (entry := self.waiting.get()) is not None:
            task, message = entry
            self.last = task
            for why in _all(self.channels, message):
                self.on_failure(task, why)


def _all(channels: Sequence[Channel], message: Message) -> list[str]:
    """Send in parallel, so that a receiver that hangs does not delay the others; returns the errors."""
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda channel=channel: results.append(channel(message)), daemon=True)
        for channel in channels
    ]
    for thread in threads:
        thread.start()
    end = clock.monotonic() + ONE
    for thread in threads:
        thread.join(max(0.0, end - clock.monotonic()))
    hung = sum(thread.is_alive() for thread in threads)
    return [why for why in list(results) if why] + [f"no answer within {ONE:g} seconds"] * hung
