"""A project that nobody has trusted: the board shows it with the command to type, and the API runs nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.views.board_moves import ACTS
from testing.at_hand import AtHand, at_hand
from testing.lab import Lab


@pytest.fixture
def server(tmp_path: Path, hermetic: object) -> Iterator[AtHand]:
    lab = Lab.make(tmp_path / "lab")
    lab.add("Add division")
    lab.burnish("untrust")
    with at_hand(lab) as opened:
        yield opened


def board(server: AtHand) -> str:
    _, headers = server.browser()
    return str(server.client.get(f"/p/{server.project}", headers=headers).text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body"),
    [("/run", {"ids": ["1"]}), ("/run", {"all": True}), ("/tasks/1/retry", {}), ("/tasks/1/improve", {"note": "x"})],
)
def test_what_would_run_something_is_refused_with_the_command_to_type(
    server: AtHand, path: str, body: dict[str, object]
) -> None:
    said = server.of_project("POST", path, body)
    assert said.status_code == 409 and said.headers["content-type"] == "application/problem+json"
    assert "is not trusted" in said.json()["title"]
    assert f"burnish -C {server.lab.repo.path} trust" in said.json()["detail"]
    assert server.lab.calls() == [] and server.lab.task()["status"] == "backlog"


def test_the_pages_of_the_project_say_so_until_it_is_trusted(server: AtHand) -> None:
    assert "This checkout is not trusted" in board(server)
    assert f"burnish -C {server.lab.repo.path} trust</code>" in board(server)
    server.lab.burnish("trust")
    assert "not trusted" not in board(server)
    settings = server.lab.repo.path / "burnish.yaml"
    settings.write_text(settings.read_text() + "approval: required\n")
    assert "have changed since they were trusted" in board(server)


def test_there_is_no_way_to_trust_over_http(server: AtHand) -> None:
    paths = server.api("GET", "/openapi.json").json()["paths"]
    assert [path for path in paths if "trust" in path] == []


# 1 is rejected with a finding, 2 is approved, 3 waits for a decision, 4 has failed, 5 is new
AUTHOR = """
if task == "4":
    sys.exit("the network is gone")
pathlib.Path(f"part_{task}.py").write_text("x = 1\\n")
"""


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtHand]:
    extra = "hitl_review: every\nreview: {agents: [judge], max_cycles: 1}\n"
    lab = Lab.make(tmp_path_factory.mktemp("untrusted") / "lab", author=AUTHOR, extra=extra)
    for title in ("Round the total", "Drop the API", "Validate the name", "Log once", "Send the report"):
        lab.add(title)
    lab.burnish("run", "1", "2", "3", "4", code=None)
    with at_hand(lab) as opened:
        for number, choice in ((1, "reject"), (2, "approve")):
            task = lab.task(number)
            seen = {"commit": task["commit"], "status": task["status"]}
            opened.of_project("POST", f"/tasks/{number}/decide", {"choice": choice, "note": "x", **seen})
        assert [lab.task(n)["status"] for n in range(1, 6)] == [
            "blocked", "verified", "waiting_approval", "failed", "backlog",
        ]  # fmt: skip
        yield opened


def read(server: AtHand, path: str) -> str:
    _, headers = server.browser()
    return html.unescape(server.client.get(path, headers=headers).text)


def offered(server: AtHand, number: int) -> set[str]:
    """The acts that the cards, the list and the page of the task offer."""
    project, found = server.project, set[str]()
    for path in (f"/p/{project}", "/all"):
        card = re.search(rf'<li class="card"[^>]*data-id="{number}"[^>]*>', read(server, path))
        assert card
        for name in ("moves", "others"):
            words = re.search(rf'data-{name}="([^"]*)"', card[0])
            found |= {one.rpartition(":")[2] for one in words[1].split()} if words else set()
    row = re.search(rf'<tr [^>]*data-id="{number}" data-acts="([^"]*)"', read(server, f"/p/{project}/list"))
    page = read(server, f"/p/{project}/t/{number}")
    answers = re.findall(r'data-answer="(\w+)"', page)
    return {*found, *(row[1].split() if row else ()), *re.findall(r'data-act="(\w+)"', page), *answers}


# what needs a body, and the forms on the page of a task
REQUESTS = {
    "merge": ("/merge", {"commit": ""}),
    "improve": ("/improve", {"note": "Use a name.", "review": True}),
    "note": ("/improve", {"note": "Use a name.", "review": True}),
    "handoff": ("/handoff", {"force": False}),
    "outside": ("/review-from", {"text": "It is fine.", "verdict": "approved"}),
    "done": ("/done", {"commit": "", "grounds": {"explain": "It is right."}}),
    "pr": ("/pr", {}),
    "asking": ("/run", {"hitl": True}),
    "decide": ("/decide", {"choice": "approve", "note": "", "commit": "", "status": "waiting_approval"}),
    "override": ("/override", {"commit": "", "grounds": {"explain": "It is right."}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_what_is_refused_is_not_offered_until_the_checkout_is_trusted(states: AtHand, number: int) -> None:
    before = offered(states, number)
    states.lab.burnish("untrust")
    try:
        now = offered(states, number)
        assert now <= {"comment", "pause", "back", "cancel", "archive", "remove"}
        commit = {"commit": states.lab.task(number)["commit"]}
        for name in before - now:
            path, body = REQUESTS.get(name) or (ACTS[name].path, ACTS[name].body)
            reply = states.of_project(
                "POST", f"/tasks/{number}{path}", {**body, **(commit if "commit" in body else {})}
            )
            assert "is not trusted" in reply.json().get("title", ""), name
    finally:
        states.lab.burnish("trust")
    assert before - now and offered(states, number) == before


@pytest.mark.slow
def test_a_board_a_form_and_an_inbox_offer_no_start_and_say_why(states: AtHand) -> None:
    project = states.project
    states.lab.burnish("untrust")
    try:
        page = read(states, f"/p/{project}")
        assert re.search(r'id="run-all"[^>]* disabled', page) and re.search(r'id="auto"[^>]* disabled', page)
        assert "start-now" not in read(states, f"/p/{project}/form")
        inbox = read(states, "/inbox")
        assert "Trust it first…" in inbox and "Decide…" not in inbox
        assert not re.search(r'data-do="[^"]*/(retry|improve|run|merge)"', inbox)
        why = read(states, f"/p/{project}/why?task=5&to=in_progress")
        assert "is not trusted" in why
    finally:
        states.lab.burnish("trust")
    page = read(states, f"/p/{project}")
    assert not re.search(r'id="run-all"[^>]* disabled', page) and "start-now" in read(states, f"/p/{project}/form")
    assert "Trust it first…" not in read(states, "/inbox")
