"""How many tasks of a run are worked on at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# seconds until a task that waits for a place looks whether it was stopped
_LOOK_AGAIN = 0.2


@dataclass(slots=True)
class WorkerSlots:
    """How many tasks are worked on at a time. A task that waits for a usage limit leaves its place to another."""

    limit: int = 1
    busy: int = 0
    # task → calls that wait
    waiting: dict[int, int] = field(default_factory=dict)
    # tasks whose wait has ended: they get a place before one that has not begun
    return_count: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def place(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self.busy < self.limit and not self.return_count)
            self.busy += 1
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def idle(self, task_id: int, is_stopped: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Leave the place to another task meanwhile. One that is stopped waits for no place when it returns."""
        with self._changed:
            self.waiting[task_id] = self.waiting.get(task_id, 0) + 1
            is_first = self.waiting[task_id] == 1
        if is_first:
            self._leave()
        has_ended = False
        try:
            yield
            has_ended = True
        finally:
            with self._changed:
                self.waiting[task_id] -= 1
                is_last = not self.waiting[task_id]
                if is_last:
                    del self.waiting[task_id]
            if is_last:
                # a task that was stopped does not wait for a place, it ends
                self._return(is_stopped if has_ended else lambda: True)

    def _return(self, is_stopped: Callable[[], bool]) -> None:
        with self._changed:
            self.return_count += 1
            while self.busy >= self.limit and not is_stopped():
                self._changed.wait(_LOOK_AGAIN)
            self.return_count -= 1
            self.busy += 1
            self._changed.notify_all()

    def _leave(self) -> None:
        with self._changed:
            self.busy -= 1
            self._changed.notify_all()
