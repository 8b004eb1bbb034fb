"""automaker's call for a review: its request, its response, its checks."""

from __future__ import annotations

from typing import Any

import pytest

from testing.at_hand import TOKEN, AtHand, at_hand
from testing.lab import APPROVE, CRITIC, Lab


@pytest.fixture(scope="module")
def asked_for(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Four tasks that were worked on and wait for their review to be asked for, and one that was not."""
    lab = Lab.make(tmp_path_factory.mktemp("s3") / "lab", extra="review: {agents: [judge], trigger: explicit}\n")
    for number in range(1, 5):
        lab.add(f"Add division {number}")
    lab.burnish("run", "1", "2", "3", "4", "-j", "4", code=1)
    lab.add("Not begun")
    return lab


@pytest.fixture
def server(asked_for: Lab, hermetic: object) -> Any:
    with at_hand(asked_for) as opened:
        yield opened


def wanted(server: AtHand, number: int, **more: Any) -> dict[str, Any]:
    lab = server.lab
    body = {"projectPath": str(lab.repo.path), "featureId": str(number), "iterationNumber": 1}
    return {**body, "worktreePath": lab.burnish("path", str(number)).out.strip(), **more}


def ask(server: AtHand, body: dict[str, Any]) -> Any:
    who = {"Authorization": f"Bearer {TOKEN}"}
    return server.client.post("/api/code-review/generate-review", json=body, headers=who)


@pytest.mark.slow
def test_a_review_that_rejects_sends_the_task_back_and_no_further(server: AtHand) -> None:
    server.lab.agent("judge", CRITIC)
    answer = ask(server, wanted(server, 1))
    assert answer.status_code == 200
    assert answer.json() == {"success": True, "featureId": "1", "iterationNumber": 1, "status": "rejected"}
    assert server.lab.task(1)["status"] in ("in_progress", "code_review")
    # who improves it, and when, is not asked for here
    assert [call["phase"] for call in server.lab.calls() if call["task"] == "1"] == ["implement", "review"]


def test_a_review_that_approves_moves_the_task_on(server: AtHand) -> None:
    server.lab.agent("judge", APPROVE)
    body = wanted(server, 2, featureId="feature-2")
    del body["worktreePath"]
    answer = ask(server, body)
    assert answer.json() == {"success": True, "featureId": "feature-2", "iterationNumber": 1, "status": "approved"}
    assert server.lab.task(2)["status"] == "verified"
    # a second one is refused: it is no longer in code_review
    assert ask(server, wanted(server, 2)).status_code == 409


def test_a_reviewer_that_cannot_be_heard_is_a_failure_and_no_verdict(server: AtHand) -> None:
    server.lab.agent("judge", 'print("LGTM, approved!")')
    answer = ask(server, wanted(server, 3))
    assert answer.json() == {"success": False, "featureId": "3", "iterationNumber": 1, "status": "failed"}
    assert server.lab.task(3)["status"] == "blocked"


@pytest.mark.slow
@pytest.mark.representatives(6)
@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"projectPath": "/"}, 404),
        ({"projectPath": "/no/such/place"}, 404),
        ({"projectPath": "."}, 404),
        ({"projectPath": ""}, 404),
        ({"projectPath": "x" * 900}, 404),
        ({"projectPath": "/" + "x" * 900}, 404),
        ({"worktreePath": "/"}, 404),
        ({"worktreePath": ""}, 404),
        ({"worktreePath": "REPO"}, 404),
        ({"worktreePath": "OTHER"}, 404),
        ({"featureId": "99"}, 404),
        ({"featureId": 99}, 404),
        ({"featureId": True}, 422),
        ({"featureId": 5, "worktreePath": None}, 409),
        ({"featureId": "../../etc"}, 404),
        ({"featureId": "feature-xyz"}, 404),
        ({"featureId": "5", "worktreePath": None}, 409),
        ({"iterationNumber": 2}, 409),
        ({"iterationNumber": 0}, 422),
        ({"iterationNumber": "one"}, 422),
        ({"projectPath": "/a\x00b"}, 422),
        ({"projectpath": "/"}, 422),
        ({"featureId": None}, 422),
    ],
)
def test_only_what_is_known_is_reviewed(server: AtHand, more: dict[str, Any], status: int) -> None:
    places = {"REPO": str(server.lab.repo.path), "OTHER": server.lab.burnish("path", "3").out.strip()}
    more = {key: places.get(value, value) if isinstance(value, str) else value for key, value in more.items()}
    before = server.lab.events()
    answer = ask(server, {**wanted(server, 4), **more})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert server.lab.events() == before


def test_a_link_to_the_project_is_the_project(server: AtHand) -> None:
    link = server.lab.root / "link"
    link.symlink_to(server.lab.repo.path)
    assert ask(server, wanted(server, 4, projectPath=str(link), iterationNumber=9)).status_code == 409
