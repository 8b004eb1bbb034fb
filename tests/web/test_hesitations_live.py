"""What made a person hesitate who walked a morning with the keyboard alone: each has its test here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from testing.browser import browser, logged_in, until
from testing.lab import Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

EXTRA = "hitl_review: every\nreview: {agents: [judge], max_cycles: 1}\n"
# 1 gets a finding; 2, 3 and 4 are approved; 5 fails
AUTHOR = """
if task == "5" and (pathlib.Path(LOG).parent / "offline").exists():
    sys.exit("the network is gone")
pathlib.Path(f"part_{task}.py").write_text(f"def check(value):\\n    return bool(value)  # {phase} {cycle}\\n")
pathlib.Path(f"more_{task}.py").write_text("x = 1\\n")
"""
JUDGE = """
files = [str(path) for path in pathlib.Path(".").rglob("*") if path.is_file()]
remark = {**flaw, "file": f"part_{task}.py", "line": 2, "title": "An empty value is accepted"}
if cycle == 1 and task == "1":
    print(verdict("changes_requested", "One value is accepted that must not be.", [remark], inspected=files))
else:
    print(verdict("approved", "Does what the task asks for.", inspected=files))
"""


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("hesitations")
    lab = Lab.make(root / "lab", author=AUTHOR, judge=JUDGE, extra=EXTRA)
    (lab.root / "offline").touch()
    for title in ("Round the total", "Drop the old API", "Validate the name", "Log by one logger", "Send the report"):
        lab.add(title)
    lab.burnish("run", "--all", "-j", "2", code=None)
    with serving(lab) as found:
        yield found


@pytest.fixture
def page(opened: Browser, served: Served) -> Iterator[Page]:
    with logged_in(opened, served, height=720) as found:
        yield found


def open_task(page: Page, served: Served, number: int) -> None:
    page.goto(f"{served.url}/p/{served.project}/t/{number}")
    page.wait_for_selector(".task-page[data-ready]")
    page.wait_for_selector(".lines")


def open_page(page: Page, served: Served, path: str) -> None:
    page.goto(f"{served.url}{path}")
    page.wait_for_load_state("load")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def focused(page: Page, selector: str) -> None:
    until(page, f"document.activeElement.matches({selector!r})", 20)


# a decision


def test_the_key_of_a_decision_with_words_leads_to_the_note(page: Page, served: Served) -> None:
    open_task(page, served, 2)
    press(page, "F")
    focused(page, "#gate-note")
    assert page.inner_text("[data-main]") == "Request changes"
    press(page, "Escape", "C")
    focused(page, "#gate-note")
    page.keyboard.type("Well done.")
    # not the button that starts the agent
    assert page.inner_text("[data-main]") == "Comment"
    press(page, "Control+Enter")
    page.wait_for_selector("#outcome:has-text('Commented on T2')")
    assert served.lab.task(2)["status"] == "waiting_approval"


def test_the_key_a_forgets_which_button_was_chosen(page: Page, served: Served) -> None:
    open_task(page, served, 3)
    press(page, "C")
    focused(page, "#gate-note")
    press(page, "Escape", "a")
    page.keyboard.type("Strip it.")
    assert page.inner_text("[data-main]") == "Request changes"
    press(page, "Control+a", "Delete")


def test_words_that_are_typed_on_a_button_of_the_decision_do_not_press_it(page: Page, served: Served) -> None:
    open_task(page, served, 3)
    press(page, "A")
    focused(page, "[value=approve]")
    page.wait_for_timeout(800)
    page.keyboard.type("Yes please", delay=20)
    page.wait_for_selector(".toast:has-text('No field has the focus.')")
    page.wait_for_timeout(300)
    assert served.lab.task(3)["status"] == "waiting_approval"
    assert page.input_value("#gate-note") == ""


@pytest.mark.parametrize("key", [" ", "Enter"])
def test_the_end_of_a_word_made_of_shortcuts_presses_no_button(page: Page, served: Served, key: str) -> None:
    open_task(page, served, 1)
    press(page, "R")
    focused(page, "[value=reject]")
    page.keyboard.type("is", delay=200)
    press(page, key)
    page.wait_for_timeout(300)
    assert served.lab.task(1)["status"] == "waiting_approval"
    assert not page.is_visible("#outcome")
    # options of the diff, as before
    page.keyboard.type("is", delay=200)
    page.wait_for_timeout(200)


def test_undo_reports_that_it_was_done(page: Page, served: Served) -> None:
    open_task(page, served, 1)
    press(page, "n")
    page.wait_for_timeout(200)
    press(page, "w")
    page.wait_for_selector("#waive[open]")
    page.keyboard.type("A blank is fine.")
    press(page, "Control+Enter")
    page.wait_for_selector("#outcome:has-text('Waived F1.')")
    page.wait_for_timeout(200)
    press(page, "z")
    page.wait_for_selector("#outcome:has-text('Undone.')")


def test_enter_goes_on_after_a_merge(page: Page, served: Served) -> None:
    open_task(page, served, 4)
    press(page, "A", "Enter")
    page.wait_for_selector("#outcome:has-text('Approved T4')")
    page.wait_for_selector("#act-merge")
    press(page, "a", "Enter")
    page.wait_for_selector("#merge[open]")
    press(page, "Enter")
    page.wait_for_selector("#outcome:has-text('Merged T4.') #next-entry", timeout=60_000)
    focused(page, "#outcome")
    press(page, "Enter")
    page.wait_for_url(lambda url: "/t/4" not in url)


# comments


def test_an_empty_comment_says_what_is_missing(page: Page, served: Served) -> None:
    open_task(page, served, 3)
    press(page, "c", "Control+Enter")
    page.wait_for_selector(".comment-form .error:has-text('Your comment is empty.')")
    page.keyboard.type("x")
    assert not page.is_visible(".comment-form .error")
    press(page, "Backspace", "Escape")


def test_a_comment_that_is_being_written_counts_for_the_decision_and_is_found_again(page: Page, served: Served) -> None:
    open_task(page, served, 3)
    press(page, "c")
    page.keyboard.type("Why not one line?")
    page.wait_for_selector("#draft-count:has-text('1 draft comment')")
    press(page, "Control+Enter")
    page.wait_for_selector(".draft:has-text('Why not one line?')")
    press(page, "]", "n")
    focused(page, "[data-draft-edit]")
    press(page, "Tab", "Enter")
    page.wait_for_selector("#outcome:has-text('Your comment was deleted.')")


def test_lines_of_a_comment_are_chosen_within_one_file(page: Page, served: Served) -> None:
    open_task(page, served, 3)
    press(page, "j", "J", "J", "J", "J")
    until(page, "document.querySelectorAll('.lines tr.chosen').length > 0")
    files = page.evaluate(
        "new Set([...document.querySelectorAll('tr.chosen')].map((one) => one.closest('.file').id)).size"
    )
    assert files == 1
    assert page.evaluate("document.activeElement.closest('.file').id") == "file-0"


# keys of every page


@pytest.mark.parametrize(
    ("path", "key", "words"),
    [
        ("/inbox", "a", "a: do what the button of the entry says; j chooses one."),
        ("/inbox", "q", "This page has no shortcut q."),
        ("/projects", "b", "This page has no shortcut b."),
    ],
)
def test_a_key_without_effect_says_so_on_every_page(
    page: Page, served: Served, path: str, key: str, words: str
) -> None:
    open_page(page, served, path)
    press(page, key)
    page.wait_for_selector(f".toast:has-text({words!r})")


def test_escape_ends_a_mistyped_word(page: Page, served: Served) -> None:
    open_page(page, served, "/inbox")
    press(page, "q", "Escape", "j")
    focused(page, ".entry")


def test_settings_and_prompts_have_keys_and_projects_are_in_the_palette(page: Page, served: Served) -> None:
    open_page(page, served, f"/p/{served.project}")
    press(page, "g", "e")
    page.wait_for_url("**/settings")
    page.wait_for_load_state("load")
    press(page, "g", "r")
    page.wait_for_url("**/prompts")
    open_page(page, served, "/all")
    press(page, "Control+k")
    page.wait_for_selector("#palette [role=option]:has-text('Project repo')")


def test_projects_are_walked_by_keys(page: Page, served: Served) -> None:
    open_page(page, served, "/projects")
    press(page, "j")
    focused(page, "#projects a")
    press(page, "Enter")
    page.wait_for_url(f"**/p/{served.project}")


# the list


def test_a_single_project_stands_in_the_middle_of_a_wide_window(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, width=1920, height=1080) as page:
        open_page(page, served, "/projects")
        box = page.locator("#projects li").first.bounding_box()
        title = page.locator("h1").first.bounding_box()
        assert box and title and box["x"] == title["x"]
        width = page.evaluate("document.body.getBoundingClientRect().width")
        assert abs(box["x"] - (width - box["x"] - box["width"])) <= 1


def test_tasks_of_the_list_are_selected_and_found_by_keys(page: Page, served: Served) -> None:
    open_page(page, served, f"/p/{served.project}/list")
    press(page, "j", "J", "J")
    page.wait_for_selector("#selected:has-text('3 tasks selected')")
    press(page, "/")
    page.keyboard.type("name")
    until(page, "document.querySelectorAll('tbody tr:not([hidden])').length === 1")
    press(page, "Enter")
    focused(page, "tbody tr")
    press(page, "/", "Escape")
    until(page, "document.querySelectorAll('tbody tr:not([hidden])').length === 5")
    press(page, "j")
    focused(page, "tbody tr")
    assert "q=" not in page.url
    press(page, "Control+k")
    page.wait_for_selector("#palette [role=option]:has-text('Sort by status')")


def test_a_saved_filter_is_chosen_in_the_palette(page: Page, served: Served) -> None:
    open_page(page, served, f"/p/{served.project}/list?q=name")
    page.click("#save-filter")
    page.keyboard.type("Names")
    press(page, "Enter")
    page.wait_for_selector(".toast:has-text('was saved')")
    open_page(page, served, f"/p/{served.project}")
    press(page, "Control+k")
    page.keyboard.type("filter names")
    press(page, "Enter")
    page.wait_for_url("**?q=name")


# settings and logs


def test_a_setting_that_the_palette_changes_is_in_view_and_escape_keeps_the_focus(page: Page, served: Served) -> None:
    open_page(page, served, f"/p/{served.project}/settings")
    page.wait_for_selector("tr[data-key='budget.task_usd'] button")
    press(page, "End")
    press(page, "Control+k")
    page.keyboard.type("change budget.task_usd")
    press(page, "Enter")
    focused(page, ".value-form input")
    top = "document.activeElement.getBoundingClientRect().top"
    until(page, f"{top} >= 0 && {top} < innerHeight")
    press(page, "Escape")
    focused(page, "button[aria-label='Change budget.task_usd']")


def test_a_failed_task_leads_to_its_log(page: Page, served: Served) -> None:
    open_page(page, served, "/inbox")
    entry = page.locator(".entry", has_text="the network is gone")
    assert "burnish log" not in entry.inner_text().replace("Copy command", "")
    entry.get_by_role("link", name="the log").click()
    page.wait_for_selector("#log:not([hidden])")


def test_the_log_has_the_verdict_in_words(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/p/{served.project}/t/1#log")
    page.wait_for_selector("#output pre:has-text('Verdict changes_requested: One value is accepted that must not be.')")
    assert "burnish-verdict" not in page.inner_text("#output")


def test_an_answer_shows_the_key_that_sends_it(page: Page, served: Served) -> None:
    open_task(page, served, 2)
    press(page, "R", "Enter")
    page.wait_for_selector("#answer-send:has-text('Ctrl Enter')")


def test_enter_in_the_empty_note_presses_the_chosen_button(page: Page, served: Served) -> None:
    open_task(page, served, 3)
    press(page, "F")
    focused(page, "#gate-note")
    press(page, "Enter")
    page.wait_for_selector("[data-gate] .error:has-text('No finding is open.')")
    assert page.input_value("#gate-note") == ""


def test_what_cannot_be_merged_is_named_once_and_without_a_command(page: Page, served: Served) -> None:
    left = {
        "id": "3",
        "status": "verified",
        "why": "Task 3 conflicts with main in app.py. Nothing was changed.",
        "hint": "Have the agent resolve it: burnish rebase 3.",
        "conflicts": ["app.py"],
    }
    page.route("**/merge-verified", lambda route: route.fulfill(json={"merged": [], "left": [left]}))
    served.of_project("POST", "/tasks/3/decide", {"choice": "approve", "note": "", **seen(served, 3)})
    open_page(page, served, "/inbox")
    page.wait_for_selector("#merge-all")
    press(page, "M")
    page.wait_for_selector("dialog[open]")
    press(page, "Enter")
    page.wait_for_selector(".toast:has-text('T3 was skipped: it conflicts with main in app.py.')")
    assert "burnish" not in page.inner_text("#toasts")
    # the focus is on the link to what is to be done next
    focused(page, "#toasts a")
    press(page, "Enter")
    page.wait_for_url(f"**/p/{served.project}/t/3")


def test_an_untrusted_checkout_offers_no_start_in_a_menu_or_the_palette(page: Page, served: Served) -> None:
    served.lab.add("Wait for the trust")
    number = 6

    def words(path: str, selector: str, opening: str) -> str:
        open_page(page, served, path)
        until(page, "document.getElementById('connection').dataset.state === 'live'")
        if opening == "m":
            page.focus(f"#t{number}")
        press(page, opening)
        page.wait_for_selector(selector)
        found = page.inner_text(selector)
        press(page, "Escape")
        return found

    board, task = f"/p/{served.project}", f"/p/{served.project}/t/{number}"
    served.lab.burnish("untrust")
    try:
        menu = words(board, "#menu", "m")
        assert "Start" not in menu and "not trusted" in menu and "Cancel" in menu
        assert page.is_disabled("#run-all") and "not trusted" in page.get_attribute("#run-all", "title")
        assert "Start" not in words(task, "#palette", "Control+k")
    finally:
        served.lab.burnish("trust")
    assert "Start" in words(board, "#menu", "m") and not page.is_disabled("#run-all")
    assert "Start" in words(task, "#palette", "Control+k")


def seen(served: Served, number: int) -> dict[str, str]:
    task = served.lab.task(number)
    return {"commit": task["commit"], "status": task["status"]}


def test_the_change_is_opened_after_a_retry_that_the_inbox_led_to(page: Page, served: Served) -> None:
    (served.lab.root / "offline").unlink()
    page.goto(f"{served.url}/p/{served.project}/t/5#answer")
    page.wait_for_selector(".task-page[data-ready]")
    page.wait_for_selector("#act-retry")
    press(page, "a", "Enter")
    page.wait_for_selector("#changes:not([hidden]) .lines", timeout=60_000)


def test_a_task_with_an_external_reviewer_names_no_command_of_a_terminal(page: Page, served: Served) -> None:
    served.of_project("POST", "/tasks/5/handoff", {"force": False})
    page.goto(f"{served.url}/p/{served.project}/t/5")
    page.wait_for_selector(".sentence:has-text('Record the reply here.')")
    assert "burnish review" not in page.inner_text("#part-head")


def test_the_page_of_a_plan_shows_no_empty_change_and_its_decision_has_a_name_on_a_phone(
    tmp_path: Path, opened: Browser
) -> None:
    lab = Lab.make(tmp_path / "lab", author='print("1. Guard it.")', extra="approval: required\n")
    lab.add("Plan it", "-t", "plan")
    lab.burnish("run", "1", code=None)
    with serving(lab) as served, logged_in(opened, served, width=390, height=844) as page:
        page.goto(f"{served.url}/p/{served.project}/t/1")
        page.wait_for_selector(".task-page[data-ready]")
        page.wait_for_timeout(500)
        assert page.is_visible("#story") and not page.is_visible("#changes")
        press(page, "o")
        until(page, "!document.getElementById('gate-details').open")
        assert page.is_visible("#gate-h")
