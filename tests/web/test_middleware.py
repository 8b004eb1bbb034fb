"""Promise 16: every route refuses a wrong Host, Origin or token, whatever else is right."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from burnish.web.middleware import HEADERS
from testing.at_hand import HOST, TOKEN, AtHand
from testing.lab import Lab
from testing.serving import Served, serving

OURS = f"http://{HOST}"
BEARER = f"Bearer {TOKEN}"
Pairs = list[tuple[str, str]]


def header_sets(cookie: str, key: str) -> dict[str, tuple[Pairs, str]]:
    """Name → headers, and where they are refused: everywhere, or only where something is done."""
    looks, ours, acts = ("Cookie", cookie), ("Origin", OURS), ("X-Burnish-Key", key)
    host, right, length = ("Host", HOST), ("Authorization", BEARER), "Content-Length"
    rebound = [("Host", "evil.example:4270"), looks, ("Origin", "http://evil.example:4270")]
    elsewhere = [("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "cors")]
    return {
        "wrong host": ([("Host", "127.0.0.1:1"), right], "all"),
        "no host": ([right], "all"),
        "a name bound to this machine": (rebound, "all"),
        "two hosts": ([host, ("Host", "evil.example"), right], "all"),
        "foreign origin": ([host, right, ("Origin", "http://evil.example")], "all"),
        "null origin": ([host, looks, acts, ("Origin", "null")], "all"),
        "another port's page": ([host, looks, ours, acts, *elsewhere], "all"),
        "no token": ([host], "all"),
        "wrong token": ([host, ("Authorization", f"Bearer {TOKEN}x")], "all"),
        "another port's cookie": ([host, ("Cookie", cookie.replace("4270", "4271")), ours, acts], "all"),
        "two tokens": ([host, right, right], "all"),
        "cookie alone": ([host, looks], "acts"),
        "cookie without key": ([host, looks, ours], "acts"),
        "form": ([host, right, ("Content-Type", "application/x-www-form-urlencoded"), (length, "3")], "acts"),
        "too large": ([host, right, ("Content-Type", "application/json"), (length, "99999999")], "acts"),
    }


def everything(routes: list[BaseRoute]) -> Iterator[tuple[str, str, str]]:
    """Kind, method and a path for every route there is."""
    for route in routes:
        if inner := getattr(route, "original_router", None):
            yield from everything(inner.routes)
            continue
        path = re.sub(r"\{project[^}]*\}", "PROJECT", getattr(route, "path", ""))
        path = re.sub(r"\{(task|name|finding)[^}]*\}", "1", path)
        path = re.sub(r"\{[^}]*\}", "x", path)
        if isinstance(route, WebSocketRoute):
            yield "websocket", "GET", path
        elif isinstance(route, Mount):
            yield "http", "GET", f"{path}/burnish.css"
        else:
            assert isinstance(route, Route) or hasattr(route, "methods"), route
            for method in {*(getattr(route, "methods", None) or ()), "HEAD", "OPTIONS", "TRACE"}:
                yield "http", method, path


async def asked(server: AtHand, kind: str, method: str, path: str, headers: Pairs) -> tuple[int, bytes]:
    """What the guard answers, told to it as a server would."""
    sent: list[dict[str, Any]] = []
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    scope: dict[str, Any] = {"type": kind, "path": path, "raw_path": path.encode(), "query_string": b"", "headers": raw}
    scope |= {"method": method, "scheme": "http", "http_version": "1.1", "root_path": "", "subprotocols": []}
    first = {"type": "websocket.connect"} if kind == "websocket" else {"type": "http.request", "body": b"{}"}

    async def receive() -> dict[str, Any]:
        return first

    async def send(message: Any) -> None:
        sent.append(message)

    await server.guarded(scope, receive, send)
    if kind == "websocket":
        return (403, b"") if [one["type"] for one in sent] == ["websocket.close"] else (101, b"")
    names = {name for name, _ in sent[0]["headers"]}
    assert {name for name, _ in HEADERS} <= names
    return int(sent[0]["status"]), b"".join(one.get("body", b"") for one in sent)


def cases(server: AtHand) -> Iterator[tuple[str, str, str, str, Pairs]]:
    """Every route with every set of headers that it has to refuse."""
    session, _ = server.browser()
    sets = header_sets(f"burnish_4270={session.cookie}", session.key)
    assert len(sets) >= 12
    nowhere = {("http", method, "/nowhere") for method in ("GET", "POST", "DELETE")} | {
        ("websocket", "GET", "/nowhere")
    }
    for kind, method, path in sorted({*everything(server.app.routes), *nowhere}):
        acts = kind == "websocket" or method not in ("GET", "HEAD")
        for name, (headers, where) in sets.items():
            if where == "acts" and not acts:
                continue
            if kind == "websocket" and name in ("cookie without key", "form", "too large"):
                continue  # a socket tells of events and takes none, so that a page of ours needs no key for it
            if path == "/login" and method in ("GET", "HEAD") and name in ("no token", "another port's cookie"):
                continue  # here a token is shown; without one it answers 401 all the same
            yield name, kind, method, path.replace("PROJECT", server.project), headers


@pytest.mark.slow
def test_every_route_refuses_what_does_not_belong_here(server: AtHand) -> None:
    before, tried = server.lab.events(), list(cases(server))

    async def exceptions() -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        for name, kind, method, path, headers in tried:
            status, body = await asked(server, kind, method, path, headers)
            # there, the code in the body is what counts: `tests/notify/test_answers.py`
            refusals = (401, 403, 413, 415, 421, *((405, 409, 422) if path == "/answer" else ()))
            if status not in refusals or server.project.encode() in body:
                found.append((name, kind, method, path, str(status)))
        return found

    assert asyncio.run(exceptions()) == []
    assert len({path for _, _, _, path, _ in tried}) > 40 and len(tried) > 1000
    assert server.lab.events() == before


def test_a_stranger_at_the_login_learns_nothing(server: AtHand) -> None:
    for query in ("", "?token=", "?token=wrong", f"?token={TOKEN[:-1]}", f"?token={TOKEN}x", "?token=wrong&token="):
        for accept in ("text/html", "*/*"):
            answer = server.client.get(f"/login{query}", headers={"Accept": accept}, follow_redirects=False)
            assert answer.status_code == 401 and server.project not in answer.text
            assert "set-cookie" not in answer.headers
    for path in ("/login", "/"):
        answer = server.client.head(path, headers={"Accept": "text/html"})
        assert server.project not in answer.text and answer.status_code in (401, 405)


def test_the_token_in_an_address_opens_only_the_login(server: AtHand) -> None:
    for path in (f"/?token={TOKEN}", f"/api/v1/projects?token={TOKEN}", f"/api/v1/projects?access_token={TOKEN}"):
        assert server.client.get(path).status_code == 401


def test_the_cookie_is_for_this_port_out_of_reach_of_scripts_and_not_the_token(server: AtHand) -> None:
    answer = server.client.get(f"/login?token={TOKEN}")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("burnish_4270=")
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower() and TOKEN not in cookie
    server.client.cookies.clear()


# what only a real server can show


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    lab = Lab.make(tmp_path_factory.mktemp("raw") / "lab")
    lab.add("Add division")
    with serving(lab) as one:
        yield one


def raw(served: Served, text: bytes, *, seconds: float = 10) -> bytes:
    """The answer to bytes, as they are; "" where the line was simply cut."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=seconds) as line:
        line.sendall(text)
        got = b""
        while b"\r\n\r\n" not in got:
            more = line.recv(65536)
            if not more:
                break
            got += more
        return got


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


REFUSED = (0, 400, 401, 403, 404, 405, 413, 414, 415, 421, 426, 431, 501, 505)


@pytest.mark.slow
def test_odd_requests_are_refused_and_break_nothing(served: Served) -> None:
    host, right = f"127.0.0.1:{served.port}", f"Authorization: Bearer {served.token}"
    get, named = "GET /api/v1/projects HTTP/1.1", f"Host: {host}"
    odd = [
        [get, right],
        ["GET /api/v1/projects HTTP/1.0", right],
        [get, f"Host: {host}.", right],
        [get, f"Host: x@{host}", right],
        [get, named, named, right],
        ["GET http://evil.example/api/v1/projects HTTP/1.1", "Host: evil.example", right],
        [f"GET http://{host}/api/v1/projects HTTP/1.1", named],
        [get, named, "Origin: http://[::1", right],
        [get, named, "Authorization: Bearer \xff\xfe"],
        ["TRACE / HTTP/1.1", named, right],
        ["OPTIONS * HTTP/1.1", named],
        [f"CONNECT {host} HTTP/1.1", named, right],
        ["get /api/v1/projects HTTP/1.1", named, right],
        ["POST /api/v1/projects HTTP/1.1", named, right, "Content-Length: \xb2"],
        ["POST /api/v1/x HTTP/1.1", named, right, "Content-Length: 5", "Transfer-Encoding: chunked"],
        ["GET /static/../app.py HTTP/1.1", named, right],
        ["GET /static/%2e%2e/app.py HTTP/1.1", named, right],
        ["GET /static//etc/passwd HTTP/1.1", named, right],
        ["GET /login%00 HTTP/1.1", named],
        [f"GET /{'x' * 100_000} HTTP/1.1", named, right],
        [get, named, f"X: {'x' * 1_000_000}", right],
        ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ]
    for lines in odd:
        text = "\r\n".join([*lines, "", ""])
        assert status(raw(served, text.encode("latin-1"))) in REFUSED, text[:120]
    assert served.api("GET", "/projects").status_code == 200


def test_a_body_that_goes_on_and_on_is_cut(served: Served) -> None:
    head = (
        f"POST /api/v1/projects/{served.project}/tasks HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        f"Authorization: Bearer {served.token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    assert status(raw(served, head.encode() + chunk * 40)) == 413
    # what is short enough is taken, however it comes
    body = b'{"title": "In pieces"}'
    assert status(raw(served, head.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))) == 201


def test_sockets_are_refused_before_the_handshake(served: Served) -> None:
    host, right = f"127.0.0.1:{served.port}", f"Authorization: Bearer {served.token}\r\n"
    number = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    shake = f"Upgrade: websocket\r\nConnection: Upgrade\r\n{number}"

    def shaken(headers: str) -> int:
        return status(raw(served, f"GET /ws?project={served.project} HTTP/1.1\r\n{shake}{headers}\r\n".encode()))

    assert shaken(f"Host: {host}\r\n{right}") == 101
    assert shaken(f"Host: {host}\r\n{right}Origin: http://{host}\r\n") == 101
    for headers in (
        f"Host: {host}\r\n",
        f"Host: {host}\r\nCookie: burnish_{served.port}=x\r\nOrigin: http://{host}\r\n",
        f"Host: {host}\r\n{right}Origin: http://evil.example\r\n",
        f"Host: {host}\r\n{right}Origin: null\r\n",
        f"Host: evil.example\r\n{right}",
        f"Host: {host}\r\nAuthorization: Bearer wrong\r\n",
        f"Host: {host}\r\n{right}Sec-Fetch-Site: cross-site\r\n",
    ):
        assert shaken(headers) == 403, headers
