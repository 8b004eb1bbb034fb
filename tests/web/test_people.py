"""People with roles: who may do what, who did it, and how access ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from burnish.config.sections import ServeSection
from burnish.core.people import AuditEntry, Person, Role
from burnish.errors import BadInput
from burnish.mcp.server import McpEndpoint
from burnish.web.audit import MAX_REFUSED_PER_MINUTE, AuditTrail, Request
from burnish.web.auth import Granted, People, ProxyRules, RequestInfo, RequestPolicy
from burnish.web.roles import LEAST, Endpoint, Endpoints
from burnish.web.server import front_settings, token_for
from burnish.web.static_files import static_prefix
from testing.at_hand import HOST, PORT, AtHand

OURS = {"Origin": f"http://{HOST}"}


@pytest.fixture
def team(server: AtHand) -> Iterator[dict[str, str]]:
    """Name → token: one person of each role."""
    people = server.registry.store.people
    tokens = {role.value: people.add(role.value, role, "user:test") or "" for role in Role}
    yield tokens
    for role in Role:
        people.revoke(role.value)


def asked(server: AtHand, token: str, method: str, path: str, body: Any = None) -> Any:
    more = {} if body is None else {"json": body}
    return server.client.request(method, path, headers={"Authorization": f"Bearer {token}"}, **more)


def form_login(server: AtHand, **fields: str) -> Any:
    return server.client.post("/login", data=fields, headers=OURS)


# -- the table ------------------------------------------------------------------------------------


def test_every_route_and_socket_has_a_least_role(server: AtHand) -> None:
    server.app.mount("/mcp", McpEndpoint(server.registry))
    labels = set(Endpoints(server.app.routes).labels())

    assert len(labels) > 100
    assert sorted(labels - LEAST.keys()) == [], "add them to web/roles.py"
    assert sorted(LEAST.keys() - labels) == [], "these routes do not exist any more"


def test_a_viewer_can_change_nothing_and_a_reviewer_runs_nothing() -> None:
    changing = {label for label in LEAST if not label.startswith(("GET", "WS", "MOUNT"))}
    for_viewers = {label for label in changing if LEAST[label] is Role.VIEWER}
    assert {label.rpartition("/")[2] for label in for_viewers} == {
        *("login", "logout", "markdown", "viewed", "seen", "preferences"),
        # needs the code of a notification
        "answer",
    }
    words = ("run", "auto", "merge", "config", "people", "projects", "retry", "done", "pr", "rebuild")
    for label in changing:
        if label.rpartition("/")[2] in words:
            assert LEAST[label] is Role.MAINTAINER, label


def test_a_route_without_an_entry_is_refused_to_people(server: AtHand, team: dict[str, str]) -> None:
    server.app.add_api_route("/new", lambda: {"secret": 1})

    assert asked(server, team["maintainer"], "GET", "/new").status_code == 403
    assert server.api("GET", "/projects").status_code == 200


@pytest.mark.parametrize("role", list(Role))
def test_each_role_gets_exactly_what_the_table_allows(server: AtHand, team: dict[str, str], role: Role) -> None:
    """The answer to what is allowed may be an error of the request, never a refusal of the role."""
    for label, least in LEAST.items():
        method, _, path = label.partition(" ")
        if method in ("WS", "MOUNT") or path in ("/login", "/logout", "/answer"):
            continue
        url = path.replace("{project}", "no-such-project").replace("{task}", "1")
        url = re.sub(r"\{[^}]*\}", "x", url)
        answer = asked(server, team[role.value], method, url, {"nonsense": 1} if method != "GET" else None)
        is_refused = answer.status_code == 403 and "Your role is" in answer.text
        assert is_refused is not role.covers(least), (label, answer.status_code, answer.text[:200])


# -- logging in -----------------------------------------------------------------------------------


def test_a_person_logs_in_with_the_token_and_sees_the_own_name(server: AtHand, team: dict[str, str]) -> None:
    answer = form_login(server, token=team["viewer"])
    assert answer.status_code == 200 and "burnish_4270" in answer.headers["set-cookie"]

    page = server.client.get(f"/p/{server.project}", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert 'data-role="viewer"' in page.text and "Log out" in page.text
    assert server.client.get("/api/v1/me").json() == {"name": "viewer", "role": "viewer"}
    assert [one.person for one in server.registry.store.people.entries() if one.action == "login"][:1] == ["viewer"]
    server.client.cookies.clear()


def test_a_wrong_token_gets_the_login_page_and_is_in_the_audit_trail(server: AtHand, team: dict[str, str]) -> None:
    answer = form_login(server, token="bp_wrong")

    assert answer.status_code == 401 and 'name="token"' in answer.text
    # else a browser sends the form with `Origin: null`, which is refused
    assert answer.headers["referrer-policy"] == "same-origin"
    newest = server.registry.store.people.entries(most=1)[0]
    assert (newest.action, newest.status, newest.person) == ("login", 401, "")
    door = server.client.get("/", headers={"Accept": "text/html"})
    assert door.status_code == 401 and door.headers["referrer-policy"] == "same-origin"


def test_opening_a_one_time_link_does_not_use_it(server: AtHand, team: dict[str, str]) -> None:
    code = server.registry.store.people.new_link("reviewer", 1) or ""
    for _ in range(2):
        shown = server.client.get(f"/login?link={code}")
        assert "Log in as reviewer" in shown.text and "set-cookie" not in shown.headers

    assert form_login(server, link=code).status_code == 200
    assert server.client.get("/api/v1/me").json()["name"] == "reviewer"
    server.client.cookies.clear()
    assert form_login(server, link=code).status_code == 401


def test_another_site_cannot_log_a_browser_in(server: AtHand, team: dict[str, str]) -> None:
    answer = server.client.post("/login", data={"token": team["viewer"]}, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403


def test_revoking_ends_the_session_the_token_and_the_socket(server: AtHand, team: dict[str, str]) -> None:
    form_login(server, token=team["viewer"])
    assert server.client.get("/api/v1/me").status_code == 200
    address = f"ws://{HOST}/ws?project={server.project}"
    headers = {**OURS, "Cookie": f"burnish_{PORT}={server.client.cookies[f'burnish_{PORT}']}"}
    with server.client.websocket_connect(address, headers=headers) as socket:
        assert "hello" in socket.receive_json()
        server.registry.store.people.revoke("viewer")
        server.registry.changed()
        with pytest.raises(WebSocketDisconnect):
            socket.receive_json()

    refusal = server.client.get("/api/v1/me")
    assert refusal.status_code == 401 and refusal.json()["title"] == "Your access was revoked."
    server.client.cookies.clear()
    assert asked(server, team["viewer"], "GET", "/api/v1/me").status_code == 401


def test_a_new_role_counts_from_the_next_request_on(server: AtHand, team: dict[str, str]) -> None:
    path = f"/api/v1/projects/{server.project}/config"
    assert asked(server, team["viewer"], "GET", path).status_code == 403
    server.registry.store.people.set_role("viewer", Role.MAINTAINER)
    assert asked(server, team["viewer"], "GET", path).status_code == 200


# -- who did it -----------------------------------------------------------------------------------


def test_what_a_person_does_is_signed_with_the_name(server: AtHand, team: dict[str, str]) -> None:
    path = f"/api/v1/projects/{server.project}/tasks/2"
    answer = asked(server, team["reviewer"], "POST", f"{path}/comments", {"text": "calc.py:1 why?"})
    assert answer.status_code == 200, answer.text
    finding = answer.json()["finding"]["id"] if "finding" in answer.json() else answer.json()["id"]
    waived = asked(server, team["reviewer"], "POST", f"{path}/findings/{finding}/waive", {"reason": "old"})
    assert waived.status_code == 200, waived.text

    shown = asked(server, team["viewer"], "GET", f"{path}/findings").text
    assert "user:reviewer@web" in shown
    assert "user:reviewer@web" in server.lab.burnish("show", "2", "--json").out
    newest = server.registry.store.people.entries(person="reviewer", project=server.project)
    assert [(one.task, one.status, one.via) for one in newest] == [(2, 200, "api")] * 2
    assert newest[0].action.endswith("/waive") and newest[0].address


def test_drafts_belong_to_one_person(server: AtHand, team: dict[str, str]) -> None:
    path = f"/api/v1/projects/{server.project}/tasks/1/draft"
    drafts = {name: asked(server, team[name], "GET", path).json() for name in ("reviewer", "maintainer")}
    assert drafts["reviewer"]["comments"] == drafts["maintainer"]["comments"] == []
    commit = server.registry.store.task(server.project, 1).commit
    path_of, blob = server.lab.repo.git("ls-tree", "-r", f"{commit}", "--format=%(path) %(objectname)").split()[:2]
    body = {"path": path_of, "blob": blob, "text": "mine"}
    added = asked(server, team["reviewer"], "POST", f"{path}/comments", body)
    assert added.status_code == 200, added.text

    assert "mine" in asked(server, team["reviewer"], "GET", path).text
    assert "mine" not in asked(server, team["maintainer"], "GET", path).text


def test_refusals_of_a_role_name_it_and_are_in_the_audit_trail(server: AtHand, team: dict[str, str]) -> None:
    answer = asked(server, team["viewer"], "POST", f"/api/v1/projects/{server.project}/tasks/1/decide", {})

    assert answer.status_code == 403
    assert answer.json()["title"] == "Your role is viewer, which does not allow this. It needs the role reviewer."
    newest = server.registry.store.people.entries(most=1)[0]
    assert (newest.person, newest.status, newest.project, newest.task) == ("viewer", 403, server.project, 1)


def test_reading_is_not_in_the_audit_trail(server: AtHand, team: dict[str, str]) -> None:
    before = server.registry.store.people.entries(most=1000)
    for path in ("/api/v1/projects", f"/p/{server.project}", f"{static_prefix()}/burnish.css"):
        assert asked(server, team["viewer"], "GET", path).status_code == 200
    assert server.registry.store.people.entries(most=1000) == before


def test_each_person_has_preferences_of_their_own_and_no_change_of_them_is_in_the_audit_trail(
    server: AtHand, team: dict[str, str]
) -> None:
    before = server.registry.store.people.entries(most=1000)

    def change(person: str, **values: str) -> Any:
        return asked(server, team[person], "PATCH", "/api/v1/me/preferences", values).json()["preferences"]

    assert change("viewer", folded="done", notify="on") == {"folded": "done", "notify": "on"}
    assert change("reviewer", folded="to_do") == {"folded": "to_do"}
    assert change("viewer", folded="") == {"notify": "on"}
    page = asked(server, team["viewer"], "GET", f"/p/{server.project}").text
    assert "{&#34;notify&#34;: &#34;on&#34;}" in page and "to_do" not in page.partition("data-preferences=")[2][:100]
    assert asked(server, team["viewer"], "PATCH", "/api/v1/me/preferences", {"notify": "x"}).status_code == 422
    assert server.registry.store.people.entries(most=1000) == before


def test_reading_pages_and_their_files_is_not_in_the_audit_trail() -> None:
    quiet = [label for label in LEAST if label.startswith(("GET ", "WS ")) or label == "MOUNT /static"]
    assert quiet and not any(Endpoint(label).is_audited for label in quiet)
    assert Endpoint("MOUNT /mcp").is_audited


def test_strangers_cannot_fill_the_audit_trail() -> None:
    stored: list[AuditEntry] = []
    now = [0.0]
    trail = AuditTrail(stored.append, clock=lambda: now[0])
    request = Request(None, "", "10.0.0.9", Endpoint("GET /"))
    for _ in range(1000):
        trail.refused(request, 401)
    assert len(stored) == MAX_REFUSED_PER_MINUTE

    now[0] = 61.0
    trail.refused(request, 401)
    assert stored[-1].more == 1000 - MAX_REFUSED_PER_MINUTE


def test_a_maintainer_manages_people_over_the_api(server: AtHand, team: dict[str, str]) -> None:
    token = team["maintainer"]
    added = asked(server, token, "POST", "/api/v1/people", {"name": "eve", "role": "viewer"}).json()
    assert asked(server, added["token"], "GET", "/api/v1/me").json() == {"name": "eve", "role": "viewer"}
    assert asked(server, token, "POST", "/api/v1/people", {"name": "no good"}).status_code == 400
    assert asked(server, token, "POST", "/api/v1/people/eve/link").json()["path"].startswith("/login?link=")
    assert asked(server, token, "PATCH", "/api/v1/people/eve", {"role": "reviewer"}).status_code == 200
    assert asked(server, token, "DELETE", "/api/v1/people/eve").status_code == 200
    assert asked(server, added["token"], "GET", "/api/v1/me").status_code == 401

    actions = [
        one["action"] for one in asked(server, token, "GET", "/api/v1/audit?person=maintainer").json()["entries"]
    ]
    assert actions[:4] == [
        "people revoke eve",
        "people role eve reviewer",
        "people link eve",
        "people add eve --role viewer",
    ]
    page = asked(server, token, "GET", "/audit?person=maintainer")
    assert page.status_code == 200 and "people revoke eve" in page.text and added["token"] not in page.text


# -- a reverse proxy ------------------------------------------------------------------------------

ADA = Person("ada", Role.REVIEWER)
SECRET = "s" * 20


def door(unknown: Role | None = None) -> RequestPolicy:
    people = People(by_name={"ada": ADA}.get)
    rules = ProxyRules(lambda address: address == "10.0.0.5", "x-forwarded-user", unknown, SECRET)
    hosts, origins = frozenset({"burnish.example.org"}), frozenset({"https://burnish.example.org"})
    never = lambda *_: False  # noqa: E731
    return RequestPolicy("t" * 20, hosts, "burnish_1", never, never, people=people, proxy=rules, origins=origins)


def judged(names: tuple[str, ...], address: str, unknown: Role | None = None, method: str = "GET", **more: str) -> Any:
    headers: dict[str, tuple[str, ...]] = {
        "host": ("burnish.example.org",),
        "x-burnish-proxy": (SECRET,),
        **{key: (value,) for key, value in more.items()},
    }
    if names:
        headers["x-forwarded-user"] = names
    verdict = door(unknown).judge(RequestInfo("http", method, "/", headers, address))
    return verdict.person if isinstance(verdict, Granted) else verdict.status


def test_a_name_is_believed_only_from_a_listed_proxy() -> None:
    assert judged(("ada",), "10.0.0.5") == ADA
    assert judged(("ada",), "10.0.0.6") == 401
    assert judged(("ada",), "") == 401
    assert judged((), "10.0.0.5") == 401


def test_names_that_are_not_known_get_no_access_or_the_role_that_is_set() -> None:
    assert judged(("eve",), "10.0.0.5") == 403
    assert judged(("eve",), "10.0.0.5", Role.VIEWER) == Person("eve", Role.VIEWER)
    assert judged(("ada",), "10.0.0.5", Role.VIEWER) == ADA
    assert judged(("ada", "root"), "10.0.0.5", Role.VIEWER) == 403
    assert judged(("a b",), "10.0.0.5", Role.MAINTAINER) == 403


def test_a_change_through_the_proxy_needs_an_origin_of_ours() -> None:
    assert judged(("ada",), "10.0.0.5", method="POST") == 403
    assert judged(("ada",), "10.0.0.5", method="POST", origin="https://evil.example") == 403
    assert judged(("ada",), "10.0.0.5", method="POST", origin="https://burnish.example.org") == ADA


def test_another_program_of_the_proxys_machine_cannot_name_a_person() -> None:
    """Agents use the network: with a proxy on this machine, they have its address."""
    for secret in ((), ("",), ("x",), (SECRET[:-1],), (SECRET, SECRET), (SECRET + "\x00",)):
        headers = {"host": ("burnish.example.org",), "x-forwarded-user": ("ada",), "x-burnish-proxy": secret}
        verdict = door(Role.MAINTAINER).judge(RequestInfo("http", "GET", "/", headers, "10.0.0.5"))
        assert not isinstance(verdict, Granted) and verdict.status == 403, secret


@pytest.mark.parametrize(
    ("forwarded", "secret", "peer", "address"),
    [
        (("192.0.2.31",), SECRET, "10.0.0.5", "192.0.2.31"),
        (("203.0.113.9, 192.0.2.31",), SECRET, "10.0.0.5", "192.0.2.31"),
        (("203.0.113.9", "192.0.2.31"), SECRET, "10.0.0.5", "192.0.2.31"),
        (("[2001:db8::1]",), SECRET, "10.0.0.5", "2001:db8::1"),
        (("<script>",), SECRET, "10.0.0.5", "10.0.0.5"),
        ((), SECRET, "10.0.0.5", "10.0.0.5"),
        (("192.0.2.31",), "wrong", "10.0.0.5", "10.0.0.5"),
        (("192.0.2.31",), SECRET, "10.0.0.6", "10.0.0.6"),
    ],
)
def test_the_address_of_a_client_is_taken_from_a_proxy_that_has_proven_itself(
    forwarded: tuple[str, ...], secret: str, peer: str, address: str
) -> None:
    """The proxy appends what it has seen; what stands before it may come from the client."""
    headers = {"x-burnish-proxy": (secret,)} | ({"x-forwarded-for": forwarded} if forwarded else {})
    assert door().client_address(RequestInfo("http", "POST", "/", headers, peer)) == address


def test_settings_of_the_proxy_are_checked(tmp_path: Path) -> None:
    section = ServeSection(url="https://b.example/", proxies=("10.0.0.0/24",), proxy_header="X-User")
    front = front_settings(section, tmp_path)
    assert front.proxy and front.proxy.is_trusted("10.0.0.77") and not front.proxy.is_trusted("10.0.1.1")
    file = tmp_path / "serve" / "proxy-secret"
    assert file.stat().st_mode & 0o777 == 0o600 and len(file.read_text()) > 40
    again = front_settings(section, tmp_path)
    assert again.proxy and again.proxy.secret == front.proxy.secret == file.read_text().strip()
    assert front.hosts == {"b.example"} and front.origins == {"https://b.example"}
    for wrong in (
        ServeSection(proxy_header="X-User"),
        ServeSection(proxy_header="X-User", proxies=("everyone",)),
        ServeSection(url="b.example"),
    ):
        with pytest.raises(BadInput):
            front_settings(wrong, tmp_path)


def test_another_interface_needs_a_token_or_people() -> None:
    with pytest.raises(BadInput):
        token_for("0.0.0.0")
    assert len(token_for("0.0.0.0", has_people=True)) > 20
