"""One-time codes, which `serve --open` passes to the browser instead of the token."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

SECONDS = 60.0


@dataclass
class _IssuedCode:
    expires: float
    # the session that the code was exchanged for; None: not used yet
    cookie: str | None = None


class LoginCodes:
    """Each code is exchanged for one session, within a minute. Kept in memory only, as hashes.

    A command line can be read by every user of the machine, so another program may present the code first. The
    browser's own request then comes second, and ends the session that the first one was given.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._codes: dict[str, _IssuedCode] = {}

    def issue(self) -> str:
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._drop_expired()
            self._codes[_digest(code)] = _IssuedCode(self._clock() + SECONDS)
        return code

    def redeem(self, code: str, begin: Callable[[], str], end: Callable[[str], None]) -> bool:
        """For a valid code call `begin`, which returns a session's cookie; for a used one `end` its session."""
        with self._lock:
            self._drop_expired()
            entry = self._codes.get(_digest(code))
            if entry is None:
                return False
            if entry.cookie is not None:
                end(entry.cookie)
                return False
            entry.cookie = begin()
            return True

    def _drop_expired(self) -> None:
        now = self._clock()
        self._codes = {key: entry for key, entry in self._codes.items() if entry.expires > now}


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
