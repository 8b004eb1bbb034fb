"""The page of a task in a real browser: a whole story by clicking, decisions that come too late, hostile text."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from testing.browser import WIDTHS, browser, logged_in, until
from testing.lab import AUTHOR, CRITIC, Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

HOSTILE = "</textarea></script><img src=x onerror=\"hurt='%s'\"><script>hurt='%s'</script> {{ 7 * 7 }}"
NAME = "odd<img src=x onerror=hurt()>.py"


def bad(place: str) -> str:
    return HOSTILE % (place, place)


WRITES = f"""
text = {bad("code")!r}
if task == "2":
    pathlib.Path({NAME!r}).write_text("x = 1\\n# " + text + "\\n")
    print({bad("printed")!r})
elif task == "3":
    print("first words", flush=True)
    print("a complaint", file=sys.stderr, flush=True)
    while not pathlib.Path(LOG).with_name("go").exists():
        time.sleep(0.05)
    print("last words", flush=True)
    time.sleep(60)
else:
    exec({AUTHOR!r})
"""
JUDGES = f"""
if task == "2":
    evil = {{"category": "code", "severity": "error", "title": {bad("title")!r}, "description": {bad("description")!r},
            "suggestion": {bad("suggestion")!r}, "quote": {bad("quote")!r}, "rule": {bad("rule")!r},
            "file": {NAME!r}, "line": 2}}
    print(verdict("changes_requested", {bad("summary")!r}, [evil], inspected=[{NAME!r}]))
else:
    exec({CRITIC!r})
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Task 1 is to be begun; task 2 is hostile wherever there is text, and waits for a person."""
    lab = Lab.make(
        tmp_path_factory.mktemp("task") / "lab",
        author=WRITES,
        judge=JUDGES,
        extra="review: {agents: [judge]}\nhitl_review: every\n",
    )
    lab.add("Add division", "-d", "Nobody can divide yet.")
    words = ("-d", bad("described"), "--scope", bad("scope"), "--accept", bad("criterion"), "--item", bad("item"))
    lab.add(bad("task"), *words)
    lab.burnish("run", "2", code=1)
    with serving(lab) as found:
        yield found


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


def goto(page: Page, served: Served, task: int, rest: str = "") -> None:
    page.goto(f"{served.url}/p/{served.project}/t/{task}{rest}")
    page.wait_for_selector(".task-page[data-ready]")
    page.wait_for_selector('.connection[data-state="live"]')


def is_now(page: Page, status: str) -> None:
    page.wait_for_selector(f'#part-head[data-status="{status}"]', timeout=30_000)


@pytest.mark.slow
def test_a_whole_story_by_clicking_rejected_fixed_approved_and_merged(served: Served, opened: Browser) -> None:
    lab = served.lab
    with logged_in(opened, served) as page, logged_in(opened, served, width=390, height=844) as second:
        goto(page, served, 1), goto(second, served, 1)
        assert "ready to be started" in page.locator(".next").inner_text()
        page.get_by_role("button", name="Start", exact=True).click()

        # the review asks for changes, and the gate is open, in both windows
        page.wait_for_selector("#gate"), second.wait_for_selector("#gate")
        page.locator("#gate-details > summary").click()
        assert "Zero is not handled" in page.locator("#gate").inner_text()
        page.locator("#gate a.place").click()
        page.wait_for_selector("tr.add[data-line='4'] + tr.note #in-F1")
        assert page.locator("#in-F1").is_visible()

        # no word, no approval: it goes against the review
        page.locator("#gate").get_by_role("button", name="Approve").click()
        assert "Give a reason" in page.locator("#gate-why").inner_text()
        category = page.locator("#gate [data-category]")
        assert not category.is_visible() and page.locator("#gate [data-must]").is_visible()
        page.locator("#gate").get_by_text("Did the reviewer judge with the wrong context?").click()
        assert category.inner_text() == "wrong context"
        assert not page.locator("#gate [data-must]").is_visible()

        # rejected by a person, with a word
        page.locator("#gate-note").fill("Not like this.")
        page.get_by_role("button", name="Reject").click()
        is_now(page, "blocked"), is_now(second, "blocked")
        assert "Not like this." in page.locator(".next").inner_text()
        assert second.locator("#gate").count() == 0

        # one more round with advice, whose words the other window follows
        second.locator("#tab-log").click()
        second.wait_for_selector("#output-choice")
        page.locator("[data-answer=note] textarea").fill("None is fine for zero.")
        page.get_by_role("button", name="Send to the agent").click()
        is_now(page, "waiting_approval")
        assert "None is fine for zero." in [c["prompt"] for c in lab.calls() if c["phase"] == "improve"][-1]
        until(page, "document.querySelector('#gate .badge').textContent.includes('approved')")
        until(second, "document.getElementById('output').textContent.includes('Verdict approved')")
        assert "cycle 2: review" in second.locator("#output-choice option").first.inner_text()
        second.locator("#gate-note").fill("half a thought")

        # since the last review, and whole
        page.locator("#tab-changes").click()
        page.locator("#span").select_option("review")
        page.wait_for_selector("tr.del")
        assert page.locator("tr.add").count() == 1

        page.get_by_role("button", name="Approve").click()
        is_now(page, "verified"), is_now(second, "verified")
        # the other person's words are not taken away, but it is said that they come too late
        assert second.locator("#gate-note").input_value() == "half a thought"
        second.wait_for_selector("#gate [data-stale]:not([hidden])")
        assert second.get_by_role("button", name="Reject").is_disabled()
        second.get_by_role("button", name="Reload the page").click()
        is_now(second, "verified")
        until(second, "!document.getElementById('gate')")

        page.get_by_role("button", name="Merge…").click()
        page.get_by_text("combines them into one commit").click()
        page.locator("#merge .primary").click()
        is_now(page, "completed")
        page.locator("#tab-story").click()
        told = page.locator("#story").inner_text()
        for words in ("Cycle 2", "Cycle 1", "Rejected", "Merged into main", "changes requested"):
            assert words in told, words
    assert "if b else None" in (lab.repo.path / "app.py").read_text()


@pytest.mark.long
def test_a_decision_on_a_commit_that_is_gone_is_refused_and_says_so(served: Served, opened: Browser) -> None:
    with logged_in(opened, served) as page:
        # as the board leads there
        goto(page, served, 2, "#gate")
        page.wait_for_selector("#part-changes .file")
        page.evaluate("document.querySelector('[data-gate]').dataset.commit = '0'.repeat(40)")
        with page.expect_response(lambda answer: "/parts?" in answer.url and "gate" in answer.url):
            page.get_by_role("button", name="Reject").click()
        page.wait_for_timeout(500)  # the page has put in place what it fetched again
        assert "out of date" in page.locator("#gate .error").inner_text()
        assert page.locator("#gate [data-stale]").is_visible()
    assert served.of_project("GET", "/tasks/2").json()["status"] == "waiting_approval"


@pytest.mark.long
def test_what_an_agent_prints_is_there_while_it_prints_on_a_page_that_was_open_before(
    served: Served, opened: Browser
) -> None:
    assert served.of_project("POST", "/tasks", {"title": "Take your time"}).json()["id"] == "3"
    with logged_in(opened, served) as page:
        goto(page, served, 3, "#log")
        assert "No output yet" in page.locator("#part-log").inner_text()
        page.get_by_role("button", name="Start", exact=True).click()
        # no event says that there is a file now
        page.wait_for_selector("#output-choice", state="attached", timeout=20_000)
        until(page, "document.getElementById('output').textContent.includes('first words')")
        until(page, "document.querySelectorAll('#output-choice option').length === 2")
        # what a person chose stays chosen, and the box stays as it was
        page.locator("#output-choice").select_option(label=page.locator("option", has_text="stderr").inner_text())
        until(page, "document.getElementById('output').textContent.includes('a complaint')")
        assert not page.locator("#follow").is_checked()
        (served.lab.root / "go").touch()
        page.wait_for_timeout(1200)
        assert not page.locator("#follow").is_checked()
        assert "a complaint" in page.locator("#output").inner_text()
        page.locator("#follow").check()
        until(page, "document.getElementById('output').textContent.includes('last words')")
        page.get_by_role("button", name="Stop", exact=True).click()
        page.wait_for_selector("#act-goon")


@pytest.mark.slow
def test_an_output_chosen_while_another_one_is_fetched_is_shown(served: Served, opened: Browser) -> None:
    with logged_in(opened, served) as page:
        held: list[Route] = []
        page.route("**/output/*?offset=*", lambda route: route.continue_() if held else held.append(route))
        goto(page, served, 2)
        page.locator("#tab-log").click()
        page.wait_for_selector("#output-choice")
        until(page, "!document.querySelector('#output').hidden")
        option = page.locator("#output-choice option", has_text=re.compile("implement.*stdout"))
        page.locator("#output-choice").select_option(option.get_attribute("value"))
        held[0].continue_()
        until(page, "document.querySelector('#output').textContent.includes('printed')", seconds=20)
        assert "summary" not in page.locator("#output").inner_text()


@pytest.mark.slow
def test_an_output_that_is_still_empty_says_so_until_something_comes(served: Served, opened: Browser) -> None:
    with logged_in(opened, served) as page:
        pieces = ["", "first words\n"]

        def answer(route: Route) -> None:
            text = pieces.pop(0) if pieces else ""
            route.fulfill(json={"text": text, "start": 0, "next": len(text), "size": len(text)})

        page.route("**/output/*?offset=*", answer)
        goto(page, served, 2)
        page.locator("#tab-log").click()
        until(page, "document.querySelector('#output').textContent === 'Nothing yet.'", seconds=20)
        # the next piece comes when the tab is opened again
        page.locator("#tab-story").click()
        page.locator("#tab-log").click()
        until(page, "document.querySelector('#output').textContent === 'first words\\n'", seconds=20)


@pytest.mark.slow
def test_the_log_begins_with_the_transcript_although_the_output_was_written_later(
    served: Served, opened: Browser
) -> None:
    calls = (served.lab.root / "home" / "burnish").glob("projects/*/tasks/2-*/calls/run-*")
    newest = max(
        (call for call in calls if (call / "try-1" / "stdout").exists()), key=lambda call: call.stat().st_mtime
    )
    transcript = newest / "try-1-transcript.jsonl"
    transcript.write_text('{"kind": "said", "text": "the words of the agent"}\n')
    now = time.time()
    os.utime(transcript, (now, now))
    os.utime(newest / "try-1" / "stdout", (now + 5, now + 5))
    try:
        with logged_in(opened, served) as page:
            goto(page, served, 2)
            page.locator("#tab-log").click()
            until(page, "document.querySelector('#output').textContent.includes('the words of the agent')", seconds=20)
    finally:
        transcript.unlink()


@pytest.mark.slow
def test_hostile_text_is_text_in_every_part_of_the_page(served: Served, opened: Browser) -> None:
    with logged_in(opened, served) as page:
        goto(page, served, 2)
        page.locator("#gate-details > summary").click()
        shown = page.locator("h1").inner_text() + page.locator("#gate").inner_text()
        for tab in ("story", "changes", "findings", "log", "artifacts"):
            page.locator(f"#tab-{tab}").click()
            page.wait_for_selector(f"#part-{tab}:not([data-empty])")
            if tab == "findings":
                page.locator("#F1 summary").click()
            if tab == "log":
                option = page.locator("#output-choice option", has_text=re.compile("implement.*stdout"))
                page.locator("#output-choice").select_option(option.get_attribute("value"))
                until(page, "document.querySelector('#output').textContent.includes('printed')")
            if tab == "artifacts":
                for artifact in page.locator(".artifact > summary").all():
                    artifact.click()
                until(page, "[...document.querySelectorAll('.artifact')].every(one => one.childElementCount > 1)")
            shown += page.locator(f"#{tab}").inner_text()
        for place in ("task", "described", "scope", "criterion", "item", "code", "printed", "title", "description"):
            assert bad(place) in shown, place
        for place in ("suggestion", "quote", "rule", "summary"):
            assert bad(place) in shown, place
        assert NAME in shown
        # the dialogs take text from the page as well
        page.locator("#tab-findings").click()
        page.locator("#F1 [data-rule=waive]").click()
        assert page.locator("#waive [data-title]").inner_text() == bad("title")
        page.locator("#waive textarea").fill(bad("waiver"))
        page.locator("#waive .primary").click()
        page.wait_for_selector("#F1 [data-rule=reopen]", state="attached")
        assert bad("waiver") in page.locator("#findings").inner_text()

        assert page.evaluate("window.hurt") is None
        assert page.locator("main img, main script, dialog img, dialog script").count() == 0
        assert "49" not in page.locator(".task-head h1").inner_text()
        # nor does it push the page out of its window
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for tab in ("story", "changes", "findings", "checks", "log", "artifacts"):
                page.locator(f"#tab-{tab}").click()
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, tab)


@pytest.mark.slow
def test_a_comment_on_the_page_opens_an_approved_task_again(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab")
    lab.add("Add division")
    lab.burnish("run", "1")
    with serving(lab) as served, logged_in(opened, served) as page:
        goto(page, served, 1)
        page.locator(".next summary").click()
        page.get_by_role("button", name="Comment", exact=True).click()
        page.locator("dialog[open] textarea").fill("Name it <b>divide</b>.")
        page.locator("dialog[open]").get_by_role("button", name="Comment").click()
        page.wait_for_selector('#part-head:not([data-status="verified"])')
        (finding,) = [f for f in lab.show(1)["findings"] if f["state"] == "open"]
        assert "Name it <b>divide</b>." in finding["title"] + finding["description"]


@pytest.mark.slow
def test_words_typed_without_a_field_do_nothing_and_the_reasons_open_without_an_error(
    opened: Browser, served: Served
) -> None:
    with logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/t/2#changes")
        page.wait_for_selector(".task-page[data-ready]")
        page.wait_for_selector(".file[open]")
        page.keyboard.type("Revive", delay=20)
        page.wait_for_selector(".toast:has-text('No field has the focus.')")
        assert page.is_visible(".file[open]") and not page.is_checked("[data-viewed]")
        # a pause ends the word
        page.wait_for_timeout(900)
        page.keyboard.press("v")
        until(page, "document.querySelector('[data-viewed]').checked")
        # keys go on after a checkbox was ticked
        page.locator("[data-viewed]").first.press("Space")
        page.keyboard.press("j")
        until(page, "document.activeElement.matches('.lines tr')")
        page.locator("button.approve").press("Enter")
        until(page, "document.activeElement.matches('.against input')")
        assert not page.is_visible(".gate .error")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".gate .error:has-text('Choose a reason, or explain it.')")
        # Escape closes the reasons, where letters are keys; and leaves the note with its words
        page.keyboard.press("Escape")
        until(page, "document.getElementById('gate-why').hidden && document.activeElement.value === 'approve'")
        assert page.locator("[name=choice].primary").inner_text().startswith("Request changes")
        page.locator("#gate-note").focus()
        page.keyboard.type("keep")
        page.keyboard.press("Escape")
        until(page, "document.activeElement === document.body")
        assert page.input_value("#gate-note") == "keep"


@pytest.mark.slow
def test_a_word_typed_without_a_field_leaves_the_page_where_it_was(opened: Browser, served: Served) -> None:
    with logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/t/2#changes")
        page.wait_for_selector(".task-page[data-ready]")
        page.wait_for_selector(".file[open]")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.type("joy", delay=20)
        page.wait_for_selector(".toast:has-text('No field has the focus.')")
        assert page.evaluate("document.activeElement === document.body")
        page.wait_for_timeout(900)
        # no word: the key is pressed again and again, and then another one by mistake
        page.keyboard.type("jjq", delay=20)
        page.wait_for_timeout(300)
        assert page.evaluate("document.activeElement.matches('.lines tr')")
        page.wait_for_timeout(900)
        # at once: on a busy machine, a pause between two keys may become longer than that within a word
        page.keyboard.type("ex")
        page.wait_for_timeout(300)
        assert page.is_visible(".file[open]")


@pytest.mark.slow
def test_a_key_that_stores_something_does_nothing_within_a_word(opened: Browser, served: Served) -> None:
    with logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/t/2#changes")
        page.wait_for_selector(".task-page[data-ready]")
        page.wait_for_selector(".file")
        box = "document.querySelector('[data-viewed]')"
        was = page.evaluate(f"{box}.checked")
        page.keyboard.type("vie", delay=30)
        page.wait_for_selector(".toast:has-text('No field has the focus.')")
        page.wait_for_timeout(300)
        assert page.evaluate(f"{box}.checked") == was
