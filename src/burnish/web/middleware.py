"""ASGI middleware that applies the access rules to every route and socket, and adds security headers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from html import escape
from typing import Any

from starlette.exceptions import HTTPException

from burnish.web.auth import MOST_BODY, Granted, Refusal, RequestInfo, RequestPolicy

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; connect-src 'self'; worker-src 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


class TooLarge(HTTPException):
    """The body is longer than allowed, whatever its Content-Length. An HTTPException, so that FastAPI passes it on."""

    def __init__(self) -> None:
        super().__init__(413, "The request is too large.")


class SecurityMiddleware:
    def __init__(self, app: Asgi, door: RequestPolicy) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        verdict = self._door.judge(_request_info(scope))
        if isinstance(verdict, Granted):
            scope.setdefault("state", {})["via"] = verdict.via
            await self._forward(scope, receive, send)
        elif scope["type"] == "websocket":
            await _close(receive, send)
        else:
            await _refuse(scope, send, verdict)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_security_headers(message.get("headers", ()))]
            await send(message)

        await self._app(scope, _limited(receive), send_with_headers)


def _request_info(scope: Scope) -> RequestInfo:
    headers: dict[str, tuple[str, ...]] = {}
    for name, value in scope.get("headers", ()):
        key = name.decode("latin-1").lower()
        headers[key] = (*headers.get(key, ()), value.decode("latin-1"))
    return RequestInfo(scope["type"], scope.get("method", "GET"), scope.get("path", ""), headers)


def _limited(receive: Receive) -> Receive:
    size = 0

    async def receive_limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MOST_BODY:
            raise TooLarge
        return message

    return receive_limited


def _security_headers(headers: Any) -> list[tuple[bytes, bytes]]:
    names = {name.lower() for name, _ in headers}
    extra = [] if b"cache-control" in names else [(b"cache-control", b"no-store")]
    return [pair for pair in HEADERS if pair[0] not in names] + extra


async def _close(receive: Receive, send: Send) -> None:
    """Close before the handshake; the client gets a 403."""
    await receive()
    await send({"type": "websocket.close", "code": 4403})


async def _refuse(scope: Scope, send: Send, refusal: Refusal) -> None:
    """Respond with problem+json, or with HTML to a browser."""
    kind, body = b"application/problem+json", _problem(refusal)
    if b"text/html" in dict(scope.get("headers", ())).get(b"accept", b""):
        kind, body = b"text/html; charset=utf-8", _page(refusal)
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *_security_headers(())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _problem(refusal: Refusal) -> bytes:
    problem = {"type": "about:blank", "title": refusal.what, "status": refusal.status, "detail": refusal.hint}
    return json.dumps(problem).encode()


def _page(refusal: Refusal) -> bytes:
    words = f"<h1>{escape(refusal.what)}</h1><p>{escape(refusal.hint)}</p>"
    return f"<!doctype html><html lang=en><meta charset=utf-8><title>burnish</title>{words}</html>".encode()
