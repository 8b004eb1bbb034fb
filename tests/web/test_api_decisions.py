"""Promise 4: what a person decides belongs to the commit that the person saw."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from burnish.store.runners import Runners
from testing.at_hand import AtHand, at_hand
from testing.lab import Lab
from testing.long_forms import paired

WHY = {"explain": "It is as it should be."}
# every way to accept or send back, with everything right but the commit
ORDERS = [
    ("1", "decide", {"choice": "approve", "grounds": WHY}),
    ("1", "decide", {"choice": "reject", "note": "no"}),
    ("1", "decide", {"choice": "fix", "note": "more"}),
    ("1", "override", {"grounds": WHY}),
    ("1", "done", {"grounds": WHY}),
    ("1", "merge", {"how": "merge"}),
    ("2", "decide", {"choice": "fix", "note": "more"}),
    ("2", "override", {"grounds": WHY}),
    ("2", "done", {"grounds": WHY}),
]


def stale(commit: str, base: str) -> list[str]:
    """Commits that a page may have shown before this one, or never."""
    other = "0" if commit[0] != "0" else "1"
    return [
        base,
        "0" * 40,
        other + commit[1:],
        commit[:-1] + ("0" if commit[-1] != "0" else "1"),
        commit + "0",
        "abcdef0",
    ]


def test_no_decision_of_a_stale_page_is_taken(server: AtHand) -> None:
    tried = refused = 0
    before = server.lab.events()
    _, page = server.browser()
    tasks = {number: server.of_project("GET", f"/tasks/{number}").json() for number, _, _ in ORDERS}
    tries = paired(ORDERS, range(6), ({}, page))
    for (number, verb, body), nth, headers in tries:
        commit = stale(tasks[number]["commit"], tasks[number]["base"])[nth]
        where = f"/api/v1/projects/{server.project}/tasks/{number}/{verb}"
        who = headers or {"Authorization": "Bearer the-token-of-this-test"}
        answer = server.client.post(where, json={**body, "commit": commit}, headers=who)
        tried += 1
        refused += answer.status_code == 409
        assert answer.status_code == 409, (number, verb, commit, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    assert tried == refused == len(tries)
    assert server.lab.events() == before


@pytest.mark.representatives(3)
@pytest.mark.parametrize("commit", [None, "", "abc", "HEAD", "main", "g" * 40, "0" * 65, 7])
def test_a_decision_has_to_name_a_commit(server: AtHand, commit: object) -> None:
    for number, verb, body in ORDERS:
        if verb == "done" and commit is None:
            continue
        given = body if commit is None else {**body, "commit": commit}
        assert server.of_project("POST", f"/tasks/{number}/{verb}", given).status_code == 422


def test_a_misspelt_field_is_refused_and_not_passed_over(server: AtHand) -> None:
    task = server.of_project("GET", "/tasks/1").json()
    answer = server.of_project(
        "POST", "/tasks/1/decide", {"choice": "approve", "commit": task["commit"], "grunds": WHY}
    )
    assert answer.status_code == 422 and "grunds" in answer.json()["detail"]


def test_accepting_against_a_review_takes_a_reason(server: AtHand) -> None:
    commit = server.of_project("GET", "/tasks/2").json()["commit"]
    answer = server.of_project("POST", "/tasks/2/override", {"commit": commit, "grounds": {}})
    assert answer.status_code == 400 and "reason" in answer.json()["title"]


@pytest.mark.slow
def test_the_story_of_a_task_by_the_api_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Added, run, sent back, run, approved, merged: and each decision keeps where it came from."""
    lab = Lab.make(tmp_path_factory.mktemp("story") / "lab", extra="approval: required\n")
    lab.add("Something else")
    with at_hand(lab) as server:
        made = server.of_project("POST", "/tasks", {"title": "Add division", "priority": 3, "depends_on": []})
        assert made.status_code == 201 and made.json()["id"] == "2"
        assert server.of_project("POST", "/tasks/2/run").status_code == 202
        lab.until(lambda: server.of_project("GET", "/tasks/2").json()["status"] == "waiting_approval")
        # a run that has not ended takes up by itself what is sent back
        lab.until(lambda: not server.api("GET", "/server").json()["runs"])

        seen = server.of_project("GET", "/tasks/2").json()
        sent_back = {"choice": "fix", "note": "Say more.", "commit": seen["commit"]}
        lab.agent("robot", 'app.write_text(app.read_text() + "# more\\n")')
        _, page = server.browser()
        where = f"/api/v1/projects/{server.project}/tasks/2"
        assert server.client.post(f"{where}/decide", json=sent_back, headers=page).json()["status"] == "in_progress"
        # what was seen is no longer what there is to decide on
        assert server.of_project("POST", "/tasks/2/run", {}).status_code == 202
        lab.until(lambda: server.of_project("GET", "/tasks/2").json()["status"] == "waiting_approval")
        assert server.of_project("POST", "/tasks/2/decide", {**sent_back, "choice": "approve"}).status_code == 409

        now = server.of_project("GET", "/tasks/2").json()["commit"]
        approved = server.of_project("POST", "/tasks/2/decide", {"choice": "approve", "commit": now})
        assert approved.json()["status"] == "verified"
        # a gate is answered once; whoever knows that it was may take it back
        for answer in ({"choice": "reject"}, {"choice": "fix", "note": "x"}, {"choice": "approve"}):
            again = server.of_project("POST", "/tasks/2/decide", {**answer, "commit": now})
            assert (again.status_code, "verified" in again.json()["title"]) == (409, True)
        wrong = server.of_project("POST", "/tasks/2/decide", {"choice": "reject", "commit": now, "status": "blocked"})
        assert wrong.status_code == 409 and server.of_project("GET", "/tasks/2").json()["status"] == "verified"
        merged = server.of_project("POST", "/tasks/2/merge", {"commit": now[:12]})
        assert merged.status_code == 200 and merged.json()["into"] == "main"
        assert lab.repo.git("rev-parse", "main").strip() == merged.json()["commit"]
        by = [
            (e["data"]["choice"], e["data"]["via"]) for e in lab.events("decision.made", task=2) if "via" in e["data"]
        ]
        assert by == [("fix", "web"), ("approve", "api")]


@pytest.mark.slow
def test_a_task_runs_again_although_the_run_that_asked_has_not_released_it(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.make(tmp_path_factory.mktemp("held") / "lab", extra="approval: required\n")
    lab.add("Add division")
    ended, release = threading.Event(), Runners.release

    def release_late(self: Runners, project: str, id: int, runner: str) -> None:
        ended.wait(30)
        release(self, project, id, runner)

    with at_hand(lab) as server:
        monkeypatch.setattr(Runners, "release", release_late)
        assert server.of_project("POST", "/tasks/1/run").status_code == 202
        lab.until(lambda: server.of_project("GET", "/tasks/1").json()["status"] == "waiting_approval")
        lab.agent("robot", 'app.write_text(app.read_text() + "# more\\n")')
        sent_back = {"choice": "fix", "note": "x", "commit": server.of_project("GET", "/tasks/1").json()["commit"]}
        assert server.of_project("POST", "/tasks/1/decide", sent_back).status_code == 200
        threading.Timer(0.5, ended.set).start()
        assert server.of_project("POST", "/tasks/1/run").status_code == 202
        lab.until(lambda: server.of_project("GET", "/tasks/1").json()["status"] == "waiting_approval")


@pytest.mark.slow
def test_of_many_answers_to_one_gate_one_is_taken(tmp_path_factory: pytest.TempPathFactory) -> None:
    lab = Lab.make(tmp_path_factory.mktemp("once") / "lab", extra="approval: required\n")
    lab.add("Add division")
    lab.burnish("run", "1", code=1)
    with at_hand(lab) as server, ThreadPoolExecutor(6) as crowd:
        seen = server.of_project("GET", "/tasks/1").json()
        choices = ["approve", "reject", "fix"] * 2
        body = {"note": "x", "commit": seen["commit"], "status": seen["status"]}
        said = list(crowd.map(lambda c: server.of_project("POST", "/tasks/1/decide", {**body, "choice": c}), choices))
        assert sorted(one.status_code for one in said) == [200, *[409] * 5]
        (taken,) = [one.json()["status"] for one in said if one.status_code == 200]
        assert server.of_project("GET", "/tasks/1").json()["status"] == taken
        if taken == "verified":
            back = {"choice": "reject", "commit": seen["commit"], "status": "verified"}
            assert server.of_project("POST", "/tasks/1/decide", back).json()["status"] == "blocked"
