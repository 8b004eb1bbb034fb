"""Tells every open socket that something is new. What it is, each reads from the store by itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from burnish.errors import BurnishError

# How often the store is asked whether somebody else has written; costs microseconds.
PAUSE = 0.1


class ChangeNotifier:
    """No queues: the event log is the buffer, so a slow client costs nothing and misses nothing."""

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
        """Something happened in this process: do not wait for the next look."""
        self._soon.set()

    @property
    def news(self) -> asyncio.Event:
        """Set once, at the next news; take it before you look, wait for it afterwards, and nothing is missed."""
        return self._news

    def _watch(self) -> None:
        seen = self._look()
        while not self._over.is_set():
            nudged = self._soon.wait(PAUSE)
            self._soon.clear()
            version = self._look()
            if nudged or version != seen:
                seen = version
                self._tell()

    def _look(self) -> int | None:
        """None where the store cannot be read just now: that ends when the trouble does, and is news as well."""
        try:
            return self._version()
        except BurnishError:
            return None

    def _tell(self) -> None:
        loop = self._loop
        if loop and not loop.is_closed():
            loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        rung, self._news = self._news, asyncio.Event()
        rung.set()
