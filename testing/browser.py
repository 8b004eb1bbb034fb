"""A real browser: Debian's Chromium by Playwright. Left out where it is missing, but never unnoticed in CI."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from testing.serving import Served

# No sandbox of its own (tests may run as root), and no word to anybody outside of this machine.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
WIDTHS = (390, 900, 1600)
THEMES = ("light", "dark")


def chromium() -> str:
    """Its path; skips the test where there is none."""
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
    )
    if found:
        return found
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail("These tests need Chromium, and CI must have it (Debian: apt-get install chromium).")
    pytest.skip("needs Chromium (Debian: apt-get install chromium)")


@contextmanager
def browser() -> Iterator[Browser]:
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def logged_in(
    opened: Browser, served: Served, *, width: int = 1280, height: int = 900, theme: str = "light"
) -> Iterator[Page]:
    """A window of its own that has shown the token; what goes wrong in the page fails the test at the end."""
    context: BrowserContext = opened.new_context(viewport={"width": width, "height": height}, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "console",
        lambda said: troubles.append(said.text) if said.type == "error" and "Content Security" in said.text else None,
    )
    try:
        page.goto(served.login)
        page.wait_for_url(lambda url: "/login" not in url)
        yield page
        assert not troubles, troubles
    finally:
        context.close()


def until(page: Page, expression: str, seconds: float = 60) -> None:
    """Until it is true in the page. Playwright's own way needs `eval`, which our pages forbid."""
    end = time.monotonic() + seconds
    while not _evaluated(page, expression):
        assert time.monotonic() < end, f"it did not come about: {expression}"
        time.sleep(0.03)


def _evaluated(page: Page, expression: str) -> object:
    """The value in the page; None while the page is left for another one."""
    from playwright.sync_api import Error

    try:
        return page.evaluate(expression)
    except Error as error:
        if "Execution context was destroyed" not in str(error):
            raise
        return None
