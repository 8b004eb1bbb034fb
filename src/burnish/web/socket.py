"""`/ws`: events as they happen, from the last one that a client has seen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from starlette.concurrency import run_in_threadpool

from burnish.core.event import Recorded
from burnish.web.automaker import renamed
from burnish.web.hub import Hub
from burnish.wiring.house import House

router = APIRouter()

AT_ONCE = 500
NAMES = ("burnish", "automaker", "both")
# a proxy or a sleeping laptop must not make a dead line look like silence
BEAT = 20.0


@router.websocket("/ws")
async def events(socket: WebSocket, project: str = "", since: int = -1, names: str = "burnish") -> None:
    """`project`: its key. `since`: the last id seen; left out, only what happens from now on."""
    house: House = socket.app.state.house
    known = {row.key for row in await run_in_threadpool(house.projects)}
    if project not in known or names not in NAMES or since < -1:
        await socket.close(4404, "No such project, or names is none of burnish, automaker, both.")
        return
    await socket.accept()
    start = since if since >= 0 else await run_in_threadpool(house.store.last_event, project)
    sending = asyncio.create_task(_send(socket, house, socket.app.state.hub, project, start, names))
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await _listen(socket)
    sending.cancel()
    with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
        await sending


async def _listen(socket: WebSocket) -> None:
    """Nothing that a client says matters, but its leaving does."""
    while True:
        await socket.receive_text()


async def _send(socket: WebSocket, house: House, hub: Hub, project: str, seen: int, names: str) -> None:
    await socket.send_json({"hello": project, "since": seen})
    while True:
        news = hub.news
        batch = await run_in_threadpool(house.store.events, project, since=seen, limit=AT_ONCE)
        for event in batch:
            for message in _messages(event, names):
                await socket.send_json(message)
            seen = event.id
        if not batch:
            await _wait(socket, news)


async def _wait(socket: WebSocket, news: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(news.wait(), BEAT)
    except TimeoutError:
        await socket.send_json({"beat": True})


def _messages(event: Recorded, names: str) -> Iterator[dict[str, Any]]:
    if names != "automaker":
        yield event.envelope()
    if names != "burnish":
        told = renamed(event)
        if told is not None:
            yield told
