"""Reviewing in a real browser: comments on lines, the decision at the edge, places in a large change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from testing.browser import browser, logged_in, until
from testing.lab import Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

WRITES = """
text = app.read_text()
if phase == "implement":
    app.write_text(text.replace("a + b", "b + a") + "def div(a, b):\\n    return a / b  # BUG\\n")
    for number in range(100 if task == "2" else 0):
        body = "".join(f"def f{k}(value):\\n    return value * {k}\\n\\n\\n" for k in range(10))
        pathlib.Path(f"mod_{number:03}.py").write_text(body)
else:
    app.write_text(text.replace("a / b  # BUG", "a / b if b else None"))
"""
JUDGES = """
names = [name for name in ("mod_007.py", "mod_050.py", "mod_090.py") if pathlib.Path(name).exists()]
more = [{**flaw, "title": "Value is not checked", "file": name, "line": 18} for name in names]
seen = sorted(path.name for path in pathlib.Path(".").glob("*.py"))
print(verdict("changes_requested", "one error", [flaw, *more], inspected=seen))
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Task 1 waits for a person, and so does task 2, a change of 101 files."""
    lab = Lab.make(
        tmp_path_factory.mktemp("review") / "lab",
        author=WRITES,
        judge=JUDGES,
        extra="review: {agents: [judge]}\nhitl_review: every\n",
    )
    lab.add("Add division")
    lab.add("Add modules")
    for number in "12":
        lab.burnish("run", number, code=1)
    with serving(lab) as found:
        yield found


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


def goto(page: Page, served: Served, task: int, rest: str = "") -> None:
    page.goto(f"{served.url}/p/{served.project}/t/{task}{rest}")
    page.wait_for_selector(".task-page[data-ready]")
    page.wait_for_selector("#part-changes .lines tr", state="attached")


def top(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.slow
def test_a_place_in_a_change_of_a_hundred_files_is_where_the_jump_lands(served: Served, opened: Browser) -> None:
    with logged_in(opened, served, width=1280, height=720) as page:
        goto(page, served, 2)
        # code on the first screen, above the decision
        assert top(page, ".lines tr") < top(page, "#gate") - 100 < 720
        page.locator("#gate-details > summary").click()
        for name, finding in (("mod_050.py", "F3"), ("mod_090.py", "F4"), ("mod_007.py", "F2")):
            page.locator(f"#gate a.place[data-file='{name}']").click()
            page.wait_for_selector(f"#in-{finding}", timeout=20_000)
            page.wait_for_timeout(1500)
            assert 100 < top(page, f"#in-{finding}") < 600, name
        page.locator(".tree a", has_text="mod_085.py").click()
        page.wait_for_timeout(1500)
        assert 80 < top(page, ".file[data-path='mod_085.py']") < 200


@pytest.mark.slow
def test_comments_survive_a_reload_and_are_sent_as_findings(served: Served, opened: Browser) -> None:
    with logged_in(opened, served, width=1280, height=720) as page:
        goto(page, served, 1)
        app_py = page.locator(".file[data-path='app.py']")
        # typed, and the page is lost before it is sent
        app_py.locator("tr.add[data-line='4'] td.n").last.click()
        page.locator("[data-comment] textarea").fill("Handle zero.")
        page.wait_for_selector("[data-saved]:not(:empty)")
        page.reload()
        page.wait_for_selector("[data-draft='1']")
        assert "Handle zero." in page.locator("[data-draft='1']").inner_text()
        page.wait_for_selector("#draft-count")

        # a range, with a suggestion; then cancelled text leaves nothing
        app_py.locator("tr.add[data-line='3'] td.n").last.hover()
        page.mouse.down()
        app_py.locator("tr.add[data-line='4'] td.n").last.hover()
        page.mouse.up()
        assert "lines 3 to 4" in page.locator("[data-comment] [data-where]").inner_text()
        page.locator("[data-comment] textarea").fill("Call it divide.")
        page.locator("[data-suggest]").click()
        assert "def div(a, b):\n    return a / b  # BUG" in page.locator("[data-comment] textarea").input_value()
        page.locator("[data-comment] .primary").click()
        page.wait_for_selector("[data-draft='2']")
        app_py.locator("tr.del td.n").first.click()
        page.locator("[data-comment] textarea").fill("never mind")
        page.wait_for_selector("[data-saved]:not(:empty)")
        page.locator("[data-cancel]").click()
        until(page, "!document.querySelector('[data-comment]')")
        page.wait_for_timeout(300)
        assert [one["id"] for one in served.of_project("GET", "/tasks/1/draft").json()["comments"]] == [1, 2]

        # what was dropped by mistake comes back
        page.locator("[data-draft='2']").get_by_role("button", name="Delete").click()
        page.wait_for_selector("#outcome:has-text('Your comment was deleted.') [data-undo]")
        until(page, "document.querySelectorAll('[data-draft]').length === 1")
        page.keyboard.press("z")
        until(page, "document.querySelectorAll('[data-draft]').length === 2")
        assert "Call it divide." in served.of_project("GET", "/tasks/1/draft").json()["comments"][-1]["text"]

        # the reasons are asked for beside the button
        assert not page.locator("#gate-why").is_visible()
        page.evaluate("scrollTo(0, 0)")
        page.locator("#gate").get_by_role("button", name="Approve").click()
        assert page.locator("#gate-why").is_visible()
        assert page.evaluate("scrollY") == 0, "the code stays where it was"
        assert not page.locator("#gate .error").is_visible(), "nothing was done wrong"

        page.locator("#gate-note").fill("See the comments.")
        held: list[Route] = []
        page.route("**/draft/send", lambda route: held.append(route))
        page.locator("#gate").get_by_role("button", name="Request changes").click()
        while not held:
            page.wait_for_timeout(20)
        answer = held[0].fetch()
        # the page stays as it was sent: the task would look as if it had been interrupted
        page.wait_for_timeout(600)
        assert page.get_attribute("#part-head", "data-status") != "in_progress" and page.locator("#gate").is_visible()
        assert not page.locator("[data-stale]").is_visible(), "the person's own act has changed the task"
        held[0].fulfill(response=answer)
        page.wait_for_selector("#outcome:has-text('Requested changes') #next-entry")
        outcome = page.locator("#outcome").inner_text()
        assert "Requested changes to T1 (F2, F3)" in outcome and "Next that needs you: T2 Add modules" in outcome
        until(page, "document.querySelectorAll('[data-draft]').length === 0")
        found = {one["id"]: one for one in served.lab.show(1)["findings"]}
        assert (found["F2"]["line"], found["F3"]["line"], found["F3"]["end_line"]) == (4, 3, 4)
        assert "def div(a, b):" in found["F3"]["suggestion"]
        until(page, "/T1 waits for your approval/.test(document.getElementById('outcome').innerText)")
        page.wait_for_selector("#next-entry")
        page.locator("#next-entry").click()
        page.wait_for_url(f"**/p/{served.project}/t/2")


@pytest.mark.slow
def test_a_change_is_read_and_commented_on_by_keys(served: Served, opened: Browser) -> None:
    with logged_in(opened, served, width=1280, height=720) as page:
        goto(page, served, 2)
        page.locator("[data-split]").check()
        page.wait_for_selector(".lines.split tr.mirror", state="attached")
        left, right = (
            page.locator(f".file[data-path='app.py'] tr.{kind}").first.bounding_box() for kind in ("del", "add")
        )
        assert left and right and left["y"] == right["y"] and left["x"] < right["x"]
        page.locator("[data-split]").uncheck()
        page.evaluate("document.activeElement.blur()")
        for key in ("j", "j", "j", "J", "c"):
            page.keyboard.press(key)
        page.wait_for_selector("[data-comment]")
        page.keyboard.type("By keys.")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("[data-draft]")
        (draft,) = served.of_project("GET", "/tasks/2/draft").json()["comments"]
        assert (draft["path"], draft["text"]) == ("app.py", "By keys.") and draft["line"]
        # the line has the focus again, so the next key goes on from there
        until(page, "document.activeElement.matches('.lines tr')")
        page.keyboard.press("n")
        until(page, "document.activeElement.closest('[data-draft]')")
        page.keyboard.press("n")
        until(page, "document.activeElement.textContent.includes('Zero is not handled')")
        page.keyboard.press("n")
        until(page, "document.activeElement.closest('.file')?.dataset.path === 'mod_007.py'")
        page.keyboard.press("]")
        until(page, "document.activeElement.closest('.file')?.dataset.path === 'mod_008.py'")
        page.keyboard.press("e")
        until(page, "!document.querySelector('.file[data-path=\"mod_008.py\"]').open")
        page.keyboard.press("?")
        page.wait_for_selector("dialog#keys[open]")
        assert "next or previous finding" in page.locator("#keys").inner_text()
        served.of_project("DELETE", f"/tasks/2/draft/comments/{draft['id']}")


@pytest.mark.slow
def test_viewed_files_are_folded_and_counted_after_a_reload(served: Served, opened: Browser) -> None:
    with logged_in(opened, served) as page:
        goto(page, served, 2)
        assert "0 of 101 viewed" in page.locator("#viewed-count").inner_text()
        page.locator("[data-viewed]").first.check()
        until(page, "document.getElementById('viewed-count').textContent.startsWith('1 of')")
        page.wait_for_timeout(300)
        goto(page, served, 2)
        assert "1 of 101 viewed" in page.locator("#viewed-count").inner_text()
        assert page.locator(".leaf.is-viewed").count() == 1
        assert "1 of 101 viewed" in page.locator(".tree-box > summary").inner_text()
        assert page.locator(".file").first.get_attribute("open") is None


@pytest.mark.slow
def test_j_and_k_pass_over_files_that_are_folded(served: Served, opened: Browser) -> None:
    here = "(document.activeElement.closest('.file')?.querySelector('.path').innerText ?? '') + ' ' + " + (
        "(document.activeElement.dataset.line ?? 'heading')"
    )
    with logged_in(opened, served, width=1280, height=720) as page:
        goto(page, served, 2, "#changes")
        for _ in range(3):
            page.keyboard.press("]")
        until(page, f"({here}).startsWith('mod_001.py heading')")
        page.keyboard.press("v")
        until(page, f"({here}) === 'mod_002.py heading'")
        page.keyboard.press("j")
        assert page.evaluate(here) == "mod_002.py 1"
        # over the file that was just viewed
        page.keyboard.press("k")
        assert page.evaluate(here) == "mod_000.py 40"
        page.keyboard.press("j")
        assert page.evaluate(here) == "mod_002.py 1"
        page.keyboard.press("[")
        page.keyboard.press("j")
        assert page.evaluate(here) == "mod_002.py 1"
