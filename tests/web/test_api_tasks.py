"""Tasks and what they leave behind, as a program asks for them."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from testing.at_hand import AtHand, at_hand
from testing.lab import Lab


@pytest.mark.slow
def test_the_same_as_the_command_line_says(server: AtHand) -> None:
    lab = server.lab
    assert server.of_project("GET", "/tasks").json()["tasks"] == lab.burnish("status", "--json").json["tasks"]
    assert server.of_project("GET", "/tasks/1").json() == lab.show(1)
    assert server.of_project("GET", "/events").json()["events"] == lab.events()
    assert server.of_project("GET", "/events?task=99").status_code == 404
    found = lab.burnish("findings", "2", "--open", "--json").json
    assert server.of_project("GET", "/tasks/2/findings?open=true").json() == found and found["findings"]
    assert server.of_project("GET", "/inbox").json() == lab.burnish("inbox", "--json").json
    assert server.of_project("GET", "/tasks/1/diff").text == lab.burnish("diff", "1").out
    assert server.of_project("GET", "/tasks/1/path").json() == lab.burnish("path", "1", "--json").json
    assert server.of_project("GET", "/tasks/1/logs").json() == lab.burnish("log", "1", "-v", "--json").json
    assert server.api("GET", "/projects").json() == lab.burnish("projects", "--json").json


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("status=backlog", ["3"]),
        ("status=backlog&status=blocked", ["2", "3"]),
        ("ready=true", ["3"]),
        ("blocked=true", ["1", "2"]),
        ("agent=robot", ["1", "2"]),
        ("q=root", ["2"]),
        ("q=ADD+division", ["1"]),
        ("q=T3", ["3"]),
        ("q=nothing+like+it", []),
        ("limit=1&offset=1", ["2"]),
    ],
)
def test_some_of_the_tasks(server: AtHand, query: str, ids: list[str]) -> None:
    assert [task["id"] for task in server.of_project("GET", f"/tasks?{query}").json()["tasks"]] == ids


def test_a_task_is_written_down_and_changed(server: AtHand) -> None:
    asked: dict[str, Any] = {
        "title": "  Say\n more ",
        "description": "<script>alert(1)</script>",
        "criteria": ["it is said"],
        "checklist": ["first", "second"],
        "depends_on": [1, "T2", "2"],
        "priority": 7,
        "max_cycles": 2,
        "auto_review": False,
    }
    made = server.of_project("POST", "/tasks", asked).json()
    number = made["id"]
    assert (made["title"], made["depends_on"], made["auto_review"]) == ("Say more", ["1", "2"], False)
    changed = {"tick": [2], "agent": "judge", "depends_on": [], "description": "other"}
    assert server.of_project("PATCH", f"/tasks/{number}", changed).status_code == 200
    story = server.of_project("GET", f"/tasks/{number}").json()
    assert story["checklist"] == [{"text": "first", "done": False}, {"text": "second", "done": True}]
    assert (story["agent"], story["depends_on"], story["description"], story["priority"]) == ("judge", [], "other", 7)
    assert server.of_project("PATCH", f"/tasks/{number}", {"agent": None}).json()["agent"] is None
    for wrong in ({}, {"tick": [9]}, {"depends_on": [number]}, {"status": "verified"}, {"title": " "}):
        assert server.of_project("PATCH", f"/tasks/{number}", wrong).status_code == 400, wrong
    assert server.of_project("POST", "/tasks", {"title": "x", "depends_on": [999]}).status_code == 400
    assert server.of_project("DELETE", f"/tasks/{number}").status_code == 200
    assert server.of_project("GET", f"/tasks/{number}").status_code == 404


def test_nothing_that_is_asked_for_becomes_a_path(server: AtHand) -> None:
    evil = [
        "../../../burnish.db",
        "/etc/passwd",
        "calls:..:..:task.json",
        "a\x00b",
        "review-cycle-1.md/..",
        "*",
    ]
    for name in evil:
        for noun in ("logs", "artifacts"):
            answer = server.of_project("GET", f"/tasks/1/{noun}/{quote(name, safe='')}")
            assert answer.status_code in (400, 404, 422), (noun, name, answer.text)
    names = [one["name"] for one in server.of_project("GET", "/tasks/1/artifacts").json()["artifacts"]]
    assert "review-cycle-1.md" in names
    assert "verdict: changes_requested" in server.of_project("GET", "/tasks/1/artifacts/review-cycle-1.md").text
    log = next(one for one in server.of_project("GET", "/tasks/1/logs").json()["logs"] if one["kind"] == "stdout")
    assert server.of_project("GET", f"/tasks/1/logs/{log['name']}").json()["text"] == "done: implement\n"


def test_what_costs_money_takes_more_than_a_cookie(server: AtHand) -> None:
    _, page = server.browser()
    where = f"/api/v1/projects/{server.project}/doctor"
    assert server.client.get(where, headers=page).json()["signs"]
    assert server.client.get(f"{where}?probe=true", headers=page).status_code == 409


def test_a_finding_is_waived_and_reopened(server: AtHand) -> None:
    where = "/tasks/2/findings/F1"
    for wrong in ({"reason": " "}, {"reason": "x", "until": "2001-01-01"}):
        assert server.of_project("POST", f"{where}/waive", wrong).status_code == 400
    assert server.of_project("POST", "/tasks/2/findings/F99/waive", {"reason": "x"}).status_code in (400, 404)
    waived = server.of_project("POST", f"{where}/waive", {"reason": "so be it", "until": "2099-01-01"}).json()
    assert (waived["state"], waived["waiver"]["until"], waived["task"]) == ("waived", "2099-01-01", "2")
    assert server.of_project("POST", f"{where}/reopen").json()["state"] in ("open", "reopened")
    # without a blocker it was to be decided anew: as others who look at this task expect it, it is blocked again
    server.lab.burnish("run", "2", code=1)
    assert server.of_project("GET", "/tasks/2").json()["reason"] == "max_cycles"


def test_a_comment_is_a_finding_of_the_person(server: AtHand) -> None:
    assert server.of_project("POST", "/tasks/2/comments", {"text": " "}).status_code in (400, 422)
    before = len(server.of_project("GET", "/tasks/2/findings").json()["findings"])
    finding = server.of_project("POST", "/tasks/2/comments", {"text": "Say why"}).json()
    assert (finding["title"], finding["state"], finding["task"]) == ("Say why", "open", "2")
    assert len(server.of_project("GET", "/tasks/2/findings").json()["findings"]) == before + 1
    server.of_project("POST", f"/tasks/2/findings/{finding['id']}/waive", {"reason": "for other tests"})


def test_a_task_is_paused_and_unpaused(server: AtHand) -> None:
    number = server.of_project("POST", "/tasks", {"title": "To be paused"}).json()["id"]
    assert server.of_project("POST", f"/tasks/{number}/pause").json()["paused"] is True
    assert server.of_project("POST", f"/tasks/{number}/pause").status_code == 409
    assert server.of_project("POST", f"/tasks/{number}/run").status_code == 409
    assert server.of_project("POST", f"/tasks/{number}/unpause").json()["paused"] is False
    assert server.of_project("DELETE", f"/tasks/{number}").status_code in (200, 204)


SLOW = """
pathlib.Path(LOG).with_name("working").touch()
while not pathlib.Path(LOG).with_name("go").exists():
    time.sleep(0.05)
app.write_text(app.read_text() + "# more\\n")
"""


def test_a_run_is_stopped_goes_on_and_is_handed_over(tmp_path_factory: pytest.TempPathFactory) -> None:
    lab = Lab.make(
        tmp_path_factory.mktemp("stop") / "lab", author=SLOW, extra="review: {agents: [judge], trigger: explicit}\n"
    )
    lab.add("Add division")
    with at_hand(lab) as server:
        assert server.of_project("POST", "/run", {"ids": ["1"], "dry_run": True}).json() == {"planned": ["1"]}
        assert server.of_project("POST", "/tasks/1/stop").status_code == 409
        assert server.of_project("POST", "/run", {"ids": ["1"]}).status_code == 202
        lab.until((lab.root / "working").exists, 60)
        assert server.api("GET", "/server").json()["running"] == {server.project: 1}
        # held: a second runner is told by whom
        assert server.of_project("POST", "/tasks/1/run").status_code == 409
        assert server.of_project("POST", "/tasks/1/stop").status_code == 202
        lab.until(lambda: server.api("GET", "/server").json()["running"] == {server.project: 0}, 60)
        assert server.of_project("GET", "/tasks/1").json()["status"] == "in_progress"
        (lab.root / "go").touch()
        assert server.of_project("POST", "/tasks/1/run").status_code == 202
        lab.until(lambda: server.api("GET", "/server").json()["running"] == {server.project: 0}, 60)
        assert server.of_project("GET", "/tasks/1").json()["status"] == "code_review"

        handed = server.of_project("POST", "/tasks/1/handoff").json()
        assert handed["number"] in handed["prompt"] and handed["commit"] == lab.task(1)["commit"]
        stale = {"text": "- app.py:1: wrong", "verdict": "changes_requested", "commit": "0" * 40}
        assert server.of_project("POST", "/tasks/1/review-from", stale).status_code == 409
        taken = {**stale, "commit": handed["commit"]}
        assert server.of_project("POST", "/tasks/1/review-from", taken).status_code == 200
        told = server.of_project("GET", "/tasks/1/review-json").json()
        assert told["verdict"] == "changes_requested" and len(told["findings"]) == 1
        assert server.of_project("POST", "/tasks/1/cancel").json()["status"] == "cancelled"
        assert server.of_project("POST", "/clean", {"dry_run": True}).json()["chosen"] == ["1-add-division"]
        assert server.of_project("POST", "/rebuild").json()["present"] == ["1"]
        # one who forgets a project leaves its work where it is
        assert server.api("DELETE", f"/projects/{server.project}").status_code == 200
        assert server.api("GET", "/projects").json() == {"projects": []}
    assert json.loads(lab.burnish("status", "--json").out)


def test_tasks_are_tagged_found_and_archived(server: AtHand) -> None:
    def ids(query: str) -> list[str]:
        return [task["id"] for task in server.of_project("GET", f"/tasks?{query}").json()["tasks"]]

    new = {"title": "Sort the list", "description": "by passkey age", "tags": ["#UI", "ui", "later"]}
    task = server.of_project("POST", "/tasks", new).json()
    number = task["id"]
    assert task["tags"] == ["ui", "later"] and task["archived"] is False
    assert ids("tag=ui&tag=later") == ids("text=PASSKEY%20age") == [number] and ids("tag=ui&tag=x") == []
    assert number in ids("since=1h&type=implement") and ids("reason=budget") == []
    for wrong in ("since=soon", "type=plans", "reason=tired"):
        assert server.of_project("GET", f"/tasks?{wrong}").status_code == 400, wrong
    for tag in ("two words", "x" * 41, "<b>", '"paused":true', ""):
        assert server.of_project("PATCH", f"/tasks/{number}", {"tags": [tag]}).status_code == 400, tag
    assert server.of_project("PATCH", f"/tasks/{number}", {"tags": ["done"]}).json()["tags"] == ["done"]

    refusal = server.of_project("PATCH", f"/tasks/{number}", {"archived": True})
    assert refusal.status_code == 409 and "only completed and cancelled" in refusal.json()["title"]
    server.of_project("POST", f"/tasks/{number}/cancel", {})
    assert server.of_project("PATCH", f"/tasks/{number}", {"archived": True}).json()["archived"] is True
    assert number in ids("") and number not in ids("archived=false") and ids("archived=true") == [number]
    _, headers = server.browser()
    board = server.client.get(f"/p/{server.project}", headers=headers).text
    assert f'id="t{number}"' not in board
    cards = server.client.get(f"/p/{server.project}/cards?ids={number}", headers=headers).text
    assert f'id="t{number}"' not in cards
    # in the terminal, too
    assert number not in [task["id"] for task in server.lab.burnish("list", "--json").json["tasks"]]
    shown = server.lab.burnish("list", "--archived", "--tag", "done", "--search", "passkey", "--json").json["tasks"]
    assert [task["id"] for task in shown] == [number]
    server.lab.burnish("edit", number, "--no-archive", "--tag", "none")
    assert server.of_project("GET", f"/tasks/{number}").json()["tags"] == []
    server.of_project("DELETE", f"/tasks/{number}")
