"""axe-core on every page, menu and dialog, in light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from testing import boards
from testing.boards import open_store
from testing.browser import THEMES, browser, logged_in
from testing.lab import CRITIC, Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# the package has axe-core; its own class cannot start it on pages that forbid `eval`
AXE = resources.files("axe_playwright_python") / "axe.min.js"
pytestmark = pytest.mark.slow
RUN = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(
    one => `${one.id}: ${one.nodes.map(node => node.html.slice(0, 120)).join(' | ')}`))"""


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    lab = Lab.make(tmp_path_factory.mktemp("axe") / "lab", judge=CRITIC, extra="hitl_review: every\n")
    lab.add("Add division", "-d", "**Markdown** with `code`\n\n# Heading", "--tag", "math")
    lab.burnish("run", code=None)
    store, key = open_store(lab)
    boards.many_more(store, key, 5)
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
    (f"{BOARD}/t/999", None),
)


@pytest.mark.parametrize("theme", THEMES)
def test_no_page_menu_or_dialog_has_a_violation(opened: Browser, served: Served, theme: str) -> None:
    axe, key, found = AXE.read_text(), served.project, {}
    with logged_in(opened, served, theme=theme) as page:
        for path, action in STATES:
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
