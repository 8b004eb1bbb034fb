"""`/ws`: sends events, starting after the last one that the client has."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from starlette.concurrency import run_in_threadpool

from burnish.core.codec import encode
from burnish.core.event import RecordedEvent
from burnish.core.journal import Failure, PhaseResult, ReviewResult, is_review, read
from burnish.core.journal_events import FindingChanged, ReviewCompleted, ReviewProgress, ReviewStopped, TaskStatus
from burnish.core.people import OWNER, Person
from burnish.errors import BurnishError, Refused
from burnish.features.review.single_review import in_three
from burnish.features.server.registry import ProjectRegistry
from burnish.store import Store
from burnish.web.asciijson import dumped

router = APIRouter()

AT_ONCE = 500
NAMES = ("burnish", "automaker", "both")
# seconds between heartbeats, which show that the connection is alive
BEAT = 20.0
# of the reason in a close frame
MAX_WORDS = 100
LATEST = 2**62


@dataclass(frozen=True, slots=True)
class SocketConnection:
    """One client and its subscription."""

    socket: WebSocket
    store: Store
    hub: ChangeNotifier
    project: str
    names: str
    # raises if the person may not read any more
    check_access: Callable[[], None] = lambda: None
    # called with the seconds from each event to its sending
    report_lag: Callable[[float], None] = lambda lag: None


@router.websocket("/ws")
async def events(socket: WebSocket, project: str = "", since: str = "-1", names: str = "burnish") -> None:
    """`project`: its key. `since`: the last known event id; default: only new events."""
    registry: ProjectRegistry = socket.app.state.registry
    # accept first: a browser does not see why a handshake failed
    await socket.accept()
    try:
        keys = {row.key for row in await run_in_threadpool(registry.projects)}
    except BurnishError as error:
        await socket.close(1011, error.what[:MAX_WORDS])
        return
    last_id = _number(since)
    if project not in keys or names not in NAMES or last_id is None:
        await socket.close(4404, "Unknown project, invalid since, or names is not one of burnish, automaker, both.")
        return
    start = last_id if last_id >= 0 else await run_in_threadpool(registry.store.last_event, project)
    # events that the client asks for again are old
    newest = await run_in_threadpool(registry.store.last_event, project)
    report_lag: Callable[[float], None] = socket.app.state.counts.event_sent if start >= newest else lambda lag: None
    check = await run_in_threadpool(access_check, socket, registry.store)
    connection = SocketConnection(socket, registry.store, socket.app.state.hub, project, names, check, report_lag)
    both = {asyncio.create_task(_send(connection, start)), asyncio.create_task(_listen(socket))}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _end(socket, both)


def _age(ts: str) -> float:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(ts)).total_seconds()
    except ValueError:
        return 0.0


def access_check(socket: WebSocket, store: Store) -> Callable[[], None]:
    """Ends a socket whose session has ended, and one of a person who was revoked; the owner cannot be."""
    person: Person = socket.state.person
    login = None if person is OWNER else store.people.named(person.name)
    cookie = socket.cookies.get(socket.app.state.door.cookie_name, "") if socket.state.via == "web" else None

    def check() -> None:
        if cookie is not None and not socket.app.state.sessions.knows(cookie):
            raise Refused("You are logged out.")
        if person is OWNER:
            return
        # a name that only a reverse proxy knows is not in the database
        is_valid = store.people.of_digest(login.token) if login else socket.state.via == "proxy"
        if not is_valid:
            raise Refused("Your access was revoked.")

    return check


def _number(since: str) -> int | None:
    """Parse `since`. FastAPI would refuse the handshake without a reason."""
    plain = since.isascii() and since.removeprefix("-").isdigit() and len(since) < 20
    return int(since) if plain and -1 <= int(since) <= LATEST else None


async def _end(socket: WebSocket, both: set[asyncio.Task[None]]) -> None:
    """Cancel both tasks and close the connection."""
    for one in both:
        one.cancel()
    results = await asyncio.gather(*both, return_exceptions=True)
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await socket.close(1011)
    for error in results:
        # pages report a store that cannot be read; the client reconnects
        if isinstance(error, Exception) and not isinstance(error, WebSocketDisconnect | RuntimeError | BurnishError):
            raise error


async def _listen(socket: WebSocket) -> None:
    """Wait for the disconnect; messages of the client are ignored."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _send(connection: SocketConnection, last_id: int) -> None:
    """Send events in batches. A batch is read after the one before was sent, so a slow client uses no memory."""
    await connection.socket.send_text(dumped({"hello": connection.project, "since": last_id}))
    while True:
        news = connection.hub.news
        batch = await run_in_threadpool(_next_events, connection, last_id)
        for event in batch:
            messages = [event.envelope()]
            if connection.names != "burnish":
                messages = await run_in_threadpool(_renamed, event, connection)
            for message in messages:
                await connection.socket.send_text(dumped(message))
            last_id = event.id
            connection.report_lag(_age(event.ts))
            # send() succeeds on a dropped connection; yield so that the disconnect is noticed
            await asyncio.sleep(0)
        if not batch:
            await _wait(connection.socket, news)


def _next_events(connection: SocketConnection, last_id: int) -> list[RecordedEvent]:
    # the store has changed: the person may have been revoked
    connection.check_access()
    return connection.store.events(connection.project, since=last_id, limit=AT_ONCE)


async def _wait(socket: WebSocket, news: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(news.wait(), BEAT)
    except TimeoutError:
        await socket.send_text(dumped({"beat": True}))


def _renamed(event: RecordedEvent, connection: SocketConnection) -> list[dict[str, Any]]:
    message = renamed(event, connection.store)
    own = [event.envelope()] if connection.names == "both" else []
    return own if message is None else [*own, message]


# -- change notifier ------------------------------------------------------------------------------
# Wakes up the open sockets when the store has changed. Each socket then reads the new events itself.

# Seconds between checks for changes by other processes; a check takes 20 microseconds.
PAUSE = 0.02


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


# -- automaker ------------------------------------------------------------------------------------
# Events with the names and payloads of automaker, for programs that use those.

_NAMES = {
    "review.started": "started",
    "review.progress": "progress",
    "finding.opened": "progress",
    "finding.resolved": "progress",
    "finding.reopened": "progress",
    "review.completed": "completed",
    "review.approved": "approved",
    "review.rejected": "rejected",
    "review.failed": "failed",
    "phase.failed": "failed",
    "review.max_cycles": "max-iterations",
}
_FOUND = ("finding.opened", "finding.reopened", "finding.reanchored", "finding.disputed")
_FINDING = ("category", "severity", "title", "description", "suggestion", "file", "line")


def renamed(event: RecordedEvent, store: Store) -> dict[str, Any] | None:
    """The event as automaker names it; None if automaker has no such event. `id` is the event's id, for resuming."""
    name = _NAMES.get(event.type)
    if name is None or event.task is None or (event.type == "phase.failed" and not _of_review(event)):
        return None
    payload = {"featureId": str(event.task), **_payload(name, event, store)}
    return {"id": event.id, "type": f"feature:code-review-{name}", "payload": payload}


def _payload(name: str, event: RecordedEvent, store: Store) -> dict[str, Any]:
    number = {"iterationNumber": event.cycle}
    match name:
        case "started":
            return number
        case "progress":
            return {**number, "message": _message(event)}
        case "completed":
            review = read(ReviewCompleted, event.data)
            findings = _findings(event, review, store)
            status, summary = in_three(review.verdict), review.summary or review.caveat
            return {**number, "status": status, "findings": findings, "summary": summary}
        case "approved":
            return {"nextStatus": _next_status(event, store)}
        case "rejected":
            return {**number, "rejectionReason": _reason(event, store)}
        case "failed":
            return {"error": _error(event)}
    return {}


def _message(event: RecordedEvent) -> str:
    if event.type == "review.progress":
        return read(ReviewProgress, event.data).message
    finding = read(FindingChanged, event.data).finding
    return f"{finding.id} {event.type.removeprefix('finding.')}: {finding.remark.title}".strip()


def _error(event: RecordedEvent) -> str:
    if event.type == "phase.failed":
        failure = read(Failure, event.data)
        return failure.what or failure.error
    stop = read(ReviewStopped, event.data)
    return stop.why or stop.error


def _findings(event: RecordedEvent, review: ReviewCompleted, store: Store) -> list[dict[str, Any]]:
    """Those that the review gave, as they stood then: from the log, since the tables tell of now."""
    changes = (read(FindingChanged, one.data).finding for one in _before(event, store, _FOUND))
    known = {finding.id: finding for finding in changes}
    findings = [known[id] for id in dict.fromkeys(review.findings) if id in known]
    return [{"id": one.id, **{key: encode(getattr(one.remark, key)) for key in _FINDING}} for one in findings]


def _reason(event: RecordedEvent, store: Store) -> str:
    """The reviewer's rejection reason, or why the task was sent back."""
    reviews = [one for one in _before(event, store, ["phase.finished"]) if _of_review(one) and one.cycle == event.cycle]
    stop = read(ReviewStopped, event.data)
    words = read(ReviewResult, reviews[-1].data).rejection_reason if reviews and not stop.by else ""
    return words or stop.why


def _next_status(event: RecordedEvent, store: Store) -> str:
    """The status that was recorded together with the approval."""
    after = store.events(event.project, task=event.task, since=event.id, limit=1, types=["task.status"])
    return read(TaskStatus, after[0].data).to if after else "verified"


def _before(event: RecordedEvent, store: Store, types: Iterable[str]) -> list[RecordedEvent]:
    found = store.events(event.project, task=event.task, types=types)
    return [one for one in found if one.id < event.id and one.run == event.run]


def _of_review(event: RecordedEvent) -> bool:
    return is_review(read(PhaseResult, event.data).phase)
