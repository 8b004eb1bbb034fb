"""A task that conflicts with its target, on the board: shown, and resolved by a button."""

from __future__ import annotations

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
    assert "It is approved, but conflicts with main in work.txt." in task and "Resolve conflicts" in task
    assert server.api("GET", "/inbox").json()["inbox"] == [entry]

    assert server.of_project("POST", "/tasks/2/rebase").status_code == 202
    server.lab.until(lambda: server.api("GET", "/server").json()["runs"] == [])
    (entry,) = server.of_project("GET", "/inbox").json()["inbox"]
    assert (entry["kind"], entry["why"]) == ("ready", "approved, ready to be merged")
    assert "Resolve conflicts" not in page(server, f"/p/{server.project}/t/2")
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
        page.get_by_role("button", name="Resolve conflicts").click()
        page.locator("dialog[open] .primary").click()
        page.wait_for_selector('#part-head[data-status="verified"]:has-text("ready to be merged")', timeout=30_000)
    assert lab.task("2")["cycle"] == 2
