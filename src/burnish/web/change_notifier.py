"""Wakes up the open sockets when the store has changed. Each socket then reads the new events itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from burnish.errors import BurnishError

# Seconds between checks for changes by other processes; a check takes microseconds.
PAUSE = 0.1


class ChangeNotifier:
    """Has no queues: the event log is the buffer, so a slow client uses no memory and misses no event."""

    def __init__(self, version: Callable[[], int]) -> None:
        self._version = version
        self._over = threading.Event()
        self._soon = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Event = asyncio.Event()
        self._thread: threading.Thread | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.Thread(target=self._watch, name="store-watcher", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._soon.set()
        if self._thread:
            self._thread.join()

    def nudge(self) -> None:
        """Check now, because this process has changed something."""
        self._soon.set()

    @property
    def news(self) -> asyncio.Event:
        """Set at the next change. Get it before reading the store and wait for it afterwards, to miss nothing."""
        return self._news

    def _watch(self) -> None:
        last_version = self._look()
        while not self._over.is_set():
            is_notified = self._soon.wait(PAUSE)
            self._soon.clear()
            version = self._look()
            if is_notified or version != last_version:
                last_version = version
                self._tell()

    def _look(self) -> int | None:
        """The version of the store; None while it cannot be read, so that the recovery counts as a change."""
        try:
            return self._version()
        except BurnishError:
            return None

    def _tell(self) -> None:
        loop = self._loop
        if loop and not loop.is_closed():
            loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        event, self._news = self._news, asyncio.Event()
        event.set()
