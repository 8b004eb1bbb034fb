"""Records in the audit trail what was done on the server, and what was refused, without letting strangers fill it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from burnish.core.people import AuditEntry, Person
from burnish.errors import BurnishError
from burnish.proc.identity import login_name
from burnish.web.roles import Endpoint

# refused requests that are stored per minute; the others are counted in the next one that is stored
MAX_REFUSED_PER_MINUTE = 30
MAX_PROJECT = 100


@dataclass(frozen=True, slots=True)
class Request:
    """Who sent it, from where, and which route it is for."""

    person: Person | None
    via: str
    address: str
    endpoint: Endpoint

    def entry(self, status: int, more: int = 0) -> AuditEntry:
        person, endpoint = self.person, self.endpoint
        # the owner of the server is recorded as the login that started it, as in events
        name = "" if person is None else person.name or f"user:{login_name()}"
        role = "" if person is None else person.role.value
        # from the address of the request, which anyone chooses
        project = "".join(sign if sign.isprintable() else "?" for sign in endpoint.project[:MAX_PROJECT])
        return AuditEntry(
            "", name, role, self.via, self.address[:100], project, endpoint.task, endpoint.label, status, more
        )


class AuditTrail:
    def __init__(self, record: Callable[[AuditEntry], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._record = record
        self._clock = clock
        self._lock = threading.Lock()
        self._minute_start = -60.0
        self._stored = 0
        self._skipped = 0

    def done(self, request: Request, status: int) -> None:
        # what was done is in the events, too: a database that cannot be written now must not undo the answer
        with suppress(BurnishError):
            self._record(request.entry(status))

    def refused(self, request: Request, status: int) -> None:
        with self._lock:
            now = self._clock()
            if now - self._minute_start >= 60:
                self._minute_start, self._stored = now, 0
            if self._stored >= MAX_REFUSED_PER_MINUTE:
                self._skipped += 1
                return
            self._stored += 1
            more, self._skipped = self._skipped, 0
        with suppress(BurnishError):
            self._record(request.entry(status, more))
