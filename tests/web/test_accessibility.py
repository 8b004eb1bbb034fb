"""axe-core on every page, menu and dialog, in light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from burnish.core.status import Status
from testing import boards
from testing.boards import open_store
from testing.browser import THEMES, browser, logged_in
from testing.lab import CRITIC, Lab
from testing.serving import Served, serving
from tools.pictures import GATE, SHOOT, TEST

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# the package has axe-core; its own class cannot start it on pages that forbid `eval`
AXE = resources.files("axe_playwright_python") / "axe.min.js"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
RUN = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(
    one => `${one.id}: ${one.nodes.map(node => node.html.slice(0, 120)).join(' | ')}`))"""


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    lab = Lab.make(tmp_path_factory.mktemp("axe") / "lab", judge=CRITIC, extra=GATE)
    lab.repo.commit({"shoot.py": SHOOT, "test_app.py": TEST}, "checks")
    lab.add("Add division", "-d", "**Markdown** with `code`\n\n# Heading", "--tag", "math")
    lab.burnish("run", code=None)
    store, key = open_store(lab)
    boards.many_more(store, key, 5)
    spent, secret = "the task has cost $1.00 of $1.00 (budget.task_usd)", "looks like a secret: app.py:1 (AWS key)."
    boards.bring(store, key, 2, Status.BLOCKED, reason="budget", note=spent)
    boards.bring(store, key, 3, Status.BLOCKED, reason="secret", note=secret)
    boards.bring(store, key, 4, Status.BLOCKED, reason="needs_discussion", note="Do old entries stay valid?")
    boards.bring(store, key, 5, Status.FAILED, error="AGENT_FAILED", note="It ended with exit code 1.")
    store.close()
    with serving(lab) as found:
        yield found


def keys(*names: str) -> Callable[[Page], None]:
    return lambda page: [page.keyboard.press(name) for name in names] and None


def form(page: Page) -> None:
    page.keyboard.press("n")
    page.wait_for_selector("#form[open]")
    page.click("#form summary")
    page.fill("[name=description]", "**bold**")
    page.click("[data-preview] >> nth=0")
    page.wait_for_selector(".preview strong")


def dialog(name: str) -> Callable[[Page], None]:
    return lambda page: page.evaluate(f"document.getElementById('{name}').showModal()")


def open_all(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    page.wait_for_timeout(800)


def outcome(page: Page) -> None:
    page.evaluate("document.querySelector('#act-comment').click()")
    page.fill("dialog[open] textarea", "Name the field.")
    page.click("dialog[open] button.primary")
    page.wait_for_selector("#outcome:not([hidden])")


def invite(page: Page) -> None:
    """The token of a person who was added is shown once."""
    name = f"person{page.evaluate('Date.now()')}"
    page.fill("[name=name]", name)
    page.click("#add-person button")
    page.wait_for_selector("#secret:not([hidden])")


def change_value(page: Page) -> None:
    page.click(".value-line button >> nth=0")
    page.wait_for_selector(".value-form")


def split_with_comment(page: Page) -> None:
    page.check("text=Split")
    page.wait_for_timeout(600)
    page.keyboard.press("j")
    page.keyboard.press("c")
    page.wait_for_selector(".comment-form")


def more_menu(page: Page) -> None:
    page.uncheck("text=Split")
    page.click(".menu > summary >> nth=0")


def unfold_decision(page: Page) -> None:
    page.click("#gate-details > summary")


def comment(page: Page) -> None:
    page.evaluate("document.querySelector('#act-comment').click()")
    page.wait_for_selector("dialog[open] textarea")


def forget(page: Page) -> None:
    """The message with its button; nothing is forgotten."""
    page.route("**/api/v1/projects/*", lambda route: route.fulfill(status=200, json={}))
    page.click(".forget")
    page.wait_for_selector(".toast [data-undo]")
    page.unroute("**/api/v1/projects/*")


def asked(selector: str) -> Callable[[Page], None]:
    """The question that a button asks first; a button in a menu can be pressed without opening it."""

    def press(page: Page) -> None:
        page.evaluate(f"document.querySelector({selector!r}).click()")
        page.wait_for_selector("dialog[open]")

    return press


def card_act(number: int, label: str) -> Callable[[Page], None]:
    """The question of an act in the menu of a card."""

    def choose(page: Page) -> None:
        page.click(f"#t{number} .more")
        page.click(f"[role=menuitem]:has-text('{label}')")
        page.wait_for_selector("dialog[open]")

    return choose


def bulk_remove(page: Page) -> None:
    page.click(".select >> nth=0")
    page.click(".bulk button:has-text('Remove')")
    page.wait_for_selector("dialog[open]")


def reasons(page: Page) -> None:
    page.click("button.approve")
    page.wait_for_selector("#gate-why:not([hidden])")


def removed_line(page: Page) -> None:
    """The form on a line that the change removes, in both views."""
    page.evaluate("document.querySelector('.lines tr.del')?.focus()")
    page.keyboard.press("c")


def clean_question(page: Page) -> None:
    page.evaluate("const button = document.getElementById('clean'); button.hidden = false; button.click()")
    page.wait_for_selector("dialog[open]")


def save_filter(page: Page) -> None:
    page.fill("#search", "zzz")
    page.wait_for_selector("#no-match:not([hidden])")
    page.click("#save-filter")
    page.wait_for_selector("dialog[open]")


def evidence(page: Page) -> None:
    open_all(page)
    page.wait_for_selector(".evidence img")


BOARD = "/p/KEY"
TASK = f"{BOARD}/t/1"
STATES: tuple[tuple[str, Callable[[Page], None] | None], ...] = (
    ("/projects", None),
    ("/all", None),
    ("/all/list", None),
    ("/inbox", keys("j")),
    (BOARD, None),
    (BOARD, keys("j", "m")),
    (BOARD, keys("?")),
    (BOARD, keys("Control+k")),
    (BOARD, form),
    (BOARD, dialog("run-form")),
    (BOARD, dialog("auto-form")),
    (BOARD, dialog("merge-form")),
    (f"{BOARD}/list", keys("j", "x")),
    (f"{BOARD}/stats", None),
    (f"{BOARD}/prompts", None),
    (f"{BOARD}/settings", None),
    (f"{TASK}#story", None),
    (f"{TASK}#changes", None),
    (f"{TASK}#findings", open_all),
    (f"{TASK}#checks", None),
    (f"{TASK}#log", None),
    (f"{TASK}#artifacts", open_all),
    (TASK, dialog("improve")),
    (TASK, dialog("override")),
    (TASK, dialog("done")),
    (TASK, dialog("merge")),
    (TASK, dialog("waive")),
    (TASK, dialog("reopen")),
    (TASK, dialog("resolve")),
    (TASK, dialog("reply")),
    (TASK, dialog("handoff")),
    (TASK, dialog("outside")),
    (TASK, dialog("apply")),
    (f"{TASK}#changes", keys("j", "c")),
    (f"{BOARD}/t/2", None),
    (f"{BOARD}/t/3", None),
    (f"{BOARD}/t/4", None),
    (f"{BOARD}/t/5", outcome),
    (f"{BOARD}/t/999", None),
    ("/nothing", None),
    ("/audit", None),
    ("/audit", invite),
    (BOARD, keys("j", "m", "ArrowDown")),
    (f"{BOARD}/settings", change_value),
    (f"{TASK}#changes", split_with_comment),
    (f"{TASK}#changes", more_menu),
    (TASK, keys("?")),
    (TASK, keys("Control+k")),
    (TASK, unfold_decision),
    ("/inbox", keys("?")),
    (f"{TASK}#checks", evidence),
    (f"{BOARD}/t/5", comment),
    ("/projects", forget),
    (BOARD, save_filter),
    (f"{BOARD}/prompts", open_all),
    (f"{BOARD}/settings", open_all),
    # every question of confirmation
    (f"{BOARD}/settings", asked("#forget")),
    (f"{BOARD}/settings", clean_question),
    (TASK, asked("#act-cancel")),
    (TASK, reasons),
    (f"{BOARD}/t/3", asked("#act-restart")),
    (f"{BOARD}/t/3", asked("#act-cancel")),
    (f"{BOARD}/t/4", asked("#act-improve, #act-comment")),
    (f"{BOARD}/t/5", asked("#act-comment")),
    ("/inbox", asked("[data-note]:not([data-note=''])")),
    (BOARD, card_act(2, "Remove")),
    (BOARD, card_act(3, "Cancel")),
    (BOARD, card_act(3, "Start again")),
    (BOARD, card_act(3, "Comment")),
    (f"{BOARD}/list", bulk_remove),
    (f"{TASK}#changes", removed_line),
)
# without a login: the form, a wrong token, and a one-time link
DOORS = ("/", "/login?token=wrong-token-wrong", "/login?link=LINK", "/login?link=used-up")


@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("theme", THEMES)
def test_no_page_menu_or_dialog_has_a_violation(opened: Browser, served: Served, theme: str, third: int) -> None:
    axe, key, found = AXE.read_text(), served.project, {}
    with logged_in(opened, served, theme=theme) as page:
        for path, action in STATES[third::3]:
            page.goto("about:blank")
            page.goto(served.url + path.replace("KEY", key))
            page.wait_for_selector("body[data-loaded]")
            page.wait_for_timeout(300)
            if action:
                action(page)
            page.evaluate(axe)
            if violations := page.evaluate(RUN):
                found[path, STATES.index((path, action))] = violations
    assert found == {}


@pytest.mark.parametrize("theme", THEMES)
def test_no_page_on_a_phone_has_a_violation(opened: Browser, served: Served, theme: str) -> None:
    axe, found = AXE.read_text(), {}
    with logged_in(opened, served, width=390, height=844, theme=theme) as page:
        for path in ("/projects", "/inbox", "/audit", BOARD, f"{BOARD}/list", f"{BOARD}/settings", f"{TASK}#changes"):
            page.goto(served.url + path.replace("KEY", served.project))
            page.wait_for_selector("body[data-loaded]")
            page.wait_for_timeout(300)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            page.evaluate(axe)
            if violations := page.evaluate(RUN):
                found[path] = violations
    assert found == {}


@pytest.mark.parametrize("theme", THEMES)
def test_no_page_before_the_login_has_a_violation(opened: Browser, served: Served, theme: str) -> None:
    served.lab.apart("people", "add", f"link-{theme}", "--role", "viewer")
    link = served.lab.apart("people", "link", f"link-{theme}").out.strip().partition("link=")[2]
    axe, found = AXE.read_text(), {}
    context = opened.new_context(color_scheme=theme)  # type: ignore[arg-type]
    try:
        page = context.new_page()
        for path in DOORS:
            page.goto(served.url + path.replace("LINK", link))
            assert page.locator("main").count() == 1, path
            page.evaluate(axe)
            if violations := page.evaluate(RUN):
                found[path] = violations
    finally:
        context.close()
    assert found == {}
