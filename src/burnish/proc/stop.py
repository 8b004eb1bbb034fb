"""One token per run, which can request a stop of everything, from any thread or a signal handler."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from burnish.errors import BurnishError


class Stopped(BurnishError):
    """A stop was requested while waiting."""

    exit_code = 130


class StopToken:
    """`request()` is gentle (TERM, three seconds, KILL); `request(now=True)` is not."""

    def __init__(self) -> None:
        # Re-entrant: a signal handler may call request() in the middle of listening().
        self._lock = threading.RLock()
        self._pipes: set[int] = set()
        self._requested = self._now = False

    @property
    def requested(self) -> bool:
        return self._requested

    @property
    def now(self) -> bool:
        return self._now

    def request(self, *, now: bool = False) -> None:
        with self._lock:
            self._requested, self._now = True, self._now or now
            for pipe in self._pipes:
                with suppress(BlockingIOError):  # full: the reader is notified already
                    os.write(pipe, b"!")

    @contextmanager
    def listening(self) -> Iterator[int]:
        """A descriptor that becomes readable at each request, at once if there was one before."""
        read, write = os.pipe()
        os.set_blocking(write, False)
        try:
            with self._lock:
                self._pipes.add(write)
                if self._requested:
                    os.write(write, b"!")
            yield read
        finally:
            with self._lock:
                self._pipes.discard(write)
            os.close(read)
            os.close(write)

    def wait(self, seconds: float) -> bool:
        """Sleep, but not past a request; True if there was one."""
        with self.listening() as pipe:
            select.select([pipe], [], [], max(seconds, 0))
        return self._requested
