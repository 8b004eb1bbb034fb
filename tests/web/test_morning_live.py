"""What a person met who answered a whole morning by keys alone: each hesitation has its test here."""

from __future__ import annotations

from collections.abc import Iterator
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
# 1 is rejected with a finding, 2 gets a question, 3 is approved, 4 fails while the file `offline` is there
AUTHOR = """
if task == "4" and (pathlib.Path(LOG).parent / "offline").exists():
    sys.exit("the network is gone")
pathlib.Path(f"part_{task}.py").write_text(f"def check(value):\\n    return bool(value)  # {phase} {cycle}\\n")
pathlib.Path(f"more_{task}.py").write_text("x = 1\\n")
"""
JUDGE = """
files = [str(path) for path in pathlib.Path(".").rglob("*") if path.is_file()]
remark = {**flaw, "file": f"part_{task}.py", "line": 2, "title": "An empty value is accepted"}
if cycle == 1 and task == "1":
    print(verdict("changes_requested", "One value is accepted that must not be.", [remark], inspected=files))
elif cycle == 1 and task == "2":
    print(verdict("needs_discussion", "Do **old** entries stay valid?", inspected=files))
else:
    print(verdict("approved", "Does what the task asks for.", inspected=files))
"""


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("morning")
    lab = Lab.make(root / "lab", author=AUTHOR, judge=JUDGE, extra=EXTRA)
    (lab.root / "offline").touch()
    for title in ("Round the total", "Drop the old API", "Validate the name", "Send the report"):
        lab.add(title)
    lab.burnish("run", "--all", "-j", "2", code=None)
    (lab.root / "offline").unlink()
    with serving(lab) as found:
        yield found


def open_task(page: Page, served: Served, number: int) -> None:
    page.goto(f"{served.url}/p/{served.project}/t/{number}")
    page.wait_for_selector(".task-page[data-ready]")


def wait_for_request(page: Page, requests: list[Route]) -> None:
    for _ in range(600):
        if requests:
            return
        page.wait_for_timeout(100)
    raise AssertionError("the request was not sent")


def test_a_page_shows_which_keys_it_has(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        for path in ("/inbox", f"/p/{served.project}", f"/p/{served.project}/t/1", "/projects"):
            page.goto(f"{served.url}{path}")
            page.click("#keys-button")
            page.wait_for_selector("#keys[open]")
        open_task(page, served, 1)
        assert page.locator("[data-gate] button .key").all_inner_texts() == ["A", "F", "C", "R"]
        # the key is no part of the name of the button
        assert page.get_by_role("button", name="Approve", exact=True).count() == 1


def test_an_answer_without_words_is_not_sent(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 2)
        page.keyboard.press("a")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("[data-gate] .error:has-text('Your answer is empty.')")
        assert page.evaluate("document.activeElement.id") == "gate-note"
        assert served.lab.task(2)["status"] == "waiting_approval"


def test_a_typed_note_survives_a_reload_after_a_login_in_another_tab(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 3)
        page.keyboard.press("a")
        page.keyboard.type("Another value.")
        other = page.context.new_page()
        other.goto(served.login)
        other.wait_for_url(lambda url: "/login" not in url)
        other.close()
        page.reload()
        page.wait_for_selector(".task-page[data-ready]")
        assert page.input_value("#gate-note") == "Another value."


def test_reasons_are_ticked_and_the_approval_pressed_by_keys(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 1)
        page.keyboard.press("A")
        page.keyboard.press("Enter")
        reason = page.locator("#gate-why input").first
        until(page, "document.activeElement.matches('#gate-why input')")
        assert not page.locator("[data-recorded]").first.is_visible()
        page.keyboard.press("Space")
        assert reason.is_checked() and "Recorded as" in page.locator("#gate-why").inner_text()
        page.keyboard.press("A")
        until(page, "document.activeElement.value === 'approve'")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_the_reasons_of_an_override_leave_room_for_the_code(
    opened: Browser, served: Served, width: int, height: int
) -> None:
    with logged_in(opened, served, width=width, height=height) as page:
        open_task(page, served, 1)
        page.keyboard.press("A")
        page.keyboard.press("Enter")
        until(page, "document.activeElement.matches('#gate-why input')")
        top = page.evaluate("document.getElementById('part-gate').getBoundingClientRect().top")
        assert top >= height * 0.54
        # those that are below are scrolled to by keys
        for _ in range(4):
            page.keyboard.press("Tab")
        until(page, "document.activeElement.name === 'follow_up'")
        inside = "(({ top, bottom }, box) => top >= box.top && bottom <= box.bottom)"
        box = "document.querySelector('#gate-why').getBoundingClientRect()"
        until(page, f"{inside}(document.activeElement.getBoundingClientRect(), {box})")
        page.keyboard.press("Escape")


def test_the_decision_leaves_room_for_the_code_at_a_zoom_of_200_percent(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, width=640, height=360) as page:
        open_task(page, served, 3)
        assert page.evaluate("document.getElementById('gate').getBoundingClientRect().top >= innerHeight")
        page.keyboard.press("A")
        until(page, "document.activeElement.value === 'approve'")
        until(page, "document.activeElement.getBoundingClientRect().bottom <= innerHeight")


def test_a_letter_after_the_reasons_were_closed_is_a_key(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 1)
        page.keyboard.press("A")
        page.keyboard.press("Enter")
        until(page, "document.activeElement.matches('#gate-why input')")
        page.keyboard.press("Escape")
        until(page, "document.activeElement.value === 'approve'")
        page.keyboard.press("F")
        until(page, "document.activeElement.id === 'gate-note'")
        assert page.inner_text("[data-main]") == "Request changes"
        assert page.locator("#gate-note").input_value() == ""


def test_the_focus_stays_on_a_finding_that_was_waived(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 1)
        page.wait_for_selector("#in-F1")
        page.keyboard.press("n")
        page.keyboard.press("w")
        page.wait_for_selector("#waive[open]")
        page.keyboard.type("A blank is what they type.")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#outcome:has-text('Waived F1.')")
        until(page, "document.activeElement.matches('#in-F1 > summary')")
        page.keyboard.press("z")
        page.wait_for_selector("#in-F1:not(.settled)")
        # the same decision is still there
        assert served.lab.task(1)["status"] == "waiting_approval"


def test_a_message_never_covers_the_decision_and_a_key_without_effect_says_so(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 3)
        page.wait_for_selector(".lines")
        page.keyboard.press("n")
        box = page.locator(".toast", has_text="No findings in this change.")
        box.wait_for()
        toast, gate = box.bounding_box(), page.locator("#gate").bounding_box()
        assert toast and gate and toast["y"] + toast["height"] <= gate["y"]


def test_a_file_is_marked_as_viewed_although_a_step_follows_at_once(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 3)
        page.wait_for_selector(".lines")
        page.keyboard.press("v")
        page.keyboard.press("j")
        until(page, "document.getElementById('viewed-count').textContent.startsWith('1 of 2')")
        assert page.locator(".toast").count() == 0


def test_options_of_the_diff_and_more_actions_have_keys(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 3)
        # another test has folded the first file
        page.wait_for_selector(".file[open] .lines")
        page.keyboard.press("s")
        page.wait_for_selector(".file[open] .lines.split")
        page.keyboard.press("s")
        page.wait_for_selector(".file[open] .lines:not(.split)")
        page.keyboard.press("o")
        page.wait_for_selector("#gate-details[open]")
        page.keyboard.press("m")
        page.wait_for_selector("#more[open]")
        assert page.evaluate("document.activeElement.closest('#more .items') !== null")


def test_what_a_button_does_is_shown_while_it_has_the_focus_and_the_change_once_it_is_there(
    opened: Browser, served: Served
) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 4)
        page.focus("#act-comment")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        assert page.locator("#words-comment").is_visible()
        assert page.get_by_role("button", name="Comment", exact=True).count() == 1
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        page.wait_for_selector("#outcome:has-text('T4 waits for your approval.')", timeout=60_000)
        # nobody has opened another tab, and the change is what the decision is about
        page.wait_for_selector("#changes:not([hidden]) .lines")


def test_a_refused_merge_says_that_the_target_has_moved(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=JUDGE, extra="hitl_review: every\n")
    lab.add("First")
    lab.add("Second")
    lab.add("Third")
    lab.burnish("run", "3", code=None)
    lab.burnish("decide", "3", "approve")
    lab.repo.commit({"other.txt": "x\n"})
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        page.goto(f"{served.url}/inbox")
        page.wait_for_selector('.connection[data-state="live"]')
        page.keyboard.press("M")
        page.wait_for_selector("dialog[open]:has-text('Merge the one verified task?')")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("a")
        page.wait_for_selector("dialog[open] h2:has-text('Merge T3 Third?')")
        page.keyboard.press("Enter")
        page.wait_for_selector(
            ".toast:not(.bad):has-text('main has moved, and both together wait for your decision')", timeout=60_000
        )
        # the entry is in another section, and still has the focus
        page.wait_for_selector(".entry:has-text('T3'):has-text('main has moved, and no check can test both together')")
        until(page, "document.activeElement.matches('.entry') && document.activeElement.innerText.includes('T3')")
        page.keyboard.press("a")
        page.wait_for_selector("#gate .one-line:has-text('main has moved, and no check can test both together.')")


def test_a_file_that_was_viewed_is_unfolded_once_it_has_changed_and_keys_go_on_after_a_choice(
    tmp_path: Path, opened: Browser
) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=JUDGE, extra="hitl_review: every\n")
    lab.add("First")
    lab.add("Second")
    lab.add("Third")
    lab.burnish("run", "3", code=None)
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        open_task(page, served, 3)
        page.wait_for_selector(".lines")
        page.keyboard.press("v")
        # the body names the file, too
        until(page, "document.activeElement.closest('summary')?.innerText.includes('part_3.py')")
        page.keyboard.press("v")
        page.wait_for_selector(".toast:has-text('All 2 files are viewed.')")
        page.keyboard.press("j")
        page.wait_for_selector(".toast:has-text('All files are folded.')")
        page.keyboard.press("a")
        page.keyboard.type("Another value.")
        page.keyboard.press("Escape")
        page.keyboard.press("F")
        page.keyboard.press("Enter")
        page.wait_for_selector("#outcome:has-text('T3 waits for your approval.')", timeout=60_000)
        page.wait_for_selector(".file[data-path='part_3.py'][open] .lines")
        assert page.locator(".file[data-path='more_3.py'][open]").count() == 0
        page.keyboard.press("b")
        until(page, "document.activeElement.id === 'span'")
        page.keyboard.press("ArrowDown")
        until(page, "document.querySelector('#span option[selected]')?.textContent === 'Since the last review'", 15)
        until(page, "document.activeElement.id === 'span'")
        page.wait_for_selector(".lines")
        page.keyboard.press("j")
        until(page, "document.activeElement.matches('.lines tr')")
        page.keyboard.press("A")
        page.keyboard.press("Enter")
        page.wait_for_selector("#act-merge")
        page.keyboard.press("R")
        page.wait_for_selector(".toast:has-text('Reject cannot be chosen now.')")


def test_after_a_decision_tab_goes_to_the_next_task_and_a_refused_one_keeps_the_focus(
    tmp_path: Path, opened: Browser
) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=JUDGE, extra=EXTRA)
    for title in ("First", "Second", "Third"):
        lab.add(title)
    lab.burnish("run", "--all", code=None)
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        open_task(page, served, 1)
        page.wait_for_selector(".lines")
        # the finding is chosen first
        page.keyboard.press("w")
        page.wait_for_selector(".toast:has-text('Press w again')")
        until(page, "document.activeElement.matches('#in-F1 > summary')")
        open_task(page, served, 3)
        page.wait_for_selector(".lines")
        page.keyboard.press("C")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-gate] .error:has-text('The review has no comment.')")
        until(page, "document.activeElement.id === 'gate-note'")
        page.keyboard.press("Escape")
        page.keyboard.press("F")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-gate] .error:has-text('No finding is open.')")
        until(page, "document.activeElement.id === 'gate-note'")
        page.keyboard.press("Escape")
        page.keyboard.press("A")
        page.keyboard.press("Enter")
        page.wait_for_selector("#next-entry")
        until(page, "document.activeElement.id === 'outcome'")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "next-entry"


def test_a_task_that_continues_never_looks_interrupted(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=JUDGE, extra=EXTRA)
    lab.add("First")
    lab.add("Second")
    lab.burnish("run", "2", code=None)
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        # the run starts only some time after the decision
        requests: list[Route] = []
        page.route("**/tasks/2/run", lambda route: requests.append(route))
        open_task(page, served, 2)
        page.evaluate(
            """new MutationObserver(() => {
              const { innerText } = document.getElementById("part-head");
              if (innerText.includes("It was interrupted")) document.body.dataset.wasInterrupted = "yes";
            }).observe(document.body, { childList: true, subtree: true })"""
        )
        page.keyboard.press("a")
        page.keyboard.type("They stay valid.")
        page.keyboard.press("Control+Enter")
        wait_for_request(page, requests)
        page.wait_for_timeout(1000)
        requests[0].continue_()
        page.wait_for_selector("#outcome:has-text('T2 waits for your approval.')", timeout=60_000)
        page.wait_for_selector(".badge:has-text('cycle 2 (max 1)')")
        assert page.evaluate("document.body.dataset.wasInterrupted") is None


def test_the_age_stands_at_one_place_in_all_sections_and_a_merge_is_not_started_twice(
    tmp_path: Path, opened: Browser
) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=JUDGE, extra="hitl_review: every\n")
    (lab.root / "offline").touch()
    for title in ("First", "Second", "Third", "Fourth"):
        lab.add(title)
    lab.burnish("run", "3", code=None)
    lab.burnish("run", "4", code=None)
    lab.burnish("decide", "3", "approve")
    lab.burnish("run", "2", code=None)
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        page.goto(f"{served.url}/inbox")
        page.wait_for_selector('.connection[data-state="live"]')
        left = "(one) => one.getBoundingClientRect().left"
        places = page.evaluate(f"[...document.querySelectorAll('.about')].map({left})")
        assert len(places) == 3 and len(set(places)) == 1
        requests: list[Route] = []
        page.route("**/merge-verified", lambda route: requests.append(route))
        page.keyboard.press("M")
        page.wait_for_selector("dialog[open]:has-text('wait for you if you decide after each review')")
        page.keyboard.press("Enter")
        until(page, "document.getElementById('merge-all').disabled")
        wait_for_request(page, requests)
        page.keyboard.press("M")
        page.wait_for_selector(".toast:has-text('Its result is shown here.')")
        assert page.locator("dialog[open]").count() == 0
        requests[0].continue_()
        page.wait_for_selector(".toast:has-text('Merged: T3 into main')", timeout=60_000)
        assert len(requests) == 1


def test_a_decision_after_resolved_conflicts_names_them(tmp_path: Path, opened: Browser) -> None:
    author = """
greeting = pathlib.Path("greeting.txt")
is_conflict = "<<<<<<<" in greeting.read_text()
greeting.write_text("Good morning, and welcome\\n" if is_conflict else "Good morning\\n")
"""
    lab = Lab.make(tmp_path / "lab", author=author, judge=JUDGE, extra="hitl_review: every\n")
    lab.repo.commit({"greeting.txt": "Hello\n"})
    lab.add("Change the greeting")
    lab.burnish("run", "1", code=None)
    lab.burnish("decide", "1", "fix", code=None)
    lab.burnish("run", "1", code=None)
    lab.burnish("decide", "1", "approve")
    lab.repo.commit({"greeting.txt": "Welcome\n"})
    lab.burnish("rebase", "1", code=None)
    lab.burnish("run", "1", code=None)
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        open_task(page, served, 1)
        words = "main was merged, and the agent resolved conflicts in greeting.txt."
        page.wait_for_selector(f"#gate .one-line:has-text('{words}')")


def test_what_a_person_has_chosen_survives_a_login(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        board = f"{served.url}/p/{served.project}"
        page.goto(f"{board}?q=total")
        page.wait_for_selector('.connection[data-state="live"]')
        page.click("#save-filter")
        page.keyboard.type("Totals")
        with page.expect_response("**/me/preferences"):
            page.keyboard.press("Enter")
        with page.expect_response("**/me/preferences"):
            page.click('.column[data-column="done"] .fold')
        page.goto(f"{served.url}/inbox")
        with page.expect_response("**/me/preferences"):
            page.click("#notify-button")
        page.goto(served.login)
        page.wait_for_url(lambda url: "/login" not in url)
        page.goto(board)
        assert "Totals" in page.locator("#saved-filters option").all_inner_texts()
        assert "folded" in (page.locator('.column[data-column="done"]').get_attribute("class") or "")
        page.goto(f"{served.url}/inbox")
        until(page, "document.getElementById('notify-button').getAttribute('aria-pressed') === 'true'")
        page.click("#notify-button")


def test_a_note_is_sent_to_the_agent_by_the_main_button_and_an_approval_says_that_it_is_not(
    tmp_path: Path, opened: Browser
) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=JUDGE, extra=EXTRA)
    for title in ("First", "Second", "Third"):
        lab.add(title)
    lab.burnish("run", "3", code=None)
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        open_task(page, served, 3)
        main = page.locator("[data-gate] button.primary")
        assert main.get_attribute("value") == "approve"
        page.keyboard.press("a")
        page.keyboard.type("Another value.")
        assert main.get_attribute("value") == "request_changes"
        assert "Request changes" in page.locator("[data-gate] .key-hint").inner_text()
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        assert main.get_attribute("value") == "approve"
        page.keyboard.type("Another value.")
        page.keyboard.press("Control+Enter")
        # the message is about what the page shows
        page.evaluate(
            """new MutationObserver(() => {
              const isTold = document.getElementById("outcome").innerText.includes("waits for your approval");
              const { status } = document.getElementById("part-head").dataset;
              if (isTold && status !== "waiting_approval") document.body.dataset.wasEarly = "yes";
            }).observe(document.body, { childList: true, subtree: true })"""
        )
        page.wait_for_selector("#outcome:has-text('T3 waits for your approval.')", timeout=60_000)
        assert page.evaluate("document.body.dataset.wasEarly") is None
        # what happened and the decision leave the code its room
        assert page.evaluate("document.querySelector('.floor').getBoundingClientRect().height") < 120
        page.keyboard.press("a")
        page.keyboard.type("Thank you.")
        page.keyboard.press("Escape")
        page.keyboard.press("A")
        page.keyboard.press("Enter")
        page.wait_for_selector("#outcome:has-text('Your note is in its history; no agent acts on it.')")


def test_a_marked_file_stays_marked_in_a_part_that_was_asked_for_before(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 1)
        page.wait_for_selector(".lines")
        answers: list[tuple[Route, str]] = []
        page.route("**/parts?names=*changes*", lambda route: answers.append((route, route.fetch().text())))
        page.click("[data-ignore-space]")
        for _ in range(100):
            if answers:
                break
            page.wait_for_timeout(50)
        page.locator(".file summary").first.focus()
        with page.expect_response("**/viewed"):
            page.keyboard.press("v")
        route, text = answers[0]
        route.fulfill(status=200, content_type="text/html", body=text)
        until(page, "document.querySelector('#ignore-space').checked")
        assert page.locator("#viewed-count").count() == 1
        until(page, "document.getElementById('viewed-count').textContent.startsWith('1 of 2')")
        assert page.locator("[data-viewed]").first.is_checked()
        page.unroute("**/parts?names=*changes*")
        page.locator(".file summary").first.focus()
        page.keyboard.press("v")
        page.wait_for_selector(".toast:has-text('not marked as viewed any more')")


def test_a_rejected_task_is_struck_out_under_done_and_reasons_begin_as_sentences(
    tmp_path: Path, opened: Browser
) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=JUDGE, extra=EXTRA)
    for title in ("First", "Second", "Third"):
        lab.add(title)
    lab.burnish("run", "3", code=None)
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        page.goto(f"{served.url}/inbox")
        assert page.locator(".entry p").all_inner_texts() == ["The review approved it; a person decides next."]
        lab.burnish("decide", "3", "reject")
        page.goto(f"{served.url}/p/{served.project}")
        line = "getComputedStyle(document.querySelector('#t3 .title')).textDecorationLine"
        assert page.evaluate(line) == "line-through"


def test_a_dialog_that_the_task_has_left_behind_is_closed_with_the_reason(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=JUDGE, extra="hitl_review: every\n")
    for title in ("First", "Second", "Third"):
        lab.add(title)
    lab.burnish("run", "3", code=None)
    lab.burnish("decide", "3", "approve")
    lab.repo.commit({"other.txt": "x\n"})
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        open_task(page, served, 3)
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        page.wait_for_selector("#merge[open]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#outcome.warn:has-text('main has moved')", timeout=60_000)
        assert page.locator("dialog[open]").count() == 0
        # what can be done now is on the page, without another look at a button that would be refused
        page.wait_for_selector("#gate [name=choice][value=approve]")


def test_the_list_is_worked_through_by_keys(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=JUDGE, extra=EXTRA)
    for title in ("First", "Second", "Third"):
        lab.add(title)
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        page.goto(f"{served.url}/p/{served.project}/list")
        page.wait_for_selector('.connection[data-state="live"]')
        for key in ("x", "j", "x"):
            page.keyboard.press(key)
        page.wait_for_selector("#selected:has-text('2 tasks selected')")
        page.keyboard.press("m")
        until(page, "document.activeElement.closest('#bulk-acts') !== null")
        page.locator("#bulk-acts button:has-text('Cancel')").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(".toast:has-text('Cancelled 2 tasks.')")


def test_the_page_of_a_task_asks_for_its_change_once(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/parts?" in request.url else None)
        open_task(page, served, 1)
        page.wait_for_selector(".lines")
        page.wait_for_timeout(300)
        assert len(asked) == 1


def test_a_draft_is_edited_in_its_place_and_its_line_has_the_focus_afterwards(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 2)
        page.wait_for_selector(".file[open] .lines")
        page.keyboard.press("j")
        page.keyboard.press("c")
        page.keyboard.type("Why")
        page.keyboard.press("Control+Enter")
        page.get_by_role("button", name="Edit", exact=True).press("Enter")
        form = page.locator(".draft [data-comment]")
        form.wait_for()
        # the text stands there once, and the whole form is above the decision
        assert not page.locator(".draft > .text").is_visible()
        edges = "document.querySelector('.draft [data-comment]').getBoundingClientRect().bottom <= "
        until(page, f"{edges}document.querySelector('.floor').getBoundingClientRect().top")
        page.keyboard.type(" so?")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".draft > .text:has-text('Why so?')")
        until(page, "document.activeElement.matches('.lines tr')")
        page.get_by_role("button", name="Delete", exact=True).press("Enter")
        page.wait_for_selector(".draft", state="detached")


def test_a_key_that_does_not_apply_says_why_and_going_to_the_decision_moves_nothing(
    opened: Browser, served: Served
) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 2)
        page.wait_for_selector(".file[open] .lines")
        page.keyboard.press("b")
        page.wait_for_selector(".toast:has-text('All changes are shown.')")
        page.keyboard.press("A")
        until(page, "document.activeElement.value === 'approve'")
        assert page.evaluate("scrollY") == 0
        page.keyboard.press("1")
        page.wait_for_selector("#story:not([hidden])")
        page.keyboard.press("j")
        page.wait_for_selector(".toast:has-text('This key is for the changes.')")


def test_arrows_go_through_more_and_a_form_is_sent_from_its_last_field(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=720) as page:
        open_task(page, served, 2)
        page.keyboard.press("m")
        page.wait_for_selector("#more[open]")
        page.keyboard.press("ArrowUp")
        until(page, "document.activeElement.dataset.act === 'cancel'")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        page.wait_for_selector("#outside[open]")
        page.keyboard.type("Looks fine.")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#outside .error code:has-text('Verdict: approved')")
        assert "`" not in page.locator("#outside .error").inner_text()
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#outcome:has-text('Recorded the review of T2: it is approved.')")


def test_merging_all_says_which_tasks_wait_for_another_decision(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=JUDGE, extra="hitl_review: every\n")
    for title in ("First", "Second", "Third"):
        lab.add(title)
    lab.burnish("run", "3", code=None)
    lab.burnish("decide", "3", "approve")
    lab.repo.commit({"other.txt": "x\n"})
    with serving(lab) as served, logged_in(opened, served, height=720) as page:
        page.goto(f"{served.url}/inbox")
        page.wait_for_selector('.connection[data-state="live"]')
        page.keyboard.press("M")
        page.wait_for_selector("dialog[open]")
        page.keyboard.press("Enter")
        page.wait_for_selector(".toast:not(.bad):has-text('T3 waits for your decision again.')", timeout=60_000)
        assert page.locator(".toast.bad").count() == 0
