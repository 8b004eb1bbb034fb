"""Keys, the palette, drafts, the place on the board and messages, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from burnish.core.status import Status
from testing import boards
from testing.boards import open_store
from testing.browser import browser, logged_in, until
from testing.lab import AUTHOR, CRITIC, Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    lab = Lab.make(tmp_path_factory.mktemp("everyday") / "lab")
    store, key = open_store(lab)
    boards.varied(store, key)
    boards.many_more(store, key, 40)
    store.close()
    with serving(lab) as found:
        yield found


def live(page: Page) -> None:
    page.wait_for_selector('.connection[data-state="live"]', timeout=20_000)


def test_pages_are_reached_and_left_by_keys(opened: Browser, served: Served) -> None:
    with logged_in(opened, served) as page:
        live(page)
        page.keyboard.press("Control+k")
        page.keyboard.type("inbox")
        page.keyboard.press("Enter")
        page.wait_for_url("**/inbox")
        live(page)
        page.keyboard.press("?")
        assert "do what the button of the entry says" in page.locator("#keys[open]").inner_text()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("j")
        until(page, "document.activeElement === document.querySelectorAll('.entry')[1]")
        heights = page.eval_on_selector_all(".entry:not(:focus)", "all => all.map(one => one.offsetHeight)")
        assert max(heights) <= 80
        page.keyboard.press("Enter")
        page.wait_for_url("**/t/*")
        page.keyboard.press("g")
        page.keyboard.press("n")
        page.wait_for_url("**/t/*")
        # tasks are found by their words, in the palette of every page
        page.wait_for_selector("[data-ready]")
        page.keyboard.press("Control+k")
        # Enter alone must not decide: nothing is selected yet
        assert page.locator("#palette [aria-selected=true]").count() == 0
        page.keyboard.press("Enter")
        assert page.locator("#palette").is_visible()
        page.keyboard.type("passkey")
        page.wait_for_selector("#palette [role=option]:has-text('Log in by passkey')")
        page.keyboard.press("Enter")
        page.wait_for_url("**/t/13")


def test_the_place_on_the_board_is_kept_and_a_draft_survives_a_reload(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, height=700) as page:
        live(page)
        card = page.locator("#t30")
        card.scroll_into_view_if_needed()
        before = page.evaluate("document.getElementById('t30').parentElement.scrollTop")
        assert before > 200
        card.locator(".title").click()
        page.wait_for_selector("[data-ready]")
        page.go_back()
        until(page, "document.activeElement?.id === 't30'")
        box = page.locator("#t30").bounding_box()
        assert (
            box and 0 < box["y"] < 700 and page.evaluate("document.getElementById('t30').parentElement.scrollTop") > 200
        )
        page.keyboard.press("n")
        page.wait_for_selector("#form[open]")
        page.keyboard.type("Half a title")
        page.fill("[name=description]", "Some **words**")
        page.reload()
        live(page)
        page.keyboard.press("n")
        page.wait_for_selector("#form[open] [data-draft]:not([hidden])")
        assert page.input_value("[name=title]") == "Half a title"
        # a preview does not take the text from what is sent
        page.click("[data-preview] >> nth=0")
        page.wait_for_selector(".preview strong")
        page.click("#form button.primary")
        page.wait_for_selector(".toast:has-text('was added to the backlog')")
        number = page.locator(".toast strong").inner_text().split()[0].removeprefix("T")
        task = served.of_project("GET", f"/tasks/{number}").json()
        assert task["description"] == "Some **words**"
        page.keyboard.press("n")
        page.wait_for_selector("#form[open]")
        assert page.input_value("[name=title]") == ""


def test_a_server_that_hangs_or_is_gone_is_reported_in_words(opened: Browser, served: Served) -> None:
    with logged_in(opened, served) as page:
        live(page)
        page.goto(f"{served.url}/p/{served.project}/t/14")
        page.wait_for_selector("[data-ready]")
        unanswered: list[Route] = []
        page.route("**/api/v1/**", lambda route: unanswered.append(route))
        page.click("#act-run")
        page.wait_for_selector("#act-run[aria-busy=true]")
        page.wait_for_selector(".toast:has-text('Waiting for the server')", timeout=5000)
        # `unroute_all` alone would send the request on to the server, which may start the task before the reload
        for route in unanswered:
            route.abort()
        page.unroute_all(behavior="ignoreErrors")
        page.reload()
        page.wait_for_selector("[data-ready]")
        page.route("**/api/v1/**", lambda route: route.abort())
        page.click("#act-run")
        page.wait_for_selector(".toast.bad:has-text('burnish serve does not answer')")
        assert "fetch" not in page.locator(".toasts").inner_text()


def test_a_link_to_a_tab_shows_the_title_and_a_removed_task_a_way_on(opened: Browser, served: Served) -> None:
    number = served.of_project("POST", "/tasks", {"title": "Soon gone", "description": "word\n\n" * 60}).json()["id"]
    with logged_in(opened, served, height=500) as page:
        live(page)
        for tab in ("story", "checks", "findings"):
            page.goto("about:blank")
            page.goto(f"{served.url}/p/{served.project}/t/{number}#{tab}")
            page.wait_for_selector("body[data-loaded]")
            assert page.evaluate("scrollY") == 0, tab
        live(page)
        served.of_project("DELETE", f"/tasks/{number}")
        page.wait_for_selector("#task-removed a:has-text('Go to the board')")
        # also after the count of the inbox has come
        page.evaluate("document.dispatchEvent(new CustomEvent('waiting', { detail: { waiting: 0, order: [] } }))")
        assert "was removed" in page.title() and not page.locator("#act-run").count()


def test_menus_have_their_role_and_targets_are_large_enough(opened: Browser, served: Served) -> None:
    with logged_in(opened, served, width=390, height=844) as page:
        live(page)
        small = """[...document.querySelectorAll('a, button, input, select, summary')]
            .filter(one => one.checkVisibility({visibilityProperty: true}))
            .filter(one => !one.closest('p:not(.deps), .visually-hidden, .skip'))
            .map(one => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
            .filter(([, box]) => box.width && (box.height < 24 || box.width < 24)).map(([html]) => html)"""
        assert page.evaluate(small) == []
        page.locator("#t14 .more").click()
        roles = page.eval_on_selector_all("#menu [role=menuitem]", "all => all.map(one => one.parentElement.role)")
        assert set(roles) == {"menu"}
        page.goto(f"{served.url}/inbox")
        live(page)
        assert page.evaluate(small) == []


def test_what_the_server_can_take_back_is_offered_to_be_undone_by_a_key(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab")
    store, key = open_store(lab)
    boards.many_more(store, key, 3)
    with serving(lab) as served, logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{key}")
        page.wait_for_selector('.connection[data-state="live"]')
        page.locator("#t2").focus()
        page.keyboard.press("e")
        page.wait_for_selector("#form[open]")
        page.fill("[name=tags]", "red, blue")
        page.fill("[name=priority]", "7")
        page.keyboard.press("Enter")
        until(page, "document.getElementById('t2').dataset.tags === 'red blue'")
        page.wait_for_selector("[data-undo]")
        page.keyboard.press("z")
        until(page, "document.getElementById('t2').dataset.tags === ''")
        assert store.task(key, 2).spec.priority == 0
        # the page of the task asks nothing, either
        page.goto(f"{served.url}/p/{key}/t/3")
        page.wait_for_selector(".task-page[data-ready]")
        page.locator("#more > summary").click()
        page.locator("#act-cancel").click()
        page.wait_for_selector("#outcome [data-undo]")
        assert store.task(key, 3).status is Status.CANCELLED
        page.keyboard.press("z")
        until(page, "document.getElementById('part-head').dataset.status === 'backlog'")
        # nor does the list of projects
        page.goto(f"{served.url}/projects")
        page.wait_for_selector("body[data-loaded]")
        page.click(".forget")
        page.wait_for_selector(".toast [data-undo]")
        assert served.api("GET", "/projects").json()["projects"] == []
        page.keyboard.press("z")
        until(page, "document.querySelector('.projects li:not([hidden])') !== null")
        assert [one["key"] for one in served.api("GET", "/projects").json()["projects"]] == [key]
    store.close()


def test_words_for_a_finding_survive_a_reload_and_closing_it_can_be_undone(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", extra="hitl_review: every\n")
    lab.add("Add division", "--tag", "math")
    lab.burnish("run", code=None)
    lab.burnish("comment", "1", "Handle zero.")
    with serving(lab) as served, logged_in(opened, served) as page:
        address = f"{served.url}/p/{served.project}/t/1#findings"
        for _ in range(2):
            page.goto("about:blank")
            page.goto(address)
            page.wait_for_selector(".task-page[data-ready]")
            page.evaluate("document.querySelectorAll('#findings details').forEach((one) => { one.open = true })")
            page.click("#part-findings [data-rule=waive]")
            if not page.input_value("#waive textarea"):
                page.fill("#waive textarea", "the caller *never* passes 0")
        assert page.input_value("#waive textarea") == "the caller *never* passes 0"
        page.click("#waive [data-preview]")
        page.wait_for_selector("#waive .preview em")
        page.click("#waive .primary")
        page.wait_for_selector("#outcome [data-undo]")
        assert page.locator("#part-head a.tag").inner_text() == "math"
        page.keyboard.press("z")
        page.wait_for_selector("#outcome:has-text('Undone.')")
        assert not page.locator("#outcome [data-undo]").count()
        until(page, "document.getElementById('part-head').dataset.open === '1'")
        kinds = [event["type"] for event in served.of_project("GET", "/tasks/1").json()["events"]]
        assert kinds.index("finding.waived") < kinds.index("finding.reopened")


def test_reopening_a_finding_can_be_undone_with_the_reason_of_the_waiver(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", extra="hitl_review: every\n")
    lab.add("Add division")
    lab.burnish("run", code=None)
    lab.burnish("comment", "1", "Handle zero.")
    lab.burnish("waive", "1", "F1", "--reason", 'never "0"', "--until", "2099-01-01")
    with serving(lab) as served, logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/t/1#findings")
        page.wait_for_selector(".task-page[data-ready]")
        page.evaluate("document.querySelectorAll('#findings details').forEach((one) => { one.open = true })")
        page.click("#part-findings [data-rule=reopen]")
        page.click("#reopen .primary")
        page.wait_for_selector("#outcome [data-undo]")
        # the page may still show no open finding from before it was reopened
        until(page, "document.getElementById('part-head').dataset.open === '1'")
        page.keyboard.press("z")
        until(page, "document.getElementById('part-head').dataset.open === '0'")
        finding = served.of_project("GET", "/tasks/1/findings").json()["findings"][0]
        assert finding["state"] == "waived"
        assert (finding["waiver"]["reason"], finding["waiver"]["until"]) == ('never "0"', "2099-01-01")
        # the decision ends at the lower edge, also on a page that is shorter than the window
        gap = "innerHeight - document.querySelector('.floor').getBoundingClientRect().bottom"
        assert abs(float(page.evaluate(gap))) < 1


def test_the_board_of_all_projects_moves_tasks_by_keys(opened: Browser, served: Served) -> None:
    with logged_in(opened, served) as page:
        page.goto(f"{served.url}/all")
        live(page)
        page.keyboard.press("j")
        number = page.evaluate("document.activeElement.dataset.id")
        key = served.project
        page.keyboard.press("m")
        page.get_by_role("menuitem", name="Cancel").press("Enter")
        page.wait_for_selector(f"#c-done #t-{key}-{number}", state="attached")
        page.wait_for_selector("[data-undo]")
        page.keyboard.press("z")
        page.wait_for_selector(f"#c-todo #t-{key}-{number}", state="attached")


def test_a_decision_with_a_comment_needs_no_mouse(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", extra="hitl_review: every\n")
    for title in ("Add division", "Add another division"):
        lab.add(title)
    lab.burnish("run", "--all", code=None)
    with serving(lab) as served, logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/t/1#changes")
        page.wait_for_selector(".task-page[data-ready]")
        page.wait_for_selector(".lines tr.add")
        page.keyboard.press("c")
        page.keyboard.type("Why?")
        assert page.input_value("[data-comment] textarea") == "Why?"
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#draft-count")
        page.keyboard.press("d")
        page.keyboard.type("Please answer.")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#next-entry")
        assert "Requested changes to T1" in page.locator("#outcome").inner_text()
        page.keyboard.press("g")
        page.keyboard.press("n")
        page.wait_for_url(lambda url: "/t/2" in url)
        page.wait_for_selector(".task-page[data-ready]")
        # the key of the main button is shown while the note has the focus; nothing is sent without words
        assert not page.locator(".key-hint").is_visible()
        page.keyboard.press("a")
        assert page.locator(".key-hint").inner_text().split() == [
            "Ctrl",
            "Enter",
            "Approve",
            "Esc",
            "Leave",
            "the",
            "note",
        ]
        page.locator("#gate").get_by_role("button", name="Request changes").click()
        page.wait_for_selector("#gate .error:has-text('Write what the agent should change.')")
        until(page, "document.activeElement.id === 'gate-note'")


def test_a_failed_task_is_opened_and_retried_by_keys(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", author="sys.exit('the network is gone')")
    lab.add("Add division")
    lab.burnish("run", code=None)
    with serving(lab) as served, logged_in(opened, served) as page:
        page.goto(f"{served.url}/inbox")
        page.wait_for_selector(".entry")
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "/t/1" in url)
        page.wait_for_selector(".task-page[data-ready]")
        page.keyboard.press("a")
        assert page.evaluate("document.activeElement.id") == "act-retry"
        page.keyboard.press("Enter")
        lab.until(lambda: len(lab.calls()) == 2)


def test_next_goes_to_what_needs_a_person_before_what_is_ready(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", author="pathlib.Path(f'a{task}').write_text('1')", extra="hitl_review: every\n")
    for title in ("One", "Two", "Three"):
        lab.add(title)
    lab.burnish("run", "--all", code=None)
    lab.burnish("decide", "1", "approve")
    with serving(lab) as served, served.client() as client:
        ids = [f"{served.project}-{number}" for number in (3, 2)]
        links = [client.get(f"{served.url}/inbox/next?after={id}").headers["location"] for id in ids]
        peeks = {number: _peek(client, served, number) for number in (1, 3)}
        lab.burnish("decide", "2", "reject")
        lab.burnish("decide", "3", "reject")
        ready = _peek(client, served, 2)
    assert [link.rpartition("/")[2] for link in links] == ["2", "3"]
    assert [(peek["id"], peek["ready"]) for peek in peeks.values()] == [(2, False), (2, False)]
    # a page does not call it a task that needs a person
    assert (ready["id"], ready["ready"]) == (1, True)


def _peek(client: httpx.Client, served: Served, number: int) -> dict[str, Any]:
    (entry,) = client.get(f"{served.url}/inbox/next?peek=true&after={served.project}-{number}").json()
    return dict(entry)


def test_a_note_that_was_deleted_again_does_not_keep_the_decision_from_following(
    tmp_path: Path, opened: Browser
) -> None:
    extra = "hitl_review: every\nreview: {agents: [judge], max_cycles: 1}\n"
    lab = Lab.make(tmp_path / "lab", judge=CRITIC, extra=extra)
    lab.add("Add division")
    lab.burnish("run", code=None)
    count = "document.getElementById('gate').innerText.match(/\\d+ open finding/)?.[0] ?? ''"
    with serving(lab) as served, logged_in(opened, served) as page:
        page.goto(f"{served.url}/p/{served.project}/t/1")
        page.wait_for_selector(".task-page[data-ready]")
        assert page.evaluate(count) == "1 open finding"
        page.keyboard.press("a")
        page.keyboard.type("x")
        # a text stays, with the form around it
        lab.burnish("waive", "1", "F1", "--reason", "never 0")
        until(page, "document.getElementById('part-head').dataset.open === '0'")
        page.wait_for_timeout(300)
        assert page.input_value("#gate-note") == "x"
        page.keyboard.press("Backspace")
        page.keyboard.press("Escape")
        until(page, f"({count}) === ''")


def test_a_task_that_was_taken_out_of_the_queue_is_put_back_by_a_key(tmp_path: Path, opened: Browser) -> None:
    go = tmp_path / "go"
    lab = Lab.make(
        tmp_path / "lab",
        author=f"while not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.05)\n{AUTHOR}",
    )
    for title in ("Add division", "Add a root"):
        lab.add(title)
    with serving(lab) as served, logged_in(opened, served) as page:
        assert served.of_project("POST", "/run", {"all": True}).status_code == 202
        lab.until(lambda: bool(lab.calls()))
        page.goto(f"{served.url}/p/{served.project}/t/2")
        page.wait_for_selector(".task-page[data-ready]")
        page.get_by_role("button", name="Take out of the queue").click()
        page.wait_for_selector("#outcome:has-text('T2 was taken out of the queue.') [data-undo]")
        until(page, "document.querySelector('#part-head .sentence').textContent.includes('ready to be started')")
        page.keyboard.press("z")
        until(page, "!document.querySelector('#part-head .sentence').textContent.includes('ready to be started')")
        # in the queue of the same run, behind the task that is at work
        assert len(served.api("GET", "/server").json()["runs"]) == 1
        assert [call["task"] for call in lab.calls()] == ["1"]
        go.touch()
        lab.until(lambda: served.api("GET", "/server").json()["runs"] == [])


def test_keys_before_a_page_is_ready_are_for_that_page(tmp_path: Path, opened: Browser) -> None:
    lab = Lab.make(tmp_path / "lab", extra="hitl_review: every\n")
    for title in ("Add division", "Add another division"):
        lab.add(title)
    lab.burnish("run", "--all", code=None)
    with serving(lab) as served, logged_in(opened, served) as page:
        held: list[Route] = []
        page.route("**/task-keys.js", lambda route: held.append(route))
        page.goto(f"{served.url}/p/{served.project}/t/1", wait_until="commit")
        until(page, "document.querySelector('.decision') !== null")
        # the scripts of the page have not come
        page.keyboard.type("aYes, do")
        until_held(page, held)
        held.pop().continue_()
        page.unroute("**/task-keys.js")
        until(page, "document.getElementById('gate-note').value === 'Yes, do'")
        assert page.evaluate("document.activeElement.id") == "gate-note"
        # a key on the page before, while the next one is fetched
        page.keyboard.press("Escape")
        page.wait_for_timeout(1)
        page.route("**/inbox/next?*", lambda route: held.append(route))
        page.keyboard.press("g")
        page.keyboard.press("n")
        until_held(page, held)
        page.keyboard.press("R")
        held.pop().continue_()
        page.unroute("**/inbox/next?*")
        page.wait_for_url(lambda url: "/t/2" in url)
        until(page, "document.activeElement.value === 'reject'")
        # the other buttons of the decision have keys, too
        for key, label in (("F", "Request changes"), ("C", "Comment")):
            page.keyboard.press(key)
            until(page, "document.activeElement.id === 'gate-note'")
            assert page.inner_text("[data-main]") == label
            page.keyboard.press("Escape")
        page.keyboard.press("A")
        until(page, "document.activeElement.value === 'approve'")
        page.keyboard.press("Enter")
        page.wait_for_selector("#outcome:has-text('Approved T2')")


def until_held(page: Page, held: list[Route]) -> None:
    """Until the browser has sent the request that is held back."""
    while not held:
        page.wait_for_timeout(20)


def test_the_board_of_all_projects_is_searched_by_keys(opened: Browser, served: Served) -> None:
    with logged_in(opened, served) as page:
        page.goto(f"{served.url}/all")
        live(page)
        page.keyboard.press("/")
        page.keyboard.type("passkey")
        until(page, "document.querySelectorAll('.card').length === 1")
        assert "q=passkey" in page.url
        page.keyboard.press("Enter")
        assert "passkey" in page.evaluate("document.activeElement.textContent")
        page.reload()
        live(page)
        assert page.locator(".card").count() == 1 and page.input_value("#search") == "passkey"
        page.fill("#search", "nothing like this")
        page.click("text=Clear the search")
        until(page, "document.querySelectorAll('.card').length > 10")
