"""ASGI middleware that applies the access rules to every route and socket, and adds security headers."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import replace
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from burnish.core.people import OWNER
from burnish.errors import BurnishError
from burnish.runtime.app import ACTING
from burnish.web.audit import AuditTrail
from burnish.web.audit import Request as AuditedRequest
from burnish.web.auth import MAX_BODY, Granted, Refusal, RequestInfo, RequestPolicy, forbidden
from burnish.web.login_page import LOGIN_PAGE_POLICY, login_page
from burnish.web.roles import UNKNOWN, Endpoints

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; connect-src 'self'; worker-src 'none'"
)
HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
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
    def __init__(
        self,
        app: Asgi,
        door: RequestPolicy,
        audit: AuditTrail | None = None,
        count: Callable[[str, int, float], None] = lambda label, status, seconds: None,
    ) -> None:
        self._app = app
        self._door = door
        self._audit = audit
        # called with the route, the status and the seconds of each request
        self._count = count
        self._endpoints = Endpoints(getattr(app, "routes", ()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        begin = time.monotonic()
        info, endpoint = _request_info(scope), self._endpoints.find(scope)
        verdict, address = await self._judge(info), self._door.client_address(info)
        person = verdict.person if isinstance(verdict, Granted) else None
        if isinstance(verdict, Granted) and endpoint is not None:
            verdict = forbidden(verdict.person, endpoint.least) or verdict
        if isinstance(verdict, Granted):
            scope.setdefault("state", {}).update(via=verdict.via, person=verdict.person, address=address)
            # what the request records is signed by who sent it
            ACTING.set("" if verdict.person is OWNER else verdict.person.signature)
            status = await self._forward(scope, receive, send)
        else:
            status = verdict.status
            await (_close(receive, send) if scope["type"] == "websocket" else _refuse(scope, send, verdict))
        via = verdict.via if isinstance(verdict, Granted) else ""
        request = AuditedRequest(person, via, address, endpoint or UNKNOWN)
        await self._record(request, verdict, status)
        self._count(endpoint.label if endpoint else "", status, time.monotonic() - begin)

    async def _judge(self, info: RequestInfo) -> Granted | Refusal:
        if not self._door.asks_database(info):
            return self._door.judge(info)
        try:
            return await run_in_threadpool(self._door.judge, info)
        except BurnishError as error:
            return Refusal(503, error.what, error.hint)

    async def _record(self, request: AuditedRequest, verdict: Granted | Refusal, status: int) -> None:
        if self._audit is None:
            return
        if isinstance(verdict, Refusal):
            # a browser that is not logged in asks for many files; its page is what counts
            if status in (401, 403):
                await run_in_threadpool(self._audit.refused, request, status)
        elif verdict.via == "answer" and status >= 400:
            # a wrong code: the sender is not known
            await run_in_threadpool(self._audit.refused, replace(request, person=None), 403)
        elif request.endpoint.is_audited and verdict.via != "login":
            await run_in_threadpool(self._audit.done, request, status)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> int:
        """The status of the answer."""
        status = 500
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return 101

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_security_headers(message.get("headers", ()))]
            await send(message)

        await self._app(scope, _limited(receive), send_with_headers)
        return status


def _request_info(scope: Scope) -> RequestInfo:
    headers: dict[str, tuple[str, ...]] = {}
    for name, value in scope.get("headers", ()):
        key = name.decode("latin-1").lower()
        headers[key] = (*headers.get(key, ()), value.decode("latin-1"))
    address = str((scope.get("client") or ("",))[0])
    return RequestInfo(scope["type"], scope.get("method", "GET"), scope.get("path", ""), headers, address)


def _limited(receive: Receive) -> Receive:
    size = 0

    async def receive_limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY:
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
    more: list[tuple[bytes, bytes]] = []
    if b"text/html" in dict(scope.get("headers", ())).get(b"accept", b""):
        kind, body = b"text/html; charset=utf-8", login_page(refusal)
        more = [(b"content-security-policy", LOGIN_PAGE_POLICY.encode()), (b"referrer-policy", b"same-origin")]
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *more, *_security_headers(more)]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _problem(refusal: Refusal) -> bytes:
    problem = {"type": "about:blank", "title": refusal.what, "status": refusal.status, "detail": refusal.hint}
    return json.dumps(problem).encode()
