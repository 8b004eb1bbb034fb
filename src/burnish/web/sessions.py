"""Sessions of browsers, kept in the memory of one server process."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

MOST = 50
SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class WebSession:
    """The cookie allows reading. Changes need the key too, which is in local storage, out of reach of other ports."""

    cookie: str
    key: str


class Sessions:
    """Nothing is stored on disk: while no server runs, another program can listen on its port, and an open page
    sends its cookie and key there. The next server must therefore accept neither.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        # part of every digest, so that a digest of another process never matches
        self._secret = secrets.token_bytes(32)
        # not secret: identifies the process that issued a cookie, for the error message
        self._start = secrets.token_hex(8)
        self._sessions: dict[str, tuple[str, float]] = {}

    def begin(self) -> WebSession:
        session = WebSession(f"{self._start}.{secrets.token_urlsafe(32)}", secrets.token_urlsafe(32))
        with self._lock:
            self._sessions[self._digest(session.cookie)] = (self._digest(session.key), self._clock())
            newest = sorted(self._sessions.items(), key=lambda entry: entry[1][1])[-MOST:]
            self._sessions = dict(newest)
        return session

    def end(self, cookie: str) -> None:
        with self._lock:
            self._sessions.pop(self._digest(cookie), None)

    def knows(self, cookie: str) -> bool:
        found = self._sessions.get(self._digest(cookie))
        return found is not None and self._clock() - found[1] < SECONDS

    def owns(self, cookie: str, key: str) -> bool:
        found = self._sessions.get(self._digest(cookie))
        return found is not None and bool(key) and secrets.compare_digest(found[0], self._digest(key))

    def is_from_earlier_start(self, cookie: str) -> bool:
        """For the error message only: does not tell whether the cookie was ever valid."""
        return not cookie.startswith(f"{self._start}.")

    def _digest(self, value: str) -> str:
        return hmac.new(self._secret, value.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
