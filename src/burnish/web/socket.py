"""`/ws`: events as they happen, from the last one that a client has seen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
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
# a proxy or a sleeping laptop must not make a dead line look like silence
BEAT = 20.0
# of a closing frame
MOST_WORDS = 100
LATEST = 2**62


@dataclass(frozen=True, slots=True)
class SocketConnection:
    """One client, and what it wants to hear."""

    socket: WebSocket
    store: Store
    hub: ChangeNotifier
    project: str
    names: str


@router.websocket("/ws")
async def events(socket: WebSocket, project: str = "", since: str = "-1", names: str = "burnish") -> None:
    """`project`: its key. `since`: the last id seen; left out, only what happens from now on."""
    registry: ProjectRegistry = socket.app.state.registry
    # accepted before it is closed: a browser is not told why a handshake failed
    await socket.accept()
    try:
        known = {row.key for row in await run_in_threadpool(registry.projects)}
    except BurnishError as error:
        await socket.close(1011, error.what[:MOST_WORDS])
        return
    seen = _number(since)
    if project not in known or names not in NAMES or seen is None:
        await socket.close(
            4404, "No such project, since is no event's id, or names is none of burnish, automaker, both."
        )
        return
    start = seen if seen >= 0 else await run_in_threadpool(registry.store.last_event, project)
    line = SocketConnection(socket, registry.store, socket.app.state.hub, project, names)
    both = {asyncio.create_task(_send(line, start)), asyncio.create_task(_listen(socket))}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _end(socket, both)


def _number(since: str) -> int | None:
    """Read here and not by FastAPI, which would refuse the handshake without a word."""
    plain = since.isascii() and since.removeprefix("-").isdigit() and len(since) < 20
    return int(since) if plain and -1 <= int(since) <= LATEST else None


async def _end(socket: WebSocket, both: set[asyncio.Task[None]]) -> None:
    """Whichever ended first, the other goes too: a line that says nothing must not look alive."""
    for one in both:
        one.cancel()
    ended = await asyncio.gather(*both, return_exceptions=True)
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await socket.close(1011)
    for error in ended:
        # a store that cannot be read is said by every page; the client comes again by itself
        if isinstance(error, Exception) and not isinstance(error, WebSocketDisconnect | RuntimeError | BurnishError):
            raise error


async def _listen(socket: WebSocket) -> None:
    """Nothing that a client says matters, but its leaving does."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _send(line: SocketConnection, seen: int) -> None:
    """Each batch is read when the one before it is out: who reads slowly holds up nobody, and fills no memory."""
    await line.socket.send_text(dumped({"hello": line.project, "since": seen}))
    while True:
        news = line.hub.news
        batch = await run_in_threadpool(line.store.events, line.project, since=seen, limit=AT_ONCE)
        for event in batch:
            messages = await run_in_threadpool(_renamed, event, line) if line.names != "burnish" else _plain(event)
            for message in messages:
                await line.socket.send_text(dumped(message))
            seen = event.id
            # a line that was cut takes everything without a word: give the news of it a chance
            await asyncio.sleep(0)
        if not batch:
            await _wait(line.socket, news)


async def _wait(socket: WebSocket, news: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(news.wait(), BEAT)
    except TimeoutError:
        await socket.send_text(dumped({"beat": True}))


def _plain(event: RecordedEvent) -> Iterator[dict[str, Any]]:
    yield event.envelope()


def _renamed(event: RecordedEvent, line: SocketConnection) -> list[dict[str, Any]]:
    told = renamed(event, line.store)
    own = [event.envelope()] if line.names == "both" else []
    return own if told is None else [*own, told]
