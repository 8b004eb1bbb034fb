"""Browsers that showed the token: what we keep of them is useless to whoever reads it."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import BurnishError
from burnish.wiring.keeping import keep

MOST = 50
SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Session:
    """The cookie opens pages; the key, which the page keeps where no other port can read it, lets them act."""

    cookie: str
    key: str


class Sessions:
    """Hashes alone reach the disk, so that a restart knows its browsers and a thief learns nothing."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock
        self._guard = threading.Lock()
        self._known: dict[str, tuple[str, float]] = self._load()

    def begin(self) -> Session:
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        with self._guard:
            self._known[_hash(session.cookie)] = (_hash(session.key), self._clock())
            newest = sorted(self._known.items(), key=lambda entry: entry[1][1])[-MOST:]
            self._known = dict(newest)
            self._save()
        return session

    def end(self, cookie: str) -> None:
        with self._guard:
            if self._known.pop(_hash(cookie), None):
                self._save()

    def knows(self, cookie: str) -> bool:
        found = self._known.get(_hash(cookie))
        return found is not None and self._clock() - found[1] < SECONDS

    def owns(self, cookie: str, key: str) -> bool:
        found = self._known.get(_hash(cookie))
        return found is not None and bool(key) and secrets.compare_digest(found[0], _hash(key))

    def _load(self) -> dict[str, tuple[str, float]]:
        try:
            found = json.loads(self._file.read_text("utf-8"))
            return {str(cookie): (str(key), float(at)) for cookie, (key, at) in found.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            # they show the token once more, and that is all
            return {}

    def _save(self) -> None:
        # on a full disk it counts until the server ends
        with suppress(BurnishError):
            keep(self._file, json.dumps(self._known))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
