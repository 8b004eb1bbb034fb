"""Who may come in, as a table: no server, no socket, only headers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from burnish.web.auth import MAX_BODY, Granted, Refusal, RequestInfo, RequestPolicy, hosts_of

HOST = "127.0.0.1:4270"
HOSTS = hosts_of(["127.0.0.1", "localhost", "::1"], 4270)
DOOR = RequestPolicy(
    "right-token", HOSTS, "burnish_4270", lambda cookie: cookie == "c", lambda c, key: (c, key) == ("c", "k")
)

TOKEN = {"host": HOST, "authorization": "Bearer right-token"}
COOKIE = {"host": HOST, "cookie": "burnish_4270=c"}
PAGE = {**COOKIE, "origin": f"http://{HOST}", "x-burnish-key": "k"}


def judged(
    method: str, headers: Mapping[str, str | tuple[str, ...]], *, path: str = "/x", kind: str = "http"
) -> int | str:
    """Let in as whom, or refused with which status."""
    values = {name: (value,) if isinstance(value, str) else value for name, value in headers.items()}
    verdict = DOOR.judge(RequestInfo(kind, method, path, values))
    assert isinstance(verdict, Granted | Refusal)
    return verdict.via if isinstance(verdict, Granted) else verdict.status


@pytest.mark.parametrize(
    ("method", "headers", "who"),
    [
        ("GET", TOKEN, "api"),
        ("HEAD", TOKEN, "api"),
        ("POST", TOKEN, "api"),
        ("DELETE", TOKEN, "api"),
        ("GET", {**TOKEN, "authorization": "bearer  right-token "}, "api"),
        ("GET", {**TOKEN, "host": "LOCALHOST:4270"}, "api"),
        ("GET", {**TOKEN, "host": "[::1]:4270"}, "api"),
        ("POST", {**TOKEN, "content-length": "2", "content-type": "Application/JSON; charset=utf-8"}, "api"),
        ("GET", COOKIE, "web"),
        ("GET", {**COOKIE, "cookie": "other=1; burnish_4270=c; last=2"}, "web"),
        ("POST", PAGE, "web"),
        ("POST", {**PAGE, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, "web"),
        ("GET", {**COOKIE, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, "web"),
        ("GET", {**COOKIE, "sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, "web"),
    ],
)
def test_those_who_belong_here_come_in(method: str, headers: dict[str, str], who: str) -> None:
    assert judged(method, headers) == who


@pytest.mark.parametrize(
    "host",
    [
        "",
        "127.0.0.1",
        "127.0.0.1:4271",
        "127.0.0.1:04270",
        "evil.example:4270",
        "evil.example",
        "localhost.:4270",
        "user@127.0.0.1:4270",
        "127.0.0.1:4270@evil.example",
        "127.0.0.1:4270, evil.example",
        " 127.0.0.1:4270",
        "127.1:4270",
        "2130706433:4270",
        "[::ffff:127.0.0.1]:4270",
        "[::1%25lo]:4270",
        "127.0.0.1:4270/",
        "ⅼocalhost:4270",
        ("127.0.0.1:4270", "127.0.0.1:4270"),
        ("127.0.0.1:4270", "evil.example"),
    ],
)
def test_only_under_its_own_names(host: str | tuple[str, ...]) -> None:
    assert judged("GET", {**TOKEN, "host": host}) == 421
    assert judged("GET", {**TOKEN, "host": host}, kind="websocket") == 421


def test_without_a_host_nobody_is_let_in() -> None:
    assert judged("GET", {"authorization": TOKEN["authorization"]}) == 421


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://evil.example:4270",
        "https://127.0.0.1:4270",
        "http://127.0.0.1:5000",
        "http://127.0.0.1",
        "http://127.0.0.1:4270.evil.example",
        "http://127.0.0.1:4270/",
        "http://127.0.0.1:4270?x",
        "http://127.0.0.1:4270@evil.example",
        "http://user@127.0.0.1:4270",
        "http://localhost.:4270",
        "http://[::1",
        "http://[not-an-address]:4270",
        "file://127.0.0.1:4270",
        "127.0.0.1:4270",
        (f"http://{HOST}", "http://evil.example"),
        (f"http://{HOST}", f"http://{HOST}"),
    ],
)
def test_a_foreign_origin_is_refused_whoever_it_claims_to_be(origin: str | tuple[str, ...]) -> None:
    for headers in (TOKEN, PAGE):
        for kind, method in (("http", "GET"), ("http", "POST"), ("websocket", "GET")):
            assert judged(method, {**headers, "origin": origin}, kind=kind) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "weird", ("same-origin", "same-origin")])
def test_what_a_page_elsewhere_asks_for_in_the_background_is_refused(site: str | tuple[str, ...]) -> None:
    assert judged("GET", {**COOKIE, "sec-fetch-site": site}) == 403
    assert judged("GET", {**COOKIE, "sec-fetch-site": site, "sec-fetch-mode": "no-cors"}) == 403
    # a link that a person follows opens a page, and never does anything
    assert judged("POST", {**PAGE, "sec-fetch-site": site, "sec-fetch-mode": "navigate"}) == 403


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Bearer right-token-and-more",
        "Bearer right-toke",
        "Basic right-token",
        "right-token",
        "Bearer Right-Token",
        "Bearer right-token,right-token",
        ("Bearer right-token", "Bearer right-token"),
    ],
)
def test_a_wrong_token_is_refused_even_beside_a_good_cookie(given: str | tuple[str, ...]) -> None:
    assert judged("GET", {"host": HOST, "authorization": given}) == 401
    assert judged("POST", {**PAGE, "authorization": given}) == 401


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "burnish_4270=",
        "burnish_4270=d",
        "burnish_4271=c",
        "burnish=c",
        "Burnish_4270=c",
        "xburnish_4270=c",
        "burnish_4270=d; burnish_4270=c",
        ("burnish_4270=c", "burnish_4270=c"),
    ],
)
def test_a_cookie_of_somebody_else_opens_nothing(cookie: str | tuple[str, ...]) -> None:
    assert judged("GET", {"host": HOST, "cookie": cookie}) == 401
    assert judged("POST", {**PAGE, "cookie": cookie}) == 401


def test_a_cookie_may_look_but_not_act() -> None:
    """Any server on this machine is sent it: only the page itself has the key."""
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "post", "get", "PROPFIND"):
        assert judged(method, COOKIE) == 403, method
        assert judged(method, {**COOKIE, "origin": f"http://{HOST}"}) == 403, method
        assert judged(method, {**PAGE, "x-burnish-key": "wrong"}) == 403, method
        assert judged(method, {**PAGE, "x-burnish-key": ("k", "k")}) == 403, method
    # a key without its origin is no page of ours either
    assert judged("POST", {**COOKIE, "x-burnish-key": "k"}) == 403


def test_a_socket_with_a_cookie_has_to_say_where_it_comes_from() -> None:
    assert judged("GET", COOKIE, kind="websocket") == 403
    assert judged("GET", {**COOKIE, "origin": f"http://{HOST}"}, kind="websocket") == "web"
    assert judged("GET", TOKEN, kind="websocket") == "api"
    assert judged("GET", {"host": HOST}, kind="websocket", path="/login") == 401


def test_a_stranger_may_show_a_token_and_nothing_else() -> None:
    assert judged("GET", {"host": HOST}, path="/login") == "login"
    for path in ("/", "/login/", "/LOGIN", "/login/x", "//login", "/static/burnish.css", "/api/v1/projects"):
        assert judged("GET", {"host": HOST}, path=path) == 401
    assert judged("POST", {"host": HOST}, path="/login") == "login"
    assert judged("POST", {"host": HOST, "origin": "http://evil.example"}, path="/login") == 403
    for method in ("PUT", "PATCH", "DELETE", "OPTIONS"):
        assert judged(method, {"host": HOST}, path="/login") == 401
    assert judged("GET", {"host": "evil.example"}, path="/login") == 421


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"content-length": "5"}, 415),
        ({"content-length": "5", "content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-length": "5", "content-type": "text/plain"}, 415),
        ({"content-length": "5", "content-type": "multipart/form-data; boundary=x"}, 415),
        ({"content-length": "5", "content-type": "application/json-patch+json"}, 415),
        ({"content-length": "5", "content-type": ("application/json", "text/plain")}, 415),
        ({"transfer-encoding": "chunked"}, 415),
        ({"transfer-encoding": "chunked", "content-type": "text/plain"}, 415),
        ({"content-length": str(MAX_BODY + 1), "content-type": "application/json"}, 413),
        ({"content-length": "9" * 5000, "content-type": "application/json"}, 413),
        ({"content-length": "-1", "content-type": "application/json"}, 413),
        ({"content-length": "\xb2", "content-type": "application/json"}, 413),
        ({"content-length": "0x10", "content-type": "application/json"}, 413),
        ({"content-length": ("5", "6"), "content-type": "application/json"}, 413),
    ],
)
def test_only_json_and_not_too_much_of_it(more: dict[str, str | tuple[str, ...]], status: int) -> None:
    for headers in (TOKEN, PAGE):
        assert judged("POST", {**headers, **more}) == status


def test_what_a_browser_may_write_as_host() -> None:
    assert hosts_of(["Example", "::1"], 80) == {"example:80", "example", "[::1]:80", "[::1]"}
