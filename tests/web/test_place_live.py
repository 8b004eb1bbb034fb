"""The place of a person in the browser: what is typed, pressed or fetched does not move the page or take the focus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from testing.browser import browser, logged_in, until
from testing.lab import Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.slow

EXTRA = "hitl_review: every\nreview: {agents: [judge], max_cycles: 1}\n"
# 1 and 2 are long changes; 3 and 4 are one line
AUTHOR = """
for at in range(12 if task in "12" else 1):
    body = "".join(f"    value = value + {line}\\n" for line in range(12 + cycle))
    pathlib.Path(f"part_{task}_{at:02}.py").write_text(f"def check(value):\\n{body}    return value\\n")
"""
JUDGE = """
files = [str(path) for path in pathlib.Path(".").rglob("*") if path.is_file()]
remark = {**flaw, "file": "part_3_00.py", "line": 2, "title": "An empty value is accepted"}
if cycle == 1 and task == "3":
    print(verdict("changes_requested", "One value is accepted that must not be.", [remark], inspected=files))
else:
    print(verdict("approved", "Does what the task asks for.", inspected=files))
"""
TITLES = ("Rename the package", "Round the total", "Validate the name", "Send the report")


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    lab = Lab.make(tmp_path_factory.mktemp("place") / "lab", author=AUTHOR, judge=JUDGE, extra=EXTRA)
    for title in TITLES:
        lab.add(title)
    lab.burnish("run", "--all", "-j", "2", code=None)
    with serving(lab) as found:
        yield found


@pytest.fixture
def page(opened: Browser, served: Served) -> Iterator[Page]:
    with logged_in(opened, served, height=720) as found:
        yield found


def open_task(page: Page, served: Served, number: int, part: str = "") -> None:
    page.goto(f"{served.url}/p/{served.project}/t/{number}{part}")
    page.wait_for_selector(".task-page[data-ready]")
    page.wait_for_selector(".lines")


def scroll_to_the_fifth_file(page: Page) -> float:
    for _ in range(5):
        page.keyboard.press("]")
    # the heights of files that were fetched later
    page.wait_for_timeout(400)
    place = float(page.evaluate("scrollY"))
    assert place > 300
    return place


def test_a_note_that_is_written_in_the_middle_of_a_long_change_does_not_move_it(page: Page, served: Served) -> None:
    open_task(page, served, 1)
    place = scroll_to_the_fifth_file(page)
    page.keyboard.press("a")
    until(page, "document.activeElement.id === 'gate-note'")
    page.keyboard.type("Every value.", delay=20)
    assert page.evaluate("scrollY") == place
    page.keyboard.press("Escape")
    page.keyboard.press("A")
    until(page, "document.activeElement.value === 'approve'")
    assert page.evaluate("scrollY") == place


def test_the_button_of_the_inbox_leads_to_the_beginning_of_the_change(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/inbox")
    page.wait_for_selector('.connection[data-state="live"]')
    page.locator(".entry", has_text=TITLES[0]).focus()
    page.keyboard.press("a")
    page.wait_for_url("**/t/1#gate")
    page.wait_for_selector(".lines")
    page.wait_for_timeout(300)
    assert page.evaluate("scrollY") == 0
    assert page.evaluate("document.querySelector('#gate').getBoundingClientRect().bottom <= innerHeight")


def test_escape_in_the_menu_leads_back_to_where_its_key_was_pressed(page: Page, served: Served) -> None:
    open_task(page, served, 1)
    place = scroll_to_the_fifth_file(page)
    page.keyboard.press("m")
    page.wait_for_selector("#more[open]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    page.wait_for_selector("#more:not([open])", state="attached")
    assert page.evaluate("scrollY") == place
    assert page.evaluate("document.activeElement.matches('.file summary')")


def test_the_file_that_is_read_stays_when_the_agent_has_changed_those_above_it(page: Page, served: Served) -> None:
    open_task(page, served, 2)
    for _ in range(4):
        with page.expect_response("**/viewed"):
            page.keyboard.press("v")
        page.wait_for_timeout(200)
    top = "document.querySelector('[data-path=\"part_2_04.py\"]').getBoundingClientRect().top"
    before = page.evaluate(top)
    page.keyboard.press("a")
    page.keyboard.type("Again.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#outcome:has-text('T2 waits for your approval.')", timeout=60_000)
    page.wait_for_selector("#viewed-count:has-text('0 of 12')")
    page.wait_for_timeout(300)
    assert abs(page.evaluate(top) - before) < 100
    # Enter goes on to the task that the message names
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/t/2" not in url)


def test_enter_that_is_pressed_while_a_page_is_loading_is_pressed_on_it(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/inbox")
    first = page.get_attribute(".entry h3 a", "href")
    answers: list[Route] = []
    page.route("**/static/*/inbox.js", lambda route: answers.append(route))
    page.goto(f"{served.url}/inbox", wait_until="commit")
    page.wait_for_selector(".entry")
    for _ in range(100):
        if answers:
            break
        page.wait_for_timeout(50)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    answers[0].continue_()
    page.wait_for_url(f"**{first}")


def test_enter_that_was_pressed_before_a_task_was_shown_decides_nothing(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/inbox")
    page.wait_for_selector('.connection[data-state="live"]')
    held: list[Route] = []
    page.route("**/t/4", lambda route: held.append(route))
    page.locator(".entry", has_text=TITLES[3]).focus()
    page.keyboard.press("Enter")
    for _ in range(100):
        if held:
            break
        page.wait_for_timeout(50)
    for key in ("A", "Enter"):
        page.keyboard.press(key)
    held[0].continue_()
    page.wait_for_selector(".task-page[data-ready]")
    until(page, "document.activeElement.value === 'approve'")
    page.wait_for_timeout(500)
    assert served.lab.task(4)["status"] == "waiting_approval"


def test_a_long_menu_is_in_the_window_as_a_whole(page: Page, served: Served) -> None:
    served.lab.burnish("decide", "4", "reject")
    open_task(page, served, 4, "#changes")
    page.keyboard.press("m")
    page.wait_for_selector("#more[open] .items")
    until(page, "document.querySelector('#more .items').getBoundingClientRect().bottom <= innerHeight")
    page.keyboard.press("ArrowUp")
    until(page, "document.activeElement.dataset.act === 'cancel'")


def test_a_finding_that_a_person_reopened_names_the_person(page: Page, served: Served) -> None:
    open_task(page, served, 3)
    page.keyboard.press("w")
    page.wait_for_selector(".toast:has-text('Press w again to waive, resolve or reopen it.')")
    page.keyboard.press("w")
    page.wait_for_selector("#waive[open]")
    # the button names the key that presses it from the text
    assert page.locator("#waive button.primary .key").inner_text() == "Ctrl Enter"
    page.keyboard.type("Not now.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#outcome:has-text('Waived F1.')")
    page.keyboard.press("z")
    page.wait_for_selector(".finding .text:has-text('Reopened by')")
    assert "user:" not in page.locator("main").inner_text()


def test_ctrl_enter_sends_the_forms_of_the_board_and_the_inbox(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/p/{served.project}")
    page.wait_for_selector('.connection[data-state="live"]')
    page.keyboard.press("n")
    page.wait_for_selector("#form[open]")
    assert page.locator("#form button.primary .key").inner_text() == "Ctrl Enter"
    page.keyboard.type("Write the manual")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".card:has-text('Write the manual')")
    page.wait_for_selector("#form:not([open])", state="attached")


def test_who_comes_back_to_the_inbox_or_the_list_has_the_focus_on_the_same_task(page: Page, served: Served) -> None:
    for path, selector in (("/inbox", ".entry"), (f"/p/{served.project}/list", "tbody tr")):
        page.goto(f"{served.url}{path}")
        page.wait_for_selector('.connection[data-state="live"]')
        for _ in range(3):
            page.keyboard.press("j")
        place = page.evaluate("document.activeElement.id")
        assert page.evaluate(f"document.activeElement.matches('{selector}')")
        page.keyboard.press("Enter")
        page.wait_for_selector(".task-page[data-ready]")
        page.evaluate("history.back()")
        until(page, f"document.activeElement?.id === '{place}'")


def test_a_key_that_does_nothing_now_says_so_and_begins_no_word(page: Page, served: Served) -> None:
    open_task(page, served, 1)
    page.keyboard.press("z")
    page.wait_for_selector(".toast:has-text('z: undo, while a message offers it.')")
    # a sign within a word is not a shortcut
    page.keyboard.type("Why not?", delay=20)
    page.wait_for_timeout(300)
    assert page.locator("#keys").count() == 0
    page.wait_for_timeout(900)
    page.keyboard.press("1")
    page.wait_for_selector("#story:not([hidden])")
    page.keyboard.press("j")
    page.wait_for_selector(".toast:has-text('This key is for the changes.')")
    for key in ("g", "l"):
        page.keyboard.press(key)
    page.wait_for_url("**/list")


def test_no_row_of_the_list_moves_when_the_first_one_is_selected(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/p/{served.project}/list")
    page.wait_for_selector('.connection[data-state="live"]')
    top = "document.querySelector('.tasks tbody tr').getBoundingClientRect().top"
    before = page.evaluate(top)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.wait_for_selector("#selected:has-text('1 task selected')")
    assert page.evaluate(top) == before
    assert page.evaluate("document.getElementById('bulk').getBoundingClientRect().bottom <= innerHeight")


def test_the_login_page_takes_the_token_at_once(opened: Browser, served: Served) -> None:
    context = opened.new_context()
    page = context.new_page()
    page.goto(f"{served.url}/inbox")
    assert page.locator("h1").inner_text() == "Log in"
    page.keyboard.type("another-token")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('The token is missing or wrong.')")
    page.keyboard.type(served.token)
    page.keyboard.press("Enter")
    page.wait_for_selector("#waiting", state="attached")
    context.close()


def test_a_merge_that_waits_for_another_decision_is_no_failure(
    tmp_path_factory: pytest.TempPathFactory, opened: Browser
) -> None:
    lab = Lab.make(tmp_path_factory.mktemp("waits") / "lab", author=AUTHOR, judge=JUDGE, extra=EXTRA)
    for title in TITLES:
        lab.add(title)
    lab.burnish("run", "4", code=None)
    lab.burnish("decide", "4", "approve")
    lab.repo.commit({"other.txt": "x\n"})
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        page.goto(f"{served.url}/inbox")
        page.wait_for_selector('.connection[data-state="live"]')
        page.keyboard.press("j")
        page.keyboard.press("a")
        page.wait_for_selector("dialog[open]")
        page.keyboard.press("Enter")
        page.wait_for_selector(".toast:not(.bad):has-text('main has moved')", timeout=60_000)
        assert "burnish decide" not in page.locator("#toasts").inner_text()
        page.wait_for_selector(".entry:has-text('a person decides next.')")


def test_two_shortcuts_at_once_both_act_and_a_word_stores_nothing(page: Page, served: Served) -> None:
    open_task(page, served, 1)
    split, spaces = (f"document.querySelector('[data-{name}]').checked" for name in ("split", "ignore-space"))
    page.wait_for_selector(".lines")
    was = page.evaluate(f"[{split}, {spaces}]")
    page.keyboard.type("si", delay=20)
    until(page, f"{split} !== {str(was[0]).lower()} && {spaces} !== {str(was[1]).lower()}")
    # the keys that follow are keys
    page.keyboard.type("oA", delay=20)
    page.wait_for_selector("#gate-details[open]")
    until(page, "document.activeElement.value === 'approve'")
    page.wait_for_timeout(300)
    was = page.evaluate(f"[{split}, {spaces}]")
    for word in ("vise", "see", "sx"):
        page.keyboard.type(word, delay=20)
        page.wait_for_selector(".toast:has-text('No field has the focus.')")
        page.wait_for_timeout(900)
    assert page.evaluate(f"[{split}, {spaces}]") == was
    assert not page.locator("[data-viewed]").first.is_checked()
    page.keyboard.type("si", delay=20)
    until(page, f"{split} !== {str(was[0]).lower()}")


def test_keys_between_the_login_and_the_first_page_are_pressed_there(opened: Browser, served: Served) -> None:
    context = opened.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.goto(f"{served.url}/inbox")
    held: list[Route] = []
    page.route(f"{served.url}/", lambda route: held.append(route))
    page.keyboard.type(served.token)
    page.keyboard.press("Enter")
    for _ in range(100):
        if held:
            break
        page.wait_for_timeout(50)
    for key in ("g", "i"):
        page.keyboard.press(key)
    held[0].continue_()
    page.wait_for_url("**/inbox")
    page.wait_for_selector(".entry")
    context.close()


def test_a_tab_in_a_url_that_is_typed_leaves_the_title_in_view(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, width=390, height=844) as page:
        open_task(page, served, 1)
        for name in ("findings", "changes"):
            page.evaluate(f"location.hash = '{name}'")
            page.wait_for_selector(f"#{name}:not([hidden])")
            page.wait_for_timeout(200)
            assert page.evaluate("scrollY") == 0


def test_the_entry_below_has_the_focus_after_a_merge_that_waits_for_another_decision(
    tmp_path: Path, opened: Browser
) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=f"import time\ntime.sleep(1)\n{JUDGE}", extra=EXTRA)
    for title in (*TITLES, "Change the greeting"):
        lab.add(title)
    for number in ("2", "3", "4", "5"):
        lab.burnish("run", number, code=None)
    for number in ("2", "4", "5"):
        lab.burnish("decide", number, "approve")
    lab.repo.commit({"other.txt": "x\n"})
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        page.goto(f"{served.url}/inbox")
        page.wait_for_selector('.connection[data-state="live"]')
        page.evaluate(
            """new MutationObserver(() => {
              const { innerText } = document.getElementById("inbox");
              if (innerText.includes("approval void")) document.body.dataset.wasVoid = "yes";
            }).observe(document.body, { childList: true, subtree: true })"""
        )
        page.locator(".entry", has_text="T4").focus()
        page.keyboard.press("a")
        page.wait_for_selector("dialog[open] h2:has-text('Merge T4')")
        page.keyboard.press("Enter")
        page.wait_for_selector(".toast:has-text('main has moved')", timeout=60_000)
        page.wait_for_selector(".entry.warn:has-text('T4')")
        page.wait_for_timeout(300)
        until(page, "document.activeElement.matches('.entry') && document.activeElement.innerText.includes('T5')")
        assert page.evaluate("document.body.dataset.wasVoid") is None


def test_a_task_that_is_reviewed_with_its_target_is_never_without_its_runner(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=f"import time\ntime.sleep(1)\n{JUDGE}", extra=EXTRA)
    lab.add(TITLES[0])
    lab.burnish("run", "1", code=None)
    lab.burnish("decide", "1", "approve")
    lab.repo.commit({"other.txt": "x\n"})
    with serving(lab) as served, ThreadPoolExecutor(1) as pool:
        merge = pool.submit(served.of_project, "POST", "/merge-verified", {})
        seen = set()
        with served.client() as client:
            while not merge.done():
                seen |= set(re.findall(r'class="badge[^>]*>([^<]*)', client.get("/inbox/part").text))
        assert merge.result().json()["left"]
        assert seen <= {"ready", "your decision"}
