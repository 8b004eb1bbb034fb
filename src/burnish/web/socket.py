"""`/ws`: sends events, starting after the last one that the client has."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from starlette.concurrency import run_in_threadpool

from burnish.core.event import RecordedEvent
from burnish.errors import BurnishError
from burnish.features.server.registry import ProjectRegistry
from burnish.store import Store
from burnish.web.asciijson import dumped
from burnish.web.automaker import renamed
from burnish.web.change_notifier import ChangeNotifier

router = APIRouter()

AT_ONCE = 500
NAMES = ("burnish", "automaker", "both")
# seconds between heartbeats, which show that the connection is alive
BEAT = 20.0
# of the reason in a close frame
MOST_WORDS = 100
LATEST = 2**62


@dataclass(frozen=True, slots=True)
class SocketConnection:
    """One client and its subscription."""

    socket: WebSocket
    store: Store
    hub: ChangeNotifier
    project: str
    names: str


@router.websocket("/ws")
async def events(socket: WebSocket, project: str = "", since: str = "-1", names: str = "burnish") -> None:
    """`project`: its key. `since`: the last known event id; default: only new events."""
    registry: ProjectRegistry = socket.app.state.registry
    # accept first: a browser does not see why a handshake failed
    await socket.accept()
    try:
        keys = {row.key for row in await run_in_threadpool(registry.projects)}
    except BurnishError as error:
        await socket.close(1011, error.what[:MOST_WORDS])
        return
    last_id = _number(since)
    if project not in keys or names not in NAMES or last_id is None:
        await socket.close(4404, "Unknown project, invalid since, or names is not one of burnish, automaker, both.")
        return
    start = last_id if last_id >= 0 else await run_in_threadpool(registry.store.last_event, project)
    connection = SocketConnection(socket, registry.store, socket.app.state.hub, project, names)
    both = {asyncio.create_task(_send(connection, start)), asyncio.create_task(_listen(socket))}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _end(socket, both)


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
        batch = await run_in_threadpool(connection.store.events, connection.project, since=last_id, limit=AT_ONCE)
        for event in batch:
            messages = [event.envelope()]
            if connection.names != "burnish":
                messages = await run_in_threadpool(_renamed, event, connection)
            for message in messages:
                await connection.socket.send_text(dumped(message))
            last_id = event.id
            # send() succeeds on a dropped connection; yield so that the disconnect is noticed
            await asyncio.sleep(0)
        if not batch:
            await _wait(connection.socket, news)


async def _wait(socket: WebSocket, news: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(news.wait(), BEAT)
    except TimeoutError:
        await socket.send_text(dumped({"beat": True}))


def _renamed(event: RecordedEvent, connection: SocketConnection) -> list[dict[str, Any]]:
    message = renamed(event, connection.store)
    own = [event.envelope()] if connection.names == "both" else []
    return own if message is None else [*own, message]
