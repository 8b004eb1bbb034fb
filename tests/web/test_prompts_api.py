"""Prompts over HTTP: kept, switched, refused, tried and taken away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.at_hand import AtHand, at_hand
from testing.lab import APPROVE, Lab

HOSTILE = "</textarea><script>window.hurt=1</script>{{ title }}"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[AtHand]:
    """A project of its own: these tests write into its checkout."""
    lab = Lab.make(tmp_path / "lab")
    lab.env["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    lab.add()
    with at_hand(lab) as opened:
        yield opened


def html(server: AtHand, path: str) -> str:
    _, headers = server.browser()
    answer = server.client.get(f"/p/{server.project}{path}", headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def test_a_text_is_kept_where_it_was_asked_for_and_the_project_wins(fresh: AtHand) -> None:
    path = "/prompts/review.system"
    for where, text in (("global", "Mine."), ("project", "Ours.")):
        told = fresh.of_project("PUT", path, {"text": text, "where": where}).json()
        assert (told["text"], told["places"][where]["text"]) == (text, text)
    assert told["origin"] == "project" and Path(told["path"]).read_text() == "Ours."
    assert fresh.of_project("GET", f"{path}?where=global").json()["text"] == "Mine."
    assert len(fresh.of_project("GET", "/prompts").json()["prompts"]) == 4
    removed = fresh.of_project("DELETE", f"{path}?where=project").json()["removed"]
    assert [one["name"] for one in removed] == ["review.system"]
    assert fresh.of_project("GET", path).json()["origin"] == "user"
    assert len(fresh.of_project("POST", "/prompts/reset", {"where": "global"}).json()["removed"]) == 1
    assert fresh.of_project("GET", path).json()["origin"] == "shipped"


def test_the_switch_keeps_the_text(fresh: AtHand) -> None:
    path = "/prompts/fix.template"
    fresh.of_project("PUT", path, {"text": "Fix {{ findings }}"})
    told = fresh.of_project("PUT", path, {"enabled": False}).json()
    assert (told["origin"], told["switched_off"]) == ("shipped", True)
    assert told["places"]["project"]["text"] == "Fix {{ findings }}"
    assert fresh.of_project("PUT", path, {"enabled": True}).json()["origin"] == "project"
    assert "kind: command" in (fresh.lab.repo.path / "burnish.yaml").read_text()


def test_what_cannot_be_used_is_refused_in_words(fresh: AtHand) -> None:
    unknown = fresh.of_project("PUT", "/prompts/review.system", {"text": "{{ tilte }}"})
    assert unknown.status_code == 400 and "tilte" in unknown.json()["title"] and "title" in unknown.json()["detail"]
    seen = fresh.of_project("GET", "/prompts/review.system").json()["places"]["project"]["seen"]
    fresh.of_project("PUT", "/prompts/review.system", {"text": "First."})
    late = fresh.of_project("PUT", "/prompts/review.system", {"text": "Second.", "seen": seen})
    assert late.status_code == 409
    for body in ({"text": "x", "where": "elsewhere"}, {"tetx": "x"}, {"text": 5}):
        assert fresh.of_project("PUT", "/prompts/review.system", body).status_code == 422
    assert fresh.of_project("PUT", "/prompts/..%2f..%2fetc", {"text": "x"}).status_code in (400, 404)
    assert fresh.of_project("POST", "/prompts/fix.template/preview", {"task": 1, "text": "x"}).status_code == 400


def test_a_text_is_tried_on_a_task_and_kept_nowhere(fresh: AtHand) -> None:
    body = {"task": "1", "text": "Do {{ title }} now"}
    (sent,) = fresh.of_project("POST", "/prompts/implement.template/preview", body).json()["prompts"]
    assert sent["to"] == "robot" and "Do Add division now" in sent["text"]
    assert fresh.of_project("GET", "/prompts/implement.template").json()["origin"] == "shipped"


def test_a_review_prompt_is_tried_on_what_was_changed(server: AtHand) -> None:
    """Word for word what a reviewer would get, with the diff."""
    body = {"task": 1, "text": "Look at {{ title }}"}
    (sent,) = server.of_project("POST", "/prompts/review.system/preview", body).json()["prompts"]
    assert sent["to"] == "judge" and "Look at Add division" in sent["text"] and "def div_1" in sent["text"]


def test_a_page_shows_hostile_text_as_text(fresh: AtHand) -> None:
    fresh.of_project("PUT", "/prompts/review.system", {"text": HOSTILE})
    for path in ("/prompts", "/prompts?where=global", "/prompts/part/review.system"):
        page = html(fresh, path)
        assert "<script>window" not in page
    assert "&lt;/textarea&gt;" in html(fresh, "/prompts/part/review.system")
    assert "uses this project" in page


def test_a_cookie_without_the_key_writes_nothing(fresh: AtHand) -> None:
    _, headers = fresh.browser()
    del headers["X-Burnish-Key"]
    address = f"/api/v1/projects/{fresh.project}/prompts/review.system"
    assert fresh.client.put(address, headers=headers, json={"text": "x"}).status_code == 403
    assert not (fresh.lab.repo.path / ".burnish").exists()


@pytest.mark.slow
def test_the_page_says_how_many_approvals_another_text_costs(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", judge=APPROVE)
    lab.env["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    lab.add()
    lab.burnish("run")
    with at_hand(lab) as server:
        assert "Another text voids 1 approval (task 1)" in html(server, "/prompts")
        assert "Another text voids 1 approval (task 1)" in html(server, "/prompts/part/review.system")
        server.of_project("PUT", "/prompts/review.system", {"text": "Be strict.", "where": "project"})
        assert "voids" not in html(server, "/prompts"), "it no longer holds"


def test_the_answer_to_a_change_says_which_approvals_it_costs(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", judge=APPROVE)
    lab.env["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    lab.add()
    lab.burnish("run")
    with at_hand(lab) as server:
        same = server.of_project("GET", "/prompts/review.system").json()["default"]
        both = {"text": "Be strict.", "enabled": False}
        assert server.of_project("PUT", "/prompts/review.system", both).json()["voids"] == [], "it is not in force"
        changed = server.of_project("PUT", "/prompts/review.system", {"enabled": True}).json()
        assert (changed["voids"], changed["restores"], changed["elsewhere"]) == (["1"], [], [])
        back = server.of_project("DELETE", "/prompts/review.system").json()
        assert [one["name"] for one in back["removed"]] == ["review.system"] and "restores" in back
        everywhere = {"text": same + "More.", "where": "global"}
        assert server.of_project("PUT", "/prompts/review.system", everywhere).json()["voids"] == ["1"]
