"""Tasks as a table and as one board of all projects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from burnish.core.status import Status
from testing import boards
from testing.at_hand import AtHand, at_hand
from testing.boards import open_store
from testing.browser import browser, logged_in, until
from testing.lab import Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def get(server: AtHand, path: str) -> str:
    _, headers = server.browser()
    answer = server.client.get(path, headers={**headers, "Accept": "text/html"})
    assert answer.status_code == 200
    return str(answer.text)


def test_the_list_has_a_row_for_each_task_with_what_can_be_done(server: AtHand) -> None:
    for path in (f"/p/{server.project}/list", "/all/list", f"/p/{server.project}/list/part"):
        html = get(server, path)
        assert re.findall(r'id="row-[^"]*-(\d+)"', html) == ["1", "2", "3"]
        acts = dict(re.findall(r'data-id="(\d+)" data-acts="([^"]*)"', html))
        assert acts["3"] == "run cancel remove" and "retry" in acts["2"] and "archive" not in acts["2"]
    assert "blocked: max cycles" in html


def test_the_list_of_an_empty_project_is_renewed_with_its_own_tasks(tmp_path: Path) -> None:
    with at_hand(Lab.make(tmp_path / "lab")) as server:
        for path in (f"/p/{server.project}/list", f"/p/{server.project}/list/part"):
            html = get(server, path)
            assert f'data-part="/p/{server.project}/list/part"' in html
            assert f'href="/p/{server.project}">Go to the board</a>' in html


def test_the_board_of_all_projects_has_every_card_in_its_column(server: AtHand) -> None:
    html = get(server, "/all")
    columns = dict(re.findall(r'id="c-(\w+)".*?class="count">(\d+)<', html, re.S))
    assert columns == {"todo": "1", "working": "0", "needs": "2", "ready": "0", "done": "0"}
    assert all(f'id="t-{server.project}-{number}"' in get(server, "/all/part") for number in (1, 2, 3))


# in a browser


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    lab = Lab.make(tmp_path_factory.mktemp("list") / "lab")
    store, key = open_store(lab)
    boards.varied(store, key)
    store.close()
    with serving(lab) as found:
        yield found


@pytest.mark.slow
def test_rows_are_sorted_filtered_selected_and_acted_on(opened: Browser, served: Served) -> None:
    with logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/list")
        page.wait_for_selector('.connection[data-state="live"]')
        ids = "[...document.querySelectorAll('tbody tr:not([hidden])')].map(one => Number(one.dataset.id))"
        page.click("[data-sort=id]")
        assert page.evaluate(ids) == list(range(1, 17))
        page.click("[data-sort=id]")
        assert page.evaluate(ids) == list(range(16, 0, -1)) and "sort=-id" in page.url
        page.select_option("[data-filter=status]", "backlog")
        assert page.evaluate(ids) == [16, 15, 14, 6, 5]
        # a filter is kept under a name
        page.click("#save-filter")
        page.keyboard.type("My backlog")
        page.click("dialog[open] button.primary")
        page.goto(f"{served.url}/p/{served.project}/list")
        page.select_option("#saved-filters", label="My backlog")
        page.wait_for_url("**status=backlog**")
        page.wait_for_load_state()
        page.reload()
        page.wait_for_selector('.connection[data-state="live"]')
        assert page.evaluate(ids) == [16, 15, 14, 6, 5]
        # by keys: two tasks of the backlog are cancelled without a question, and that is undone
        for key in ("j", "x", "j", "x"):
            page.keyboard.press(key)
        assert page.locator("#selected").inner_text() == "2 tasks selected"
        page.click("#bulk-acts button:has-text('Cancel')")
        until(page, f"({ids}).join() === '14,6,5'")
        status = lambda number: served.of_project("GET", f"/tasks/{number}").json()["status"]  # noqa: E731
        assert status(16) == status(15) == Status.CANCELLED
        page.click(".toast button:has-text('Undo')")
        until(page, f"({ids}).join() === '16,15,14,6,5'")
        # texts that are not in the table are found, too
        page.select_option("[data-filter=status]", "")
        page.fill("#search", "twice as fast")
        until(page, f"({ids}).join() === '6'")
