"""The page with settings, doctor and cleaning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Route

from testing.at_hand import AtHand, at_hand
from testing.browser import browser, logged_in
from testing.lab import Lab
from testing.serving import serving
from testing.userrepo import UserRepo


@pytest.fixture
def own_server(tmp_path: Path, hermetic: object) -> Iterator[AtHand]:
    """A server of this test alone, which may get further projects."""
    lab = Lab.make(tmp_path / "lab")
    lab.add("One task")
    with at_hand(lab) as opened:
        yield opened


def test_every_page_of_a_project_leads_to_its_settings(server: AtHand) -> None:
    _, headers = server.browser()
    for path in ("", "/list", "/settings"):
        html = server.client.get(f"/p/{server.project}{path}", headers=headers).text
        assert f'href="/p/{server.project}/settings"' in html


@pytest.mark.slow
def test_settings_have_sources_and_a_project_is_forgotten(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", extra="budget: {task_usd: 3}\n")
    lab.add("One task")
    with serving(lab) as served, browser() as opened, logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/settings")
        row = page.locator("#budgets tr", has_text="budget.task_usd")
        row.wait_for()
        assert "3" in row.inner_text() and "burnish.yaml" in row.inner_text()
        page.wait_for_selector("#doctor .signs li:has-text('git')", timeout=60_000)
        page.fill("#search", "max_cycles")
        keys = page.locator("#settings tbody code").all_inner_texts()
        assert keys and all("max_cycles" in key for key in keys)
        page.fill("#search", "")
        page.check("#only-own")
        assert "default" not in page.locator("#settings tbody").inner_text()
        assert "Nothing to clean up." in page.locator("#cleaning").inner_text()
        # nothing was done so far
        assert served.api("GET", "/audit").json()["entries"] == []
        page.click("#forget")
        page.click("dialog[open] button.danger")
        page.wait_for_url("**/projects")
        assert served.api("GET", "/projects").json()["projects"] == []


@pytest.mark.slow
def test_a_value_is_changed_at_its_place_and_brought_back(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", extra="budget: {task_usd: 3}\n")
    lab.user_settings("review: {max_cycles: 4}\n")
    lab.add("One task")
    with serving(lab) as served, browser() as opened, logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/settings")
        row = page.locator("#settings tr[data-key='review.max_cycles']")
        row.get_by_role("button", name="Change").click()
        assert row.locator("input").input_value() == "4"
        row.locator("input").fill("many")
        row.get_by_role("button", name="Save").click()
        row.locator(".error").wait_for()
        assert "review.max_cycles" in row.locator(".error").inner_text()
        row.locator("input").fill("6")
        row.get_by_role("button", name="Save").click()
        row.get_by_role("button", name="Back to 4").wait_for()
        assert row.locator(".value-line > span").inner_text() == "6"
        row.get_by_role("button", name="Back to 4").click()
        row.locator(".value-line > span", has_text="4").wait_for()
        # the project's file has the last word about a value for all projects, and the page tells it
        budget = page.locator("#budgets tr[data-key='budget.task_usd']")
        budget.get_by_role("button", name="Change").click()
        budget.locator("input").fill("9")
        budget.get_by_role("button", name="Save").click()
        budget.locator("text=sets it, too, and counts").wait_for()
        budget.get_by_role("button", name="Change").click()
        budget.locator("select").select_option("project")
        budget.get_by_role("button", name="Save").click()
        budget.locator(".value-line > span", has_text="9").wait_for()
        assert page.locator("#settings tr[data-key='checks.test'] button").count() == 0


@pytest.mark.slow
def test_an_open_form_stays_when_the_tables_are_drawn_again(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    lab.user_settings("review: {max_cycles: 4}\n")
    lab.add("One task")
    with serving(lab) as served, browser() as opened, logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/settings")
        budget = page.locator("#budgets tr[data-key='budget.task_usd']")
        budget.wait_for()
        held: list[Route] = []
        page.route("**/cost*", lambda route: held.append(route))
        row = page.locator("#settings tr[data-key='review.max_cycles']")
        row.get_by_role("button", name="Change").click()
        row.locator("input").fill("6")
        row.get_by_role("button", name="Save").click()
        row.get_by_role("button", name="Back to 4").wait_for()
        budget.get_by_role("button", name="Change").click()
        budget.locator("input").fill("9")
        old = page.locator("#budgets table").element_handle()
        for route in held:
            route.continue_()
        page.unroute("**/cost*")
        page.wait_for_function("old => !old.isConnected", arg=old)
        assert budget.locator("input").input_value() == "9"
        budget.get_by_role("button", name="Save").click()
        budget.locator(".value-line > span", has_text="9").wait_for()


def test_a_project_is_added_by_its_path_and_not_trusted(own_server: AtHand, tmp_path: Path) -> None:
    server = own_server
    other = UserRepo.make(tmp_path / "it's \u202eother")
    other.commit({"burnish.yaml": "agent: robot\n", "a.py": "x = 1\n"})
    answer = server.api("POST", "/projects", {"path": str(other.path)})
    assert answer.status_code == 200, answer.text
    added = answer.json()
    assert added["is_new"] and not added["trusted"] and "trust" in added["trust_command"]
    assert server.api("POST", "/projects", {"path": str(other.path / ".")}).json()["is_new"] is False
    assert added["key"] in [one["key"] for one in server.api("GET", "/projects").json()["projects"]]
    inside_home = Path(server.lab.env["BURNISH_HOME"])
    for path in (
        "",
        "relative",
        "/",
        str(tmp_path),
        str(other.path / "a.py"),
        "/nonexistent",
        "~nosuchuser/app",
        "a\0b",
        str(inside_home),
        "x" * 5000,
    ):
        refused = server.api("POST", "/projects", {"path": path})
        assert refused.status_code in (400, 422), (path, refused.text)
    _, headers = server.browser()
    headers = {name: value for name, value in headers.items() if name != "X-Burnish-Key"}
    refused = server.client.post("/api/v1/projects", json={"path": str(other.path)}, headers=headers)
    assert refused.status_code in (401, 403)


def test_the_terminal_adds_a_project_but_not_inside_a_phase(own_server: AtHand, tmp_path: Path) -> None:
    server = own_server
    other = UserRepo.make(tmp_path / "other")
    other.commit({"a.py": "x = 1\n"})
    server.lab.apart("projects", "add", str(other.path), code=4, BURNISH_TASK="1")
    said = server.lab.burnish("projects", "add", str(other.path))
    assert said.out.startswith("Added other")
    assert "no project ~nosuchuser" in server.lab.burnish("projects", "forget", "~nosuchuser", code=None).err


@pytest.mark.slow
def test_a_project_is_added_and_forgotten_in_the_browser(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    lab.add("One task")
    other = UserRepo.make(tmp_path / "other")
    other.commit({"burnish.yaml": "agent: robot\n"})
    with serving(lab) as served, browser() as opened, logged_in(opened, served) as page:
        page.goto(f"{served.url}/projects")
        page.locator(".add-box summary").click()
        page.fill("#add-project input", "/nonexistent")
        page.locator("#add-project button").click()
        page.locator("#add-project .error:not([hidden])").wait_for()
        page.fill("#add-project input", str(other.path))
        page.locator("#add-project button").click()
        page.locator("#added:not([hidden])").wait_for()
        assert "It is not trusted" in page.locator("#added").inner_text()
        page.locator(".projects .name", has_text="other").wait_for()
        page.locator("[data-forget][data-name='other']").click()
        # a locator, because the page may be loaded again meanwhile
        page.locator("[data-name='other']").wait_for(state="detached")
        names = [one["name"] for one in served.api("GET", "/projects").json()["projects"]]
        assert names == ["repo"]
