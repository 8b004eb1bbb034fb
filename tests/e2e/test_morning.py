"""A morning of fifteen decisions, in the browser and in the terminal, by keys alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from testing.browser import browser, logged_in, until
from testing.lab import Lab
from testing.morning import BUDGET, CONFLICT, FAILED, SECRET, TITLES, go_online, morning
from testing.screens import Screen, on_screen
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

# fifteen runs and their decisions
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
# what returns from the agent is decided again
MOST = 60
NO_MOUSE = """for (const kind of ["pointerdown", "mousedown", "touchstart"]) {
  addEventListener(kind, () => sessionStorage.setItem("mouse", "used"), true);
}"""


def kinds(lab: Lab) -> dict[int, str]:
    """What the inbox has, by task; without what is only to be merged."""
    entries = lab.burnish("inbox", "--json").json["inbox"]
    return {int(entry["id"]): entry["kind"] for entry in entries if entry["kind"] != "ready"}


def is_over(lab: Lab) -> bool:
    tasks = lab.burnish("status", "--json").json["tasks"]
    return not kinds(lab) and all(task["status"] in ("verified", "completed") for task in tasks)


def check_start(lab: Lab) -> None:
    gates = dict.fromkeys(range(1, BUDGET), "waiting_approval")
    assert kinds(lab) == {**gates, BUDGET: "blocked", SECRET: "blocked", CONFLICT: "conflict", FAILED: "failed"}
    assert [lab.task(number)["reason"] for number in (BUDGET, SECRET)] == ["budget", "secret"]


def check_end(lab: Lab) -> None:
    assert {task["status"] for task in lab.burnish("status", "--json").json["tasks"]} == {"verified"}
    # one change was approved against its review, with a reason
    (override,) = lab.events("override.recorded")
    assert override["data"]["category"] == "wrong_context"


# the browser


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def outcome(page: Page) -> str:
    """What the page reports after an act."""
    has_next = "/need|Ready to merge/.test(document.getElementById('outcome').innerText)"
    until(page, f"!document.getElementById('outcome').hidden && {has_next}")
    return str(page.evaluate("document.getElementById('outcome').innerText"))


def tab_to(page: Page, selector: str) -> None:
    for _ in range(4):
        press(page, "Tab")
        if page.evaluate(f"document.activeElement.matches({selector!r})"):
            return
    raise AssertionError(f"{selector} is more than four tabs away")


def decide_in_browser(page: Page, lab: Lab) -> str:
    """Read the page and answer it as a person would; returns what the page reports."""
    text = page.evaluate("document.getElementById('main').innerText")
    number = int(page.evaluate("document.body.dataset.task"))
    press(page, "a")
    until(page, "document.activeElement?.matches('#gate-note, [data-answer] *, #part-head .primary')")
    if page.evaluate("document.activeElement.matches('input[type=number], button')"):
        # a new limit, or the button that stands out: Raise, Let the agent …, Retry
        press(page, "Enter")
    elif "Do old entries stay valid?" in text:
        page.keyboard.type("Yes, keep them valid.")
        press(page, "Control+Enter")
    elif "review: changes requested" in text and number == 9:
        tab_to(page, "button.approve")
        press(page, "Enter")
        until(page, "document.activeElement.matches('.against input')")
        assert not page.is_visible(".gate .error")
        press(page, "Tab", "Space", "Control+Enter")
    elif "review: changes requested" in text:
        page.keyboard.type("Refuse blanks, too.")
        press(page, "Control+Enter")
    else:
        press(page, "Control+Enter")
    words = outcome(page)
    if number == FAILED and (lab.root / "offline").exists():
        until(page, "/ failed\\./.test(document.getElementById('outcome').innerText)")
        go_online(lab)
    return words


def test_fifteen_decisions_in_the_browser_without_a_mouse(tmp_path: Path) -> None:
    lab = morning(tmp_path)
    check_start(lab)
    with serving(lab) as served, browser() as opened, logged_in(opened, served, height=720) as page:
        page.add_init_script(NO_MOUSE)
        reported = walk_in_browser(page, served)
        assert page.evaluate("sessionStorage.getItem('mouse')") is None
    assert len(reported) >= len(TITLES)
    check_end(lab)


def walk_in_browser(page: Page, served: Served) -> list[str]:
    lab, reported = served.lab, list[str]()
    press(page, "g", "i")
    page.wait_for_url("**/inbox")
    page.wait_for_selector("body[data-loaded]")
    while not is_over(lab):
        assert len(reported) < MOST, reported
        lab.until(lambda: kinds(lab) or is_over(lab), 120)
        if not kinds(lab):
            # an entry of a task between two phases is gone again
            continue
        old = page.url
        press(page, "g", "n")
        if not arrives(page, old):
            continue
        page.wait_for_selector(".task-page[data-ready]")
        if needs_a_person(page, lab):
            reported.append(decide_in_browser(page, lab))
    return reported


def arrives(page: Page, old: str) -> bool:
    """Whether another page is opened: the same task may be the next one again."""
    end = time.monotonic() + 5
    while page.url == old and time.monotonic() < end:
        page.wait_for_timeout(50)
    return "/t/" in page.url


def needs_a_person(page: Page, lab: Lab) -> bool:
    """Not a task that is only to be merged: `g n` leads there while all others run."""
    head = page.evaluate("({...document.getElementById('part-head').dataset})")
    is_stopped = head["running"] != "yes" and head["status"] in ("waiting_approval", "blocked", "failed", "verified")
    return is_stopped and int(page.evaluate("document.body.dataset.task")) in kinds(lab)


# the terminal


async def send_note(screen: Screen, key: str, note: str) -> None:
    await screen.press(key)
    await screen.until_focused("note")
    await screen.type(note)
    await screen.press("enter")


async def decide_in_terminal(screen: Screen, lab: Lab) -> None:
    details = screen.app.details
    assert details is not None
    number, status = details.task.id, details.task.status
    shown = details.gate.shown if details.gate else None
    if shown and shown.verdict == "needs_discussion":
        await send_note(screen, "f", "Yes")
    elif shown and shown.against and number == 9:
        await screen.press("a")
        await screen.until_focused("questions")
        # a letter begins the explanation
        await screen.press("down", "space")
        await screen.type("Blank is checked elsewhere")
        await screen.press("enter")
    elif shown and shown.against:
        await send_note(screen, "f", "Refuse blanks")
    elif shown:
        await screen.press("a")
        await screen.until_focused("choices")
        await screen.press("y")
    elif details.head.answer and details.head.answer.kind == "budget":
        await screen.press("g")
        await screen.until_focused("note")
        await screen.press("enter")
    elif status == "verified":
        await screen.press("m")
        await screen.until_focused("choices")
        await screen.press("y")
    else:
        await screen.press("g")
    await screen.until(lambda: not screen.app.pending and not screen.app.notice)
    if number == FAILED and (lab.root / "offline").exists():
        await screen.until("failed.")
        go_online(lab)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
def test_fifteen_decisions_in_the_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    lab = morning(tmp_path)
    check_start(lab)
    decided: list[int] = []

    async def walk(screen: Screen) -> None:
        while not is_over(lab):
            assert len(decided) < MOST, decided
            await screen.until(lambda: (screen.app.waiting_ids and kinds(lab)) or is_over(lab), 120)
            if is_over(lab):
                return
            await screen.press("n")
            await screen.until(task_is_shown(screen))
            details = screen.app.details
            if details and details.task.id in kinds(lab) and not details.head.running:
                await decide_in_terminal(screen, lab)
                decided.append(details.task.id)

    on_screen(lab, walk, size=size)
    assert sorted(set(decided)) == list(range(1, len(TITLES) + 1))
    check_end(lab)


def task_is_shown(screen: Screen) -> Callable[[], object]:
    return lambda: screen.app.details and screen.app.details.task.id == screen.app.number
