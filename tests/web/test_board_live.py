"""The board while things happen: a whole story by keys, a second window, a server that dies, a thousand cards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from burnish.core.agent import UsageLimit
from burnish.core.status import Status
from burnish.core.task import Spec
from burnish.store import Store
from testing import boards
from testing.boards import open_store, until_in
from testing.browser import browser, logged_in, until
from testing.lab import AUTHOR, Lab
from testing.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

TOKEN = "a-token-of-ones-own-1234"


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


def live(page: Page) -> None:
    page.wait_for_selector('.connection[data-state="live"]', timeout=20_000)


@pytest.mark.slow
def test_by_keys_alone_a_task_is_added_run_and_merged_and_a_second_window_follows(
    tmp_path: Path, opened: Browser
) -> None:
    lab = Lab.make(tmp_path / "lab")
    for part in Path(lab.env["BURNISH_HOME"]).glob("burnish.db*"):
        part.unlink()  # trust alone has made the project known
    with (
        serving(lab) as served,
        logged_in(opened, served, width=1700) as page,
        logged_in(opened, served, width=1700) as second,
    ):
        # the first project appears by itself
        assert page.locator("#no-projects").is_visible()
        open_store(lab)[0].close()
        live(page), live(second)
        assert page.locator("#welcome").is_visible()
        page.keyboard.press("n")
        page.wait_for_selector("#form[open]")
        page.keyboard.type("Add divi")
        # closed by mistake: what was written is still there
        page.keyboard.press("Escape")
        page.keyboard.press("n")
        page.wait_for_selector("#form[open]")
        page.keyboard.press("End")
        page.keyboard.type("sion")
        page.keyboard.press("Enter")
        until_in(page, 1, "backlog"), until_in(second, 1, "backlog")
        assert not second.locator("#welcome").is_visible()
        assert page.locator("#t1 .title").inner_text() == "Add division"
        until(page, "document.activeElement.id === 't1'")
        page.keyboard.press("m")
        assert page.locator("#menu button").first.inner_text().startswith("Start")
        page.keyboard.press("Enter")
        until_in(page, 1, "verified"), until_in(second, 1, "verified")
        assert "cycle 2/3" in second.locator("#t1").inner_text()
        # it moved under the fingers, and still has the focus
        until(page, "document.activeElement.id === 't1'")
        page.keyboard.press("m")
        assert page.locator("#menu button").first.inner_text().startswith("Merge")
        page.keyboard.press("Enter")
        page.wait_for_selector("#merge-form[open]")
        page.keyboard.press("Enter")
        until_in(page, 1, "completed"), until_in(second, 1, "completed")
        assert "div_1" in (lab.repo.path / "app.py").read_text()
        page.keyboard.press("Enter")
        page.wait_for_url("**/t/1")


@pytest.mark.long
def test_what_runs_is_seen_running_is_stopped_and_goes_on(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", author="time.sleep(60)")
    lab.add("Add division"), lab.add("Add a root")
    with serving(lab) as served, logged_in(opened, served) as page, logged_in(opened, served) as second:
        live(page), live(second)
        page.locator("#run-all").click()
        page.locator("#run-form [name=jobs]").fill("1")
        page.locator("#run-form [value=go]").click()
        page.wait_for_selector("#c-working #t1 .doing time")
        # it counts by itself, without a word from the server
        first = page.locator("#t1 .doing time").inner_text()
        until(page, f"document.querySelector('#t1 .doing time').textContent !== '{first}'")
        assert page.locator("#t1 .doing").inner_text().startswith("implementing")
        assert "1 running" in page.locator("#head").inner_text()
        # what is yet to come is queued, also for who did not start it, and can be taken out
        page.wait_for_selector("#t2 .doing.queued"), second.wait_for_selector("#t2 .doing.queued")
        assert page.locator("#run-all").is_disabled() and second.locator("#stop-all").is_visible()
        page.locator("#t2 .more").click()
        page.get_by_role("menuitem", name="Take out of the queue").click()
        page.wait_for_selector("#t2 .doing", state="detached")
        second.locator("#stop-all").click()
        second.get_by_role("button", name="Stop all").last.click()
        page.wait_for_selector("#t1[data-standing=interrupted]")
        page.wait_for_selector("#stop-all", state="hidden")
        lab.agent("robot", AUTHOR)
        page.locator("#t1 .more").click()
        page.get_by_role("menuitem", name="Continue").click()
        until_in(page, 1, "verified")
        assert page.locator("#t1 .doing").count() == 0 and page.locator("#c-todo #t2").count() == 1


@pytest.mark.slow
def test_a_board_that_was_open_while_the_server_died_asks_for_a_login_and_then_catches_up(
    tmp_path: Path, opened: Browser
) -> None:
    lab = Lab.make(tmp_path / "lab")
    store, key = open_store(lab)
    for title in ("One", "Two", "Three"):
        store.add_task(key, Spec(title), max_cycles=3, auto_review=True)
    with serving(lab, BURNISH_SERVE_TOKEN=TOKEN) as served, logged_in(opened, served) as page:
        live(page)
        page.locator("#t2").focus()
        served.kill()
        page.wait_for_selector('.connection[data-state="cut"]')
        boards.move(store, key, 2, Status.CANCELLED)
        store.add_task(key, Spec("Four", depends_on=(1,)), max_cycles=3, auto_review=True)
        with serving(lab, port=served.port, BURNISH_SERVE_TOKEN=TOKEN) as again:
            banner = page.locator("#login-ended")
            banner.wait_for(timeout=20_000)
            assert "burnish serve was restarted" in banner.inner_text()
            assert "burnish serve --open" in banner.inner_text()
            # it no longer asks: only a login, in any tab, opens the line again
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.wait_for_timeout(1500)
            assert asked == [] and page.locator(".connection").inner_text() == "logged out"
            second = page.context.new_page()
            second.goto(again.login)
            banner.wait_for(state="detached")
            live(page)
            until_in(page, 2, "cancelled"), until_in(page, 4, "backlog")
            until(page, "document.activeElement.id === 't2'")
            # the neighbour heard of it, and it can still act
            until(page, "document.querySelector('#t1').textContent.includes('→ 4')")
            page.locator("#t4").focus()
            page.keyboard.press("m")
            page.get_by_role("menuitem", name="Remove").click()
            page.get_by_role("button", name="Remove").click()
            page.wait_for_selector("#t4", state="detached")
            until(page, "!document.querySelector('#t1').innerText.includes('→')")
    store.close()


@pytest.mark.long
def test_a_thousand_cards_are_there_in_a_second_and_follow_a_storm_in_a_few_requests(
    tmp_path: Path, opened: Browser
) -> None:
    lab = Lab.make(tmp_path / "lab")
    store, key = open_store(lab, branches=1000)
    boards.many(store, key, 1000)
    with serving(lab) as served, logged_in(opened, served, width=1700) as page:
        live(page)
        page.goto(f"{served.url}/p/{key}", wait_until="commit")
        page.wait_for_selector(".card")
        live(page)
        first = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        until(page, "document.querySelectorAll('.card').length === 1000")
        # promised: 1 s on a quiet machine (make bench measures it); here only that nothing is badly wrong
        assert first < 8000, first
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/cards?" in request.url else None)
        page.evaluate("document.querySelector('#c-todo .cards').scrollTop = 5000")
        before = page.evaluate("document.querySelector('#c-todo .cards').scrollTop")
        _storm(store, key, 120)
        until(page, "document.querySelectorAll('.card[data-status=cancelled]').length === 120")
        assert len(asked) <= 20, len(asked)
        assert page.locator("#c-done .card[data-status=cancelled]").count() == 120
        # whoever read there still reads there
        after = page.evaluate("document.querySelector('#c-todo .cards').scrollTop")
        assert before == after == 5000
        begun = time.monotonic()
        move = next(task.id for task in store.tasks(key, statuses=[Status.VERIFIED]))
        boards.move(store, key, move, Status.COMPLETED)
        until_in(page, move, "completed")
        assert time.monotonic() - begun < 30
    store.close()


@pytest.mark.slow
def test_a_long_column_comes_with_its_first_cards_and_is_completed_in_order(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab")
    store, key = open_store(lab)
    boards.many_more(store, key, 45)
    with serving(lab) as served, logged_in(opened, served, width=1700) as page:
        with served.client() as client:
            text = client.get(f"/p/{key}").text
        assert text.count('<li class="card"') == 30
        assert '<span class="count">45</span>' in text
        page.goto(f"{served.url}/p/{key}")
        until(page, "document.querySelectorAll('#c-todo .card').length === 45")
        ids = page.evaluate("[...document.querySelectorAll('#c-todo .card')].map((card) => Number(card.dataset.id))")
        assert ids == sorted(ids)
        assert page.locator("#c-todo .count").first.inner_text() == "45"
        assert page.locator(".card.arrived").count() == 0
        # a place far down is found again
        page.locator("#t44").focus()
        page.locator("#c-todo .cards").evaluate("(list) => (list.scrollTop = 1500)")
        page.reload()
        until(page, "document.querySelector('#c-todo .cards').scrollTop > 1000")
    store.close()


@pytest.mark.slow
def test_a_change_does_not_wait_for_the_cards_below_the_first_screen(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab")
    store, key = open_store(lab)
    boards.many_more(store, key, 45)
    with serving(lab) as served, logged_in(opened, served, width=1700) as page:
        page.goto("about:blank")
        held: list[Route] = []
        page.route("**/cards?ids=31,*", lambda route: held.append(route))
        page.goto(f"{served.url}/p/{key}")
        live(page)
        while not held:
            page.wait_for_timeout(20)
        old = held[0].fetch()
        # one that is shown, and one that is among those that are still to come
        boards.move(store, key, 3, Status.CANCELLED)
        boards.move(store, key, 40, Status.CANCELLED)
        until_in(page, 3, "cancelled"), until_in(page, 40, "cancelled")
        assert page.locator("#c-todo .card").count() == 29
        held[0].fulfill(response=old)
        until(page, "document.querySelectorAll('#c-todo .card').length === 43")
        # the answer was older than the change
        assert page.locator("#t40").get_attribute("data-status") == "cancelled"
        assert page.locator("#c-todo .count").first.inner_text() == "43"
    store.close()


@pytest.mark.slow
def test_a_card_that_arrives_is_marked_by_its_opacity_alone(tmp_path: Path, opened: Browser) -> None:
    """Anything else would paint the whole board in every frame for a second."""
    lab = Lab.make(tmp_path / "lab")
    store, key = open_store(lab)
    boards.many_more(store, key, 5)
    with serving(lab) as served, logged_in(opened, served, width=1700) as page:
        page.goto(f"{served.url}/p/{key}")
        live(page)
        boards.move(store, key, 3, Status.IN_PROGRESS)
        page.wait_for_selector("#t3.arrived")
        frames = page.evaluate("document.querySelector('#t3').getAnimations({subtree: true})[0].effect.getKeyframes()")
        changed = {name for frame in frames for name in frame} - {"offset", "computedOffset", "easing", "composite"}
        assert changed == {"opacity"}
        page.wait_for_selector("#t3:not(.arrived)")
    store.close()


@pytest.mark.slow
def test_each_of_several_changes_is_shown_before_the_next_one_comes(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab")
    store, key = open_store(lab)
    boards.many_more(store, key, 21)
    with serving(lab) as served, logged_in(opened, served, width=1700) as page:
        page.goto(f"{served.url}/p/{key}")
        live(page)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/cards?" in request.url else None)
        for number in range(1, 21):
            boards.move(store, key, number, Status.CANCELLED)
            until_in(page, number, "cancelled")
        assert len(asked) >= 15
    store.close()


def _storm(store: Store, key: str, count: int) -> None:
    """The last tasks of the backlog, one after the other, as a script would."""
    waiting = [task.id for task in store.tasks(key, statuses=[Status.BACKLOG])][-count:]
    assert len(waiting) == count
    for number in waiting:
        boards.move(store, key, number, Status.CANCELLED)


@pytest.mark.slow
def test_auto_is_switched_on_and_off_on_the_board_and_limits_are_shown(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab")
    store, key = open_store(lab)
    end = (datetime.now(UTC) + timedelta(hours=3)).isoformat()
    store.limits.begin_usage_limit(
        UsageLimit("claude", end, True, "5-hour limit reached", datetime.now(UTC).isoformat())
    )
    with serving(lab) as served, logged_in(opened, served) as page, logged_in(opened, served) as second:
        live(page), live(second)
        store.add_task(key, Spec("Add division"), max_cycles=3, auto_review=True)
        until_in(second, 1, "backlog")
        assert "claude's limit resets at" in second.locator("#head").inner_text()
        page.get_by_role("switch", name="Auto").click()
        page.locator("#auto-form [name=until]").fill("07:00")
        page.locator("#auto-form [value=go]").click()
        page.wait_for_selector("#auto[aria-checked=true]"), second.wait_for_selector("#auto[aria-checked=true]")
        until_in(page, 1, "verified")
        store.add_task(key, Spec("Added later"), max_cycles=3, auto_review=True)
        until_in(page, 2, "verified")
        second.get_by_role("switch", name="Auto").click()
        page.wait_for_selector("#auto[aria-checked=false]"), page.wait_for_selector("#stop-all", state="hidden")
        assert served.api("DELETE", "/limits/claude").json() == {"limits": [], "windows": []}
        assert served.api("DELETE", "/limits/claude").status_code == 404
