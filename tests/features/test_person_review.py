"""A person's review: draft comments on lines, sent as one decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testing.at_hand import TOKEN, AtHand, at_hand
from testing.lab import APPROVE, CRITIC, Lab


@pytest.fixture
def lab(tmp_path: Path, hermetic: object) -> Lab:
    """Task 1 waits for a person; the review has approved it."""
    made = Lab.make(tmp_path, judge=APPROVE, extra="approval: required\n")
    made.add("Add division")
    made.burnish("run", "1", code=1)
    return made


def blob_of(lab: Lab, path: str = "app.py") -> str:
    return lab.repo.git("rev-parse", f"{lab.show(1)['branch']}:{path}")


def add(server: AtHand, text: str, **where: Any) -> Any:
    body = {"path": "app.py", "blob": blob_of(server.lab), "line": 4, "text": text, **where}
    return server.of_project("POST", "/tasks/1/draft/comments", body)


def send(server: AtHand, verdict: str, **more: Any) -> Any:
    body = {"verdict": verdict, "commit": server.lab.show(1)["commit"], **more}
    return server.of_project("POST", "/tasks/1/draft/send", body)


def test_drafts_are_kept_until_they_are_sent_as_findings_that_the_author_gets(lab: Lab) -> None:
    with at_hand(lab) as server:
        first = add(server, "Zero is not handled.\nReturn None.").json()
        assert first["quote"] == "    return a / b  # BUG"
        second = add(server, "Name it better.", line=3, end_line=4).json()
        third = add(server, "Delete me.").json()
        text = "Name it divide.\n```suggestion\ndef divide(a, b):\n```\n"
        server.of_project("PATCH", f"/tasks/1/draft/comments/{second['id']}", {"text": text})
        server.of_project("DELETE", f"/tasks/1/draft/comments/{third['id']}")
    with at_hand(lab) as server:
        kept = server.of_project("GET", "/tasks/1/draft").json()["comments"]
        assert [(one["id"], one["line"], one["end_line"]) for one in kept] == [(1, 4, None), (2, 3, 4)]
        assert not lab.show(1)["findings"], "a draft is not a finding"
        answer = send(server, "request_changes", note="See the comments.").json()
        assert answer["task"]["status"] == "in_progress"
        assert server.of_project("GET", "/tasks/1/draft").json()["comments"] == []
    found = {one["id"]: one for one in lab.show(1)["findings"]}
    assert (found["F1"]["file"], found["F1"]["line"], found["F1"]["severity"]) == ("app.py", 4, "error")
    assert found["F1"]["title"] == "Zero is not handled." and "Return None." in found["F1"]["description"]
    assert (found["F2"]["line"], found["F2"]["end_line"]) == (3, 4)
    assert (
        found["F2"]["suggestion"] == "```suggestion\ndef divide(a, b):\n```"
        and found["F2"]["title"] == "Name it divide."
    )
    lab.agent("judge", CRITIC)
    lab.burnish("run", "1", code=1)
    prompt = [call["prompt"] for call in lab.calls() if call["phase"] == "improve"][-1]
    for words in ("Zero is not handled.", "def divide(a, b):", "See the comments.", "app.py:3-4"):
        assert words in prompt, words


def test_an_approval_keeps_its_comments_as_findings_that_do_not_block(lab: Lab) -> None:
    with at_hand(lab) as server:
        add(server, "A matter of taste.")
        assert send(server, "approve").json()["task"]["status"] == "verified"
    (finding,) = lab.show(1)["findings"]
    assert (finding["severity"], finding["state"], finding["title"]) == ("info", "open", "A matter of taste.")
    assert lab.burnish("merge", "1").code == 0


def test_a_comment_leaves_the_task_as_it_is(lab: Lab) -> None:
    with at_hand(lab) as server:
        assert send(server, "comment").status_code == 400
        assert send(server, "comment", note="I look at it tomorrow.").json()["task"]["status"] == "waiting_approval"
        assert [one["severity"] for one in lab.show(1)["findings"]] == ["info"]
        assert send(server, "approve").json()["task"]["status"] == "verified"


def test_a_review_of_another_commit_or_content_is_refused_and_keeps_the_draft(lab: Lab) -> None:
    with at_hand(lab) as server:
        assert add(server, "x", blob="0" * 40).status_code == 409
        assert add(server, "x", line=400).status_code == 400
        assert add(server, "  ").status_code == 400
        assert add(server, "x", path="other.py").status_code == 404
        add(server, "Zero is not handled.")
        before = lab.events()
        for verdict in ("approve", "request_changes"):
            assert send(server, verdict, commit="0" * 40).status_code == 409
        assert lab.events() == before
        assert len(server.of_project("GET", "/tasks/1/draft").json()["comments"]) == 1
        _, page = server.browser()
        headers = {name: value for name, value in page.items() if name != "X-Burnish-Key"}
        where = f"/api/v1/projects/{server.project}/tasks/1/draft/send"
        body = {"verdict": "approve", "commit": lab.show(1)["commit"]}
        assert server.client.post(where, json=body, headers=headers).status_code in (401, 403)


def test_a_draft_follows_its_lines_when_the_file_changes(lab: Lab) -> None:
    with at_hand(lab) as server:
        add(server, "Zero is not handled.")
        add(server, "Gone soon.", line=1)
    lab.agent("robot", 'app.write_text("# new\\n# head\\n" + app.read_text().partition("\\n")[2])')
    lab.burnish("decide", "1", "fix", "-m", "a head")
    lab.burnish("run", "1", code=1)
    with at_hand(lab) as server:
        send(server, "comment")
    found = {one["title"]: one for one in lab.show(1)["findings"]}
    assert found["Zero is not handled."]["line"] == 5
    assert found["Gone soon."]["line"] is None and found["Gone soon."]["file"] == "app.py"


def test_files_viewed_and_the_tree_seen_last_are_kept(lab: Lab) -> None:
    with at_hand(lab) as server:
        blob = blob_of(lab)
        server.of_project("PUT", "/tasks/1/viewed", {"path": "app.py", "blob": blob})
        for tree in ("a", "b", "b"):
            server.of_project("PUT", "/tasks/1/seen", {"tree": tree * 40})
        answer = server.of_project("GET", "/tasks/1/draft").json()
        assert answer["viewed"] == {"app.py": blob} and answer["seen_tree"] == "a" * 40
        answer = server.of_project("PUT", "/tasks/1/viewed", {"path": "app.py", "blob": blob, "viewed": False})
        assert answer.json()["viewed"] == {}


def test_a_file_is_not_marked_as_viewed_from_inside_a_phase(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with at_hand(lab) as server:
        monkeypatch.setenv("BURNISH_TASK", "1")
        for path, body in (("viewed", {"path": "app.py", "blob": blob_of(lab)}), ("seen", {"tree": "a" * 40})):
            answer = server.of_project("PUT", f"/tasks/1/{path}", body)
            assert "inside a phase" in answer.text
        monkeypatch.delenv("BURNISH_TASK")
        draft = server.of_project("GET", "/tasks/1/draft").json()
        assert not draft["viewed"] and not draft["seen_tree"]


def test_replies_reach_the_author_and_a_persons_comment_can_be_resolved(lab: Lab) -> None:
    lab.burnish("comment", "1", "Zero is not handled.", "--at", "app.py:4")
    lab.burnish("comment", "1", "Raise, do not return.", "--on", "F1")
    (finding,) = lab.show(1)["findings"]
    assert (finding["file"], finding["line"], finding["state"]) == ("app.py", 4, "open")
    assert finding["replies"][0]["text"] == "Raise, do not return."
    assert "Raise, do not return." in lab.burnish("findings", "1").out
    with at_hand(lab) as server:
        where = "/tasks/1/findings/F1"
        assert server.of_project("POST", f"{where}/reply", {"text": " "}).status_code == 400
        server.of_project("POST", f"{where}/reply", {"text": "As math does."})
    lab.burnish("run", "1", code=1)
    prompt = [call["prompt"] for call in lab.calls() if call["phase"] == "improve"][-1]
    assert "Raise, do not return." in prompt and "As math does." in prompt
    lab.burnish("comment", "1", "One more.")
    lab.burnish("resolve", "1", "F2", "--reason", "seen by eye")
    finding = lab.show(1)["findings"][1]
    assert finding["state"] == "resolved" and "seen by eye" in finding["note"]
    assert lab.burnish("resolve", "1", "F2", code=None).code != 0
    lab.burnish("reopen", "1", "F2")
    assert lab.show(1)["findings"][1]["state"] == "reopened"


def test_a_reviewers_finding_is_not_resolved_by_hand(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path, extra="approval: required\n")
    lab.add()
    lab.burnish("edit", "1", "--max-cycles", "1")
    lab.burnish("run", "1", code=1)
    answer = lab.burnish("resolve", "1", "F1", code=None)
    assert answer.code == 4 and "waive" in answer.err


def test_a_page_shows_what_changed_between_cycles_and_since_the_last_look(lab: Lab) -> None:
    def part(server: AtHand, query: str) -> str:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        where = f"/p/{server.project}/t/1/parts?names=changes{query}"
        return str(server.client.get(where, headers=headers).text)

    with at_hand(lab) as server:
        tree = lab.repo.git("rev-parse", f"{lab.show(1)['branch']}^{{tree}}")
        server.of_project("PUT", "/tasks/1/seen", {"tree": tree})
        assert "Since I last looked" not in part(server, "")
    lab.burnish("decide", "1", "fix", "-m", "handle zero")
    lab.burnish("run", "1", code=1)
    with at_hand(lab) as server:
        page = part(server, "")
        assert "Since I last looked" in page and 'value="1..2"' in page and page.count('<tr class="add"') == 2
        for span in ("1..2", "seen", "review"):
            page = part(server, f"&span={span}")
            assert page.count('<tr class="add"') == page.count('<tr class="del"') == 1, span
        assert "no code of cycle" in part(server, "&span=1..7")
