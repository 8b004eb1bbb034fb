"""Each state of a task has its answer on the page, and nothing is offered that the server would refuse."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from testing.at_hand import TOKEN, AtHand, at_hand
from testing.lab import APPROVE, AUTHOR, Lab
from testing.program import PROGRAM, put_on_path

KEY = "AKIA" + "Q7W3ERTYUIOPASD2"
LEAKS = AUTHOR + f'pathlib.Path("settings.py").write_text("x = 1\\nAWS_KEY = \\"{KEY}\\"\\n")\n'


def head_of(server: AtHand, task: int = 1) -> str:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    text = str(server.client.get(f"/p/{server.project}/t/{task}/parts?names=head", headers=headers).text)
    return re.sub(r"\s+", " ", text)


def acts(head: str) -> list[str]:
    return re.findall(r'data-act="(\w+)"', head)


def until_at_rest(server: AtHand, status: str) -> None:
    end = time.monotonic() + 60
    while server.of_project("GET", "/tasks/1").json()["status"] != status:
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_question_has_a_box_for_its_answer(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path, judge='print(verdict("needs_discussion", "Should zero give None?"))')
    lab.add()
    lab.burnish("run", "1", code=1)
    with at_hand(lab) as server:
        head = head_of(server)
        assert 'data-answer="note"' in head and ">Answer<" in head and "Should zero give None?" in head
        assert "improve" not in acts(head), "one box, not two"


def test_a_reached_budget_is_raised_for_the_task_and_it_continues(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "budget: {task_usd: 0.3}", PROGRAM)
    lab.add()
    lab.burnish("run", "1", code=1)
    task = lab.task()
    assert (task["status"], task["reason"]) == ("blocked", "budget")
    with at_hand(lab) as server:
        head = head_of(server)
        assert 'data-answer="budget"' in head and "Raise and retry" in head and "was 0.30" in head
        low = server.of_project("POST", "/tasks/1/retry", {"budget_usd": task["cost_usd"] / 2})
        assert low.status_code == 400 and "already" in low.json()["title"]
    lab.burnish("retry", "1", "--budget", "9")
    assert lab.task()["status"] == "verified"
    assert [event["data"] for event in lab.events("task.edited")] == [{"changes": {"budget_usd": 9.0}}]


def test_a_secret_is_shown_by_its_place_and_a_masked_line(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path, author=LEAKS)
    lab.add()
    lab.burnish("run", "1", code=1)
    assert lab.task()["reason"] == "secret"
    with at_hand(lab) as server:
        head = head_of(server)
        assert "settings.py:2" in head and "AWS_KEY = ••••••••" in head and "allow-secret" in head
        assert KEY not in head and KEY[4:12] not in head
        assert "Let the agent remove it" in head
        # there is no commit that could be approved or judged
        assert not {"override", "review", "improve"} & set(acts(head))


def test_a_review_that_is_asked_for_by_hand_has_a_button(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.burnish("add", "By hand", "-A")
    lab.burnish("run", "1", code=None)
    with at_hand(lab) as server:
        head = head_of(server)
        assert 'id="act-ask"' in head and ">Review<" in head and "goon" not in acts(head)
        assert server.of_project("POST", "/tasks/1/review", {}).status_code == 202
        until_at_rest(server, "verified")


@pytest.mark.slow
def test_an_external_review_has_its_forms(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add()
    with at_hand(lab) as server:
        assert "handoff" not in acts(head_of(server))
    lab.burnish("run", "1")
    with at_hand(lab) as server:
        assert {"handoff", "outside"} <= set(acts(head_of(server)))
        assert server.of_project("POST", "/tasks/1/handoff", {}).status_code == 200
        form = head_of(server).partition('data-answer="outside"')[2].partition("</form>")[0]
        assert '<select name="verdict">' in form and '<option value="changes_requested">' in form
