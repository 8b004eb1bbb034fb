"""What people decide on the server is signed with their names, on every route that decides something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from burnish.core.people import Role
from burnish.web.roles import LEAST
from testing.at_hand import AtHand, at_hand
from testing.lab import Lab

# the lab's judge rejects task 4
JUDGE = 'print(verdict("changes_requested", "no", [flaw]) if task == "4" else verdict("approved", "good"))'
AUTHOR = 'pathlib.Path(f"own-{task}.txt").write_text(f"{task}\\n")'
REASON = {"explain": "I have read it."}
SUGGESTION = "Better:\n```suggestion\nfour\n```"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Tasks 1 to 9 wait for a person, but for task 4, which is blocked."""
    lab = Lab.make(tmp_path_factory.mktemp("signed"), author=AUTHOR, judge=JUDGE, extra="approval: required\n")
    for number in range(1, 10):
        lab.add(f"Task {number}", "--max-cycles", "1")
    lab.burnish("run", "--all", code=1)
    return lab


@pytest.fixture
def server(lab: Lab, hermetic: object) -> Iterator[AtHand]:
    with at_hand(lab) as opened:
        yield opened


class Board:
    """Two people who act by their tokens."""

    def __init__(self, server: AtHand) -> None:
        self.server = server
        people = server.registry.store.people
        names = {"ada": Role.REVIEWER, "mo": Role.MAINTAINER}
        self.tokens = {name: people.add(name, role, "user:test") or "" for name, role in names.items()}
        self.routes: set[str] = set()

    def commit(self, task: int) -> str:
        return str(self.server.registry.store.task(self.server.project, task).commit)

    def act(self, name: str, route: str, body: dict[str, Any], **values: object) -> Any:
        """Send it, and require that what it recorded is signed with the name."""
        store, project = self.server.registry.store, self.server.project
        before = store.last_event(project)
        path = f"/api/v1/projects/{project}/{route.format(**values)}"
        headers = {"Authorization": f"Bearer {self.tokens[name]}"}
        answer = self.server.client.post(path, headers=headers, json=body)
        assert answer.status_code == 200, (route, answer.text)
        events = store.events(project, since=before)
        signatures = {sign for event in events for sign in _signatures(event.data)}
        assert signatures == {f"user:{name}@web"}, (route, [(event.type, event.data) for event in events])
        self.routes.add(f"POST /api/v1/projects/{{project}}/{route}")
        return answer.json()


def _signatures(data: Any) -> Iterator[str]:
    """Every name of a person in the data of an event."""
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list | tuple):
        for one in data:
            yield from _signatures(one)
    elif isinstance(data, str) and data.startswith("user:"):
        # a note begins with the name
        yield data.split()[0].rstrip(":")


def test_every_route_that_decides_records_who_did_it(server: AtHand) -> None:
    board = Board(server)
    task = "tasks/{task}"
    board.act("ada", f"{task}/decide", {"choice": "approve", "commit": board.commit(1)}, task=1)
    board.act("mo", f"{task}/merge", {"commit": board.commit(1)}, task=1)
    board.act("ada", f"{task}/decide", {"choice": "reject", "note": "no", "commit": board.commit(2)}, task=2)
    board.act("ada", f"{task}/decide", {"choice": "fix", "note": "again", "commit": board.commit(3)}, task=3)
    board.act("ada", f"{task}/override", {"commit": board.commit(4), "grounds": REASON}, task=4)
    board.act("mo", "merge-verified", {})
    board.act("mo", f"{task}/done", {"commit": board.commit(5), "grounds": REASON}, task=5)
    send = {"verdict": "approve", "note": "good", "commit": board.commit(6)}
    board.act("ada", f"{task}/draft/send", send, task=6)

    found = board.act("ada", f"{task}/comments", {"text": f"own-7.txt:1 {SUGGESTION}"}, task=7)
    finding = found["finding"]["id"] if "finding" in found else found["id"]
    rulings = {"reply": {"text": "yes"}, "waive": {"reason": "old"}, "reopen": {"reason": "new"}, "resolve": {}}
    for ruling, body in rulings.items():
        board.act("ada", f"{task}/findings/{{finding}}/{ruling}", body, task=7, finding=finding)
    review = {"name": "ada.md", "text": "Verdict: changes requested\n\n- own-8.txt:1 why?\n", "commit": board.commit(8)}
    board.act("ada", f"{task}/review-from", review, task=8)

    deciding = {label for label in LEAST if label.endswith(("/decide", "/override", "/done", "/merge", "/send"))}
    deciding |= {label for label in LEAST if "/findings/{finding}/" in label and label.startswith("POST")}
    assert deciding | {label for label in LEAST if label.endswith("/merge-verified")} <= board.routes


def test_what_the_owner_of_the_server_decides_has_the_name_of_the_machines_user(server: AtHand) -> None:
    commit = str(server.registry.store.task(server.project, 9).commit)
    before = server.registry.store.last_event(server.project)
    answer = server.of_project("POST", "/tasks/9/decide", {"choice": "reject", "note": "no", "commit": commit})
    assert answer.status_code == 200, answer.text
    events = server.registry.store.events(server.project, since=before)
    signatures = {sign for event in events for sign in _signatures(event.data)}
    assert signatures and not any(sign.endswith("@web") for sign in signatures)
