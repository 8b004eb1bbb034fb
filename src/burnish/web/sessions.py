"""Sessions of browsers, and the one-time codes that begin them, kept in the memory of one server process."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

MAX_ITEMS = 50
SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class WebSession:
    """The cookie allows reading. Changes need the key too, which is in local storage, out of reach of other ports."""

    cookie: str
    key: str


@dataclass(frozen=True, slots=True)
class _StoredSession:
    key: str
    since: float
    login: str


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
        self._sessions: dict[str, _StoredSession] = {}

    def begin(self, login: str = "") -> WebSession:
        """`login`: the digest of a person's token, which the session ends with; "": the owner of the server."""
        session = WebSession(f"{self._start}.{secrets.token_urlsafe(32)}", secrets.token_urlsafe(32))
        with self._lock:
            self._sessions[self._digest(session.cookie)] = _StoredSession(
                self._digest(session.key), self._clock(), login
            )
            # each person has a share of its own, so that one cannot end the sessions of the others
            own = [entry for entry in self._sessions.items() if entry[1].login == login]
            for digest, _ in sorted(own, key=lambda entry: entry[1].since)[:-MAX_ITEMS]:
                del self._sessions[digest]
        return session

    def end(self, cookie: str) -> None:
        with self._lock:
            self._sessions.pop(self._digest(cookie), None)

    def knows(self, cookie: str) -> bool:
        found = self._sessions.get(self._digest(cookie))
        return found is not None and self._clock() - found.since < SECONDS

    def login_of(self, cookie: str) -> str | None:
        """The digest of the token of the person; "" for the owner of the server, None if there is no such session."""
        found = self._sessions.get(self._digest(cookie))
        return found.login if found else None

    def owns(self, cookie: str, key: str) -> bool:
        found = self._sessions.get(self._digest(cookie))
        return found is not None and bool(key) and secrets.compare_digest(found.key, self._digest(key))

    def is_from_earlier_start(self, cookie: str) -> bool:
        """For the error message only: does not tell whether the cookie was ever valid."""
        return not cookie.startswith(f"{self._start}.")

    def _digest(self, value: str) -> str:
        return hmac.new(self._secret, value.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


# -- login codes ----------------------------------------------------------------------------------
# One-time codes, which `serve --open` passes to the browser instead of the token.

CODE_SECONDS = 60.0


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
            self._codes[_digest(code)] = _IssuedCode(self._clock() + CODE_SECONDS)
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
