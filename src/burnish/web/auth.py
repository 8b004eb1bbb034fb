"""Access rules: which HTTP and WebSocket requests are allowed, and the middleware that applies this to every route."""

from __future__ import annotations

import hmac
import json
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from typing import Any

from starlette.exceptions import HTTPException

READING = frozenset({"GET", "HEAD"})
KEY_HEADER = "x-burnish-key"
LOGIN = "/login"
MAX_BODY = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """The parts of a request that access depends on."""

    kind: str  # http or websocket
    method: str
    path: str
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def one(self, name: str) -> str | None:
        """The value of a header. A repeated header counts as invalid."""
        values = self.headers.get(name, ())
        return values[0] if len(values) == 1 else ("\x00" if values else None)

    def cookie(self, name: str) -> str | None:
        for part in (self.one("cookie") or "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return None

    @property
    def writes(self) -> bool:
        return self.kind == "http" and self.method not in READING


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class Granted:
    """Allowed: `api` by the token, `web` by a browser's session, `login` only to present a token."""

    via: str


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """The rules of one server. Sessions change, so they are looked up by functions."""

    token: str
    hosts: frozenset[str]
    cookie_name: str
    # whether a session exists; whether a key belongs to it
    knows: Callable[[str], bool]
    owns: Callable[[str, str], bool]
    # whether an earlier server process issued the cookie
    is_from_earlier_start: Callable[[str], bool] = lambda cookie: False

    def judge(self, request: RequestInfo) -> Granted | Refusal:
        """Check the host, the origin, the body and the credentials, in this order."""
        return self._host(request) or self._origin(request) or self._body(request) or self._who(request)

    def _host(self, request: RequestInfo) -> Refusal | None:
        # Comparing Origin with Host is not enough: with DNS rebinding both are equal.
        if (request.one("host") or "").lower() in self.hosts:
            return None
        return Refusal(421, "This server does not answer to that host name.", _address(self.hosts))

    def _origin(self, request: RequestInfo) -> Refusal | None:
        origin = request.one("origin")
        foreign = Refusal(403, "The request comes from another site.", _address(self.hosts))
        if origin is not None and not self._ours(origin):
            return foreign
        # Background requests of other sites are refused; links that the user follows are allowed.
        is_cross_site = request.one("sec-fetch-site") not in (None, "same-origin", "none")
        is_navigation = request.one("sec-fetch-mode") == "navigate" and not request.writes
        return foreign if is_cross_site and not is_navigation else None

    def _ours(self, origin: str) -> bool:
        # compared as text: URL parsers can be tricked
        scheme, _, host = origin.lower().partition("://")
        return scheme == "http" and host in self.hosts

    def _body(self, request: RequestInfo) -> Refusal | None:
        if not request.writes:
            return None
        length = request.one("content-length")
        if length is not None and not _fits(length):
            return Refusal(413, "The request is too large.", f"The limit is {MAX_BODY // 1024 // 1024} MB.")
        has_body = length not in (None, "0") or request.one("transfer-encoding") is not None
        kind = (request.one("content-type") or "").partition(";")[0].strip().lower()
        if has_body and kind != "application/json":
            return Refusal(415, "The body must be JSON.", "Send it as Content-Type: application/json.")
        return None

    def _who(self, request: RequestInfo) -> Granted | Refusal:
        credentials = request.one("authorization")
        if credentials is not None:
            scheme, _, token = credentials.partition(" ")
            is_valid = scheme.lower() == "bearer" and same(token.strip(), self.token)
            return Granted("api") if is_valid else STRANGER
        session = request.cookie(self.cookie_name)
        if session is None or not self.knows(session):
            is_login = request.kind == "http" and not request.writes and request.path == LOGIN
            is_earlier = session is not None and self.is_from_earlier_start(session)
            return Granted("login") if is_login else RESTARTED if is_earlier else STRANGER
        return self._with_cookie(request, session)

    def _with_cookie(self, request: RequestInfo, session: str) -> Granted | Refusal:
        """Cookies are sent to all ports of this machine, so a cookie alone only allows reading."""
        if (request.kind == "websocket" or request.writes) and request.one("origin") is None:
            return Refusal(403, "The request has a cookie but no Origin header.", "Use the token.")
        if request.writes and not self.owns(session, request.one(KEY_HEADER) or ""):
            return Refusal(
                403, "This page can read but not change anything.", "Open the URL that `burnish serve` printed again."
            )
        return Granted("web")


STRANGER = Refusal(401, "The token is missing or wrong.", "Open the URL that `burnish serve` printed.")
RESTARTED = Refusal(
    401,
    "burnish serve was restarted, which ended your login.",
    "To log in again, open the URL that `burnish serve` printed, or restart it with `burnish serve --open`.",
)


def _fits(length: str) -> bool:
    # int() is slow for many digits, and isdigit() accepts superscripts
    return length.isascii() and length.isdigit() and len(length) <= 12 and int(length) <= MAX_BODY


def same(value: str, expected: str) -> bool:
    return hmac.compare_digest(value.encode("utf-8", "replace"), expected.encode())


def hosts_of(names: Iterable[str], port: int) -> frozenset[str]:
    """The values of the Host header that are accepted."""
    found = set()
    for name in names:
        bare = f"[{name}]" if ":" in name else name.lower()
        found.add(f"{bare}:{port}")
        if port == 80:
            found.add(bare)
    return frozenset(found)


def _address(hosts: frozenset[str]) -> str:
    return f"It answers at http://{min(hosts, default='')}"


# -- middleware -----------------------------------------------------------------------------------
# ASGI middleware that applies the access rules to every route and socket, and adds security headers.

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
        kind, body = b"text/html; charset=utf-8", door_page(refusal)
        more = [(b"content-security-policy", _DOOR_POLICY.encode())]
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *more, *_security_headers(more)]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _problem(refusal: Refusal) -> bytes:
    problem = {"type": "about:blank", "title": refusal.what, "status": refusal.status, "detail": refusal.hint}
    return json.dumps(problem).encode()


# -- door page ------------------------------------------------------------------------------------
# The page for a browser that is not logged in. It loads nothing: files are behind the login, too.

_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; min-height: 90vh; display: grid; place-items: center;
  font: 16px/1.5 system-ui, sans-serif; background: Canvas; color: CanvasText; }
main { max-width: 34rem; padding: 24px; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 12px; }
code { padding: 2px 6px; border-radius: 4px; background: color-mix(in srgb, CanvasText 10%, Canvas); }
.brand { font-weight: 700; margin: 0 0 24px; }
a { display: inline-block; min-height: 24px; color: LinkText; }
"""
_DOOR_POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
DOOR_HEADERS = {"content-type": "text/html; charset=utf-8", "content-security-policy": _DOOR_POLICY}


def door_page(refusal: Refusal) -> bytes:
    what, hint = escape(refusal.what), re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(refusal.hint))
    ways = [hint]
    if refusal.status == 401:
        if refusal is STRANGER:
            ways.append("If you no longer have it, start the server again with <code>burnish serve --open</code>.")
        ways.append('Logged in in another tab? <a href="">Reload this page</a>.')
    text = "".join(f"<p>{way}</p>" for way in ways)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{what} · burnish</title><style>{_STYLE}</style></head>"
        f'<body><main><p class="brand">burnish</p><h1>{what}</h1>{text}</main></body></html>'
    ).encode()
