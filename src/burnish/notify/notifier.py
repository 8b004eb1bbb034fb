"""Sends in a thread of its own: no task waits for a notification, and none fails by one."""

from __future__ import annotations

import queue
import threading
import time as clock
from collections.abc import Callable, Sequence
from datetime import datetime

from burnish.core.event import RecordedEvent
from burnish.core.task import Task
from burnish.notify.message import Message, is_quiet, message_for
from burnish.notify.ways import Way

# How long one message may be on its way, and how long the end of a run waits for the last ones.
ONE, PATIENCE = 8.0, 10.0


class Notifier:
    """Hears of events and tells the person; `failed` hears of what could not be told."""

    def __init__(
        self,
        ways: Sequence[Way],
        *,
        on: tuple[str, ...],
        quiet_hours: str | None,
        failed: Callable[[Task, str], None],
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self.ways, self.on, self.quiet_hours = tuple(ways), on, quiet_hours
        self.failed, self.now = failed, now
        self.waiting: queue.SimpleQueue[tuple[Task, Message] | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.last: Task | None = None

    def event(self, task: Task, event: RecordedEvent) -> None:
        """Returns at once."""
        message = message_for(task, event, self.on) if self.ways else None
        if message is None or is_quiet(self.now().time(), self.quiet_hours):
            return
        if self.thread is None:
            # a daemon: a receiver that hangs must not keep burnish from ending
            self.thread = threading.Thread(target=self._work, name="notifier", daemon=True)
            self.thread.start()
        self.waiting.put((task, message))

    def close(self, patience: float = PATIENCE) -> None:
        """Waits for what is on its way, but not for ever."""
        if self.thread is None:
            return
        self.waiting.put(None)
        self.thread.join(patience)
        if self.thread.is_alive() and self.last is not None:
            self.failed(self.last, f"not delivered within {patience:g} seconds")

    def _work(self) -> None:
        while (entry := self.waiting.get()) is not None:
            task, message = entry
            self.last = task
            for why in _all(self.ways, message):
                self.failed(task, why)


def _all(ways: Sequence[Way], message: Message) -> list[str]:
    """Side by side, so that one receiver that hangs does not hold up the others."""
    said: list[str] = []
    threads = [threading.Thread(target=lambda way=way: said.append(way(message)), daemon=True) for way in ways]
    for thread in threads:
        thread.start()
    end = clock.monotonic() + ONE
    for thread in threads:
        thread.join(max(0.0, end - clock.monotonic()))
    hung = sum(thread.is_alive() for thread in threads)
    return [why for why in list(said) if why] + [f"no answer within {ONE:g} seconds"] * hung
