"""Attempts to get more than a role allows, to stay after access has ended, and to fill or forge the audit trail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from burnish.core.people import Role
from burnish.web.audit import MAX_REFUSED_PER_MINUTE
from burnish.web.static_files import static_prefix
from testing.at_hand import HOST, PORT, TOKEN, AtHand

OURS = {"Origin": f"http://{HOST}"}


@pytest.fixture
def team(server: AtHand) -> Iterator[dict[str, str]]:
    """Name → token: one person of each role."""
    people = server.registry.store.people
    tokens = {role.value: people.add(role.value, role, "user:test") or "" for role in Role}
    yield tokens
    server.client.cookies.clear()
    for role in Role:
        people.revoke(role.value)


def newest_id(server: AtHand) -> int:
    return len(server.registry.store.people.entries(most=100_000))


# -- the audit trail ------------------------------------------------------------------------------


def test_wrong_answers_of_strangers_do_not_fill_the_audit_trail_in_the_name_of_the_owner(server: AtHand) -> None:
    """No credential is needed to post a wrong code."""
    before = newest_id(server)
    for _ in range(MAX_REFUSED_PER_MINUTE + 20):
        assert server.client.post("/answer", json={"code": "0" * 16 + "." + "a" * 43}).status_code >= 400

    entries = server.registry.store.people.entries(most=100_000)
    new_entries = entries[: len(entries) - before]
    assert len(new_entries) <= MAX_REFUSED_PER_MINUTE
    assert {(one.person, one.is_refused) for one in new_entries} <= {("", True)}


def test_a_stranger_chooses_no_long_text_in_the_audit_trail(server: AtHand) -> None:
    for text in ("x" * 9000, "%1b[2Jcleared", "%E2%80%AEdesrever"):
        assert server.client.get(f"/api/v1/projects/{text}/tasks").status_code == 401
    for one in server.registry.store.people.entries(most=3):
        assert len(one.project) <= 200
        assert one.project.isprintable()


def test_files_of_pages_are_not_in_the_audit_trail(server: AtHand, team: dict[str, str]) -> None:
    """A viewer could displace what was done with requests for files."""
    before = newest_id(server)
    headers = {"Authorization": f"Bearer {team['viewer']}"}
    for name in ("burnish.css", "missing.css"):
        server.client.get(f"{static_prefix()}/{name}", headers=headers)
    for path in ("/nowhere", "/api/v1/nowhere", "/api/v1/me/"):
        server.client.request("GET", path, headers=headers, follow_redirects=False)
        server.client.request("POST", path, headers=headers, follow_redirects=False)
    assert newest_id(server) == before


# -- logins ---------------------------------------------------------------------------------------


def test_a_link_of_another_site_does_not_log_a_browser_in_as_somebody_else(
    server: AtHand, team: dict[str, str]
) -> None:
    """A person could lead the owner to a login of the person's own, and read what the owner then does."""
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Accept": "text/html"}
    answer = server.client.get(f"/login?token={team['viewer']}", headers=headers)
    assert "set-cookie" not in answer.headers
    assert server.client.get(f"/login?token={TOKEN}", headers=headers).status_code == 200


def socket_of(server: AtHand, cookie: str) -> Any:
    address = f"ws://{HOST}/ws?project={server.project}"
    return server.client.websocket_connect(address, headers={**OURS, "Cookie": f"burnish_{PORT}={cookie}"})


def test_a_socket_ends_with_its_session(server: AtHand) -> None:
    """Also one that another program got with a one-time code, which ends when the browser presents the code."""
    session, headers = server.browser()
    with socket_of(server, session.cookie) as socket:
        assert "hello" in socket.receive_json()
        assert server.client.post("/logout", headers=headers).status_code == 200
        with pytest.raises(WebSocketDisconnect):
            socket.receive_json()

    code = server.app.state.login_codes.issue()
    server.client.get(f"/login?code={code}")
    stolen = server.client.cookies[f"burnish_{PORT}"]
    server.client.cookies.clear()
    with socket_of(server, stolen) as socket:
        assert "hello" in socket.receive_json()
        assert server.client.get(f"/login?code={code}").status_code == 401
        with pytest.raises(WebSocketDisconnect):
            socket.receive_json()


# -- roles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", ["agents.x.command", "sandbox", "database", "notify.urls", "serve.proxies", "checks.test.run"]
)
def test_only_the_owner_changes_what_names_programs_or_confines_them(
    server: AtHand, team: dict[str, str], key: str
) -> None:
    path = f"/api/v1/projects/{server.project}/config/{key}"
    headers = {"Authorization": f"Bearer {team['maintainer']}"}
    answer = server.client.put(path, json={"text": "off"}, headers=headers)
    assert answer.status_code in (403, 409) and "cannot be changed here" in answer.text, answer.text
    assert "cannot be changed here" in server.client.delete(path, headers=headers).text


def test_no_spelling_of_a_request_gets_past_the_role(server: AtHand, team: dict[str, str]) -> None:
    project, viewer = server.project, team["viewer"]
    tries = 0
    for path in (f"/api/v1/projects/{project}/config", "/api/v1/people", "/api/v1/audit", "/audit"):
        parts = path.split("/")
        spellings = {
            path,
            path + "/",
            "/" + path,
            path.replace("/", "//", 2),
            path.upper(),
            path + "%00",
            path + "?x=1",
        }
        spellings |= {"/".join([*parts[:-1], f"%{ord(parts[-1][0]):02x}{parts[-1][1:]}"]), path + "/.", "/x/.." + path}
        spellings |= {"/static/.." + path, "/login/.." + path, "/answer/.." + path, path + "#/login", path + ";a=b"}
        for spelling in spellings:
            for method in ("GET", "HEAD", "get", "OPTIONS", "POST", "TRACE", "PROPFIND"):
                for more in (
                    {},
                    {"X-HTTP-Method-Override": "GET"},
                    {"X-Original-URL": path},
                    {"X-Forwarded-Prefix": "/x"},
                ):
                    headers = {"Authorization": f"Bearer {viewer}", **more}
                    answer = server.client.request(
                        method, f"http://{HOST}{spelling}", headers=headers, follow_redirects=True
                    )
                    tries += 1
                    assert answer.status_code >= 400, (method, spelling, answer.status_code)
    print(f"{tries} spellings tried")
