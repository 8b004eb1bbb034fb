"""A task that conflicts with its target, on the board: shown, and resolved by a button."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.at_hand import AtHand, at_hand
from testing.browser import browser, logged_in
from testing.serving import serving
from tests.engine.test_conflicts import lab_of, two_tasks


@pytest.fixture
def server(tmp_path: Path, hermetic: object) -> Iterator[AtHand]:
    lab = lab_of(tmp_path / "lab")
    two_tasks(lab)
    with at_hand(lab) as opened:
        yield opened


def page(server: AtHand, path: str) -> str:
    _, headers = server.browser()
    return str(server.client.get(path, headers=headers).text)


def test_the_inbox_and_the_task_page_show_a_conflict_and_resolve_it(server: AtHand) -> None:
    (entry,) = server.of_project("GET", "/inbox").json()["inbox"]
    assert (entry["kind"], entry["conflicts"]) == ("conflict", ["work.txt"])
    inbox = page(server, "/inbox")
    assert "approved, but conflicts with main in work.txt" in inbox and "/tasks/2/rebase" in inbox
    assert "Merge all" not in inbox, "nothing is ready"
    task = page(server, f"/p/{server.project}/t/2")
    assert "It is approved, but conflicts with main in work.txt." in task and "Let the agent resolve" in task
    # by its id it keeps the focus when an event of another task renews the head
    assert '<button class="primary" id="answer-send"><span>Let the agent resolve</span></button>' in task
    assert 'id="act-merge"' not in task, "it would be refused"
    assert server.api("GET", "/inbox").json()["inbox"] == [entry]

    assert server.of_project("POST", "/tasks/2/rebase").status_code == 202
    server.lab.until(lambda: server.api("GET", "/server").json()["runs"] == [])
    (entry,) = server.of_project("GET", "/inbox").json()["inbox"]
    assert (entry["kind"], entry["why"]) == ("ready", "approved, ready to be merged")
    assert "Let the agent resolve" not in page(server, f"/p/{server.project}/t/2")
    # nothing is left to merge into the branch, so nothing is started
    assert server.of_project("POST", "/tasks/2/rebase").json()["status"] == "verified"
    assert server.of_project("POST", "/tasks/1/rebase").status_code == 409, "it is completed"


@pytest.mark.slow
def test_a_conflict_is_resolved_by_clicking(tmp_path: Path) -> None:
    lab = lab_of(tmp_path / "lab")
    two_tasks(lab)
    with serving(lab) as served, browser() as opened, logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/t/2")
        page.wait_for_selector(".task-page[data-ready]")
        page.get_by_role("button", name="Let the agent resolve").click()
        page.wait_for_selector('#part-head[data-status="verified"]:has-text("ready to be merged")', timeout=30_000)
    assert lab.task("2")["cycle"] == 2


# a name that is not UTF-8, with a sequence that colours a terminal and markup
ODD = b"w\xff\x1b[31m\n<b>.txt"
WRITES_ODD = f"open({ODD!r}, 'w').write('task ' + task + chr(10))"


@pytest.mark.slow
def test_an_odd_name_of_a_file_is_shown_as_text_everywhere(tmp_path: Path, hermetic: object) -> None:
    lab = lab_of(tmp_path / "lab", WRITES_ODD, "print(verdict('approved', inspected=[]))")
    (Path(os.fsdecode(os.fsencode(lab.repo.path) + b"/" + ODD))).write_text("one\n")
    lab.repo.commit({})
    lab.add("Change it")
    lab.burnish("run", "1")
    (Path(os.fsdecode(os.fsencode(lab.repo.path) + b"/" + ODD))).write_text("main\n")
    lab.repo.commit({})
    for command in (["status"], ["inbox"], ["show", "1"], ["list"]):
        out = lab.burnish(*command).out
        assert "conflicts with main in w" in out and "\x1b[31m" not in out
    assert lab.burnish("inbox", "--json").json["inbox"][0]["conflicts"] == [ODD.decode(errors="replace")]
    with at_hand(lab) as server:
        assert server.of_project("GET", "/inbox").json()["inbox"][0]["kind"] == "conflict"
        for path in ("/inbox", f"/p/{server.project}/t/1"):
            text = page(server, path)
            assert "conflicts with main in w" in text and "<b>.txt" not in text
    lab.agent("robot", f"open({ODD!r}, 'w').write('both' + chr(10))")
    lab.burnish("rebase", "1")
    assert lab.repo.git("show", "-s", "--format=%s", lab.task()["branch"]) == "Merge main into burnish/1-change-it"
