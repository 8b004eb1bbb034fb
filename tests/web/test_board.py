"""The board in a real browser: moved by hand and by keys, followed live, and safe to look at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from burnish.core.status import Status
from burnish.core.task import Item, Spec
from burnish.store import Store
from burnish.views.board_moves import ACTS
from testing import boards
from testing.at_hand import at_hand
from testing.boards import open_store, until_in
from testing.browser import THEMES, WIDTHS, browser, logged_in, until
from testing.lab import Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "<img src=x onerror=\"window.hurt='{0}'\"><script>window.hurt='{0}'</script>' \" {{{{7*7}}}} </li></ul>"


@dataclass
class Place:
    """A served laboratory with a board that is written to as another process would."""

    served: Served
    store: Store
    key: str

    def goto(self, page: Page, rest: str = "") -> Page:
        page.goto(f"{self.served.url}/p/{self.key}{rest}")
        page.wait_for_selector('.connection[data-state="live"]')
        return page


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Tasks in every status, and one that is hostile in every field."""
    lab = Lab.make(tmp_path_factory.mktemp("board") / "lab")
    with ExitStack() as stack:
        store, key = open_store(lab)
        stack.callback(store.close)
        boards.varied(store, key)
        text = HOSTILE.format("card")
        spec = Spec(
            text, text, scope=text, criteria=(text,), checklist=(Item(text),), plan=text, agent=text, model=text
        )
        hostile = store.add_task(key, spec, max_cycles=3, auto_review=True).id
        boards.bring(store, key, hostile, Status.BLOCKED, reason="stalled", note=text)
        yield Place(stack.enter_context(serving(lab)), store, key)


@pytest.fixture(scope="module")
def window(place: Place) -> Iterator[Page]:
    """One window for all: whoever comes next opens the board anew."""
    with browser() as opened, logged_in(opened, place.served, width=1800) as page:
        yield page


@pytest.fixture
def page(window: Page, place: Place) -> Page:
    window.set_viewport_size({"width": 1800, "height": 900})
    return place.goto(window)


def column_of(page: Page, number: int | str) -> str:
    # in one step: the page may replace the card between finding it and looking at it
    return str(page.evaluate(f"document.getElementById('t{number}').closest('.column').dataset.column"))


def drag(page: Page, number: int, to: str) -> None:
    page.locator(f"#t{number} .id").hover()
    page.mouse.down()
    # a drag begins with a movement
    page.locator(f"#h-{to}").hover()
    page.locator(f"#h-{to}").hover()


@pytest.mark.slow
def test_cards_are_dragged_where_it_is_legal_and_nowhere_else(place: Place, page: Page) -> None:
    drag(page, 3, "todo")
    legal = page.eval_on_selector_all(".column.legal", "all => all.map(one => one.dataset.column)")
    assert set(legal) == {"todo", "working", "ready", "done"}
    assert page.locator("#c-todo .drop-here").inner_text() == "Put back"
    assert page.locator("#c-done .drop-here").inner_text() == "Cancel"
    page.mouse.up()
    until_in(page, 3, "backlog")

    # illegal: nothing moves, and the table of moves says why
    drag(page, 16, "ready")
    page.mouse.up()
    page.wait_for_selector(".toast.bad")
    said = page.locator(".toast.bad").inner_text()
    assert "Task 16 is backlog and cannot become verified." in said and "it may become" in said
    assert column_of(page, 16) == "todo" and place.store.task(place.key, 16).status is Status.BACKLOG

    # what can be undone is not asked first
    drag(page, 15, "done")
    page.mouse.up()
    until_in(page, 15, "cancelled")
    page.locator(".toast", has_text="T15 was cancelled").get_by_role("button", name="Undo").click()
    until_in(page, 15, "backlog")
    assert place.store.task(place.key, 15).status is Status.BACKLOG
    # and the rest is
    drag(page, 4, "done")
    page.mouse.up()
    page.get_by_role("button", name="Keep task").click()
    assert column_of(page, 4) == "needs"
    drag(page, 4, "done")
    page.mouse.up()
    page.get_by_role("button", name="Cancel task").click()
    until_in(page, 4, "cancelled")
    assert place.store.task(place.key, 4).status is Status.CANCELLED

    # forward against a review: the task's page asks why
    drag(page, 13, "ready")
    page.mouse.up()
    page.wait_for_url(re.compile(r"/t/13#override"))


def test_hostile_text_is_shown_as_text_on_the_card_in_the_form_and_in_what_is_said(place: Place, page: Page) -> None:
    card = page.locator("#t17")
    assert HOSTILE.format("card") in card.locator(".title").inner_text()
    assert HOSTILE.format("card") in str(card.locator(".note").text_content())
    page.locator("#t17").focus()
    page.keyboard.press("e")
    page.wait_for_selector("#form[open]")
    for name in ("title", "description", "scope", "criteria", "plan", "agent", "model"):
        assert page.locator(f"#form [name={name}]").input_value() == HOSTILE.format("card"), name
    assert HOSTILE.format("card") in page.locator("#form fieldset").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    page.get_by_role("menuitem", name="Cancel").click()
    assert HOSTILE.format("card") in page.locator("dialog[open]").inner_text()
    page.keyboard.press("Escape")
    # through the address, too
    place.goto(page, "?q=%3Cscript%3Ewindow.hurt%3D1%3C/script%3E&agent=%22%3E%3Cimg%20src=x%20onerror=hurt()%3E")
    page.locator("#t17").wait_for(state="attached")
    assert page.evaluate("window.hurt") is None
    assert page.locator("main img, main script").count() == 0


@pytest.mark.long
def test_search_and_filters_find_also_what_stands_in_the_long_texts(place: Place, page: Page) -> None:
    number = place.store.add_task(
        place.key, Spec("Plain title", "mentions the wombat once"), max_cycles=3, auto_review=True
    ).id
    page.keyboard.press("/")
    page.keyboard.type("wombat")
    until(page, "document.querySelectorAll('.card:not([hidden])').length === 1")
    assert page.locator(f"#t{number}").is_visible() and page.locator("#c-todo .count").inner_text().startswith("1/")
    # a reload keeps it, Escape lets go of it
    page.reload()
    until(page, "document.querySelectorAll('.card:not([hidden])').length === 1")
    page.locator("#search").press("Escape")
    assert page.locator(".card:not([hidden])").count() > 10
    page.get_by_role("button", name="Needs me").click()
    shown = page.eval_on_selector_all(".card:not([hidden])", "all => all.map(one => one.dataset.column)")
    assert set(shown) <= {"blocked", "failed", "waiting_approval", "in_progress", "code_review"} and shown
    page.get_by_role("button", name="Needs me").click()
    page.locator("#by-status").select_option("completed")
    assert page.locator(".column:visible").count() == 1
    # nothing that is related stays unseen
    page.locator("#by-status").select_option("")
    page.locator("#t6").hover()
    assert page.locator("#t5.dependency").count() == 1


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("theme", THEMES)
def test_it_fits_every_screen_in_both_themes(page: Page, theme: str, tmp_path: Path) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        page.screenshot(path=tmp_path / f"board-{width}-{theme}.png")
        # the board scrolls inside of itself: the page never does, in neither direction
        box: dict[str, Any] = page.evaluate(
            "({w: document.documentElement.scrollWidth, h: document.documentElement.scrollHeight})"
        )
        assert box["w"] <= width and box["h"] <= 844, (width, box)
        assert page.locator("#add").is_visible() and page.locator("#search").is_visible()
        ends = page.eval_on_selector_all(".top nav a", "all => all.map(one => one.getBoundingClientRect().right)")
        assert len(ends) == 6 and max(ends) <= width
        _refusal_is_seen(page)
    assert _worst_contrast(page) >= 4.5


def _refusal_is_seen(page: Page) -> None:
    """The server's error on a new task is shown beside the buttons and is not covered."""
    page.locator("#add").click()
    page.wait_for_selector("#form[open]")
    page.locator("#form [name=title]").fill("Wait for nothing")
    page.locator("#form [name=depends_on]").fill("999")
    page.locator("#form .primary").click()
    page.wait_for_selector("#form .error:not([hidden])")
    assert "no task 999" in page.locator("#form .error").inner_text()
    assert page.evaluate("""() => {
      const box = document.querySelector("#form .error").getBoundingClientRect();
      return document.elementFromPoint(box.left + 5, box.bottom - 5)?.closest("#form .error") !== null;
    }""")
    page.locator("#form [data-close]").click()


def _worst_contrast(page: Page) -> float:
    """Of all text on the cards and in the bar, against the first colour under it."""
    return float(
        page.evaluate("""() => {
          const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
          const rgb = (colour, under) => {
            probe.fillStyle = under; probe.fillRect(0, 0, 1, 1); probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1);
            return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
          };
          const straight = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          const light = ([r, g, b]) =>
            0.2126 * straight(r / 255) + 0.7152 * straight(g / 255) + 0.0722 * straight(b / 255);
          const ground = (el) => {
            const own = getComputedStyle(el).backgroundColor;
            const solid = !/, 0\\)$|transparent/.test(own);
            return solid ? own : el.parentElement ? ground(el.parentElement) : "white";
          };
          const ratio = (el) => {
            const under = ground(el);
            const [a, b] = [light(rgb(getComputedStyle(el).color, under)), light(rgb(under, "white"))];
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          };
          const texts = [...document.querySelectorAll(".card *, .bar *, .column h2 *")]
            .filter((el) => el.offsetParent && !el.closest(":disabled"))
            .filter((el) => [...el.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
          return Math.min(...texts.map(ratio));
        }""")
    )


@pytest.mark.slow
def test_every_act_is_a_route_of_the_api(place: Place) -> None:
    paths = place.served.api("GET", "/openapi.json").json()["paths"]
    base = "/api/v1/projects/{project}/tasks/{task}"
    for name, act in ACTS.items():
        if not act.ask.startswith("page"):
            assert act.method.lower() in paths[base + act.path], name
    with place.served.client() as client:
        why = client.get(f"/p/{place.key}/why", params={"task": 2, "to": "backlog"})
        assert why.status_code == 409 and "may become" in why.json()["detail"]
        assert client.get(f"/p/{place.key}/cards", params={"ids": "1,x"}).status_code == 400
        some = client.get(f"/p/{place.key}/cards", params={"ids": "2,999", "around": True}).text
        # what waits for it comes with it, what is gone does not
        assert re.findall(r'id="t(\d+)"', some) == ["2", "5"]
        assert json.loads(client.get(f"/p/{place.key}/found", params={"q": "EXPORT csv"}).text) == {"ids": [2]}


def test_an_event_costs_the_same_statements_on_a_long_board(
    tmp_path: Path, hermetic: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    # branches are looked at from time to time, and a thread reads the version of the store every 20 ms
    monkeypatch.setattr("burnish.features.server.registry.SECONDS_BETWEEN_LOOKS", 1e6)
    monkeypatch.setattr("burnish.web.socket.PAUSE", 1e6)
    lab = Lab.make(tmp_path)
    store, key = boards.open_store(lab, branches=300)
    boards.many(store, key, 20)
    with at_hand(lab) as server:
        _, headers = server.browser()

        def statements() -> int:
            server.client.get(f"/p/{key}/cards?ids=3&around=1", headers=headers)
            before = server.registry.store.statements
            assert server.client.get(f"/p/{key}/cards?ids=3&around=1", headers=headers).status_code == 200
            return server.registry.store.statements - before

        few = statements()
        boards.many_more(store, key, 280)
        assert statements() == few <= 9
        for task in store.tasks(key, statuses=[Status.BACKLOG])[:20]:
            boards.bring(store, key, task.id, Status.WAITING_APPROVAL)
        assert statements() == few
    store.close()


def test_the_board_and_the_inbox_agree_on_what_waits_for_a_person(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path)
    store, key = boards.open_store(lab)
    boards.varied(store, key)
    paused = store.add_task(key, Spec("Paused", paused=True), max_cycles=3, auto_review=True).id
    with at_hand(lab) as server:
        row = server.registry.project(key)
        listed = {(key, one.task.id) for one in server.registry.inbox([row]) if one.kind != "ready"}
        assert server.registry.waiting([row]) == listed
        assert server.registry.waiting([row], {key: store.tasks(key, brief=True)}) == listed
        assert (key, paused) in listed and len({store.task(key, id).status for _, id in listed}) >= 5
    store.close()
