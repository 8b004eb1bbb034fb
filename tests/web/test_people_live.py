"""People with roles in a real browser: log in, see what the role allows, and lose access."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.browser import browser
from testing.lab import Lab
from testing.serving import Served, serving

pytestmark = pytest.mark.slow


@pytest.fixture
def served(lab: Lab, hermetic: object) -> Iterator[Served]:
    with serving(lab) as one:
        yield one


def shot(page: object, name: str) -> None:
    """For a look by eye, if a folder is named."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)  # type: ignore[attr-defined]


def test_a_viewer_logs_in_reads_and_loses_access(lab: Lab, served: Served) -> None:
    token = lab.apart("people", "add", "vera", "--role", "viewer").out.strip()
    key = lab.burnish("projects", "--json").json["projects"][0]["key"]
    with browser() as opened:
        page = opened.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{served.url}/")
        shot(page, "door")
        page.get_by_label("Your token").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_selector("header.top")
        page.goto(f"{served.url}/p/{key}")
        page.wait_for_selector("#board, .board, main h2")
        shot(page, "board-viewer")
        assert page.get_by_text("vera").is_visible()
        assert not page.locator("#add").is_visible() and not page.locator("#run-all").is_visible()
        # nor has it keys for what is hidden
        page.keyboard.press("j")
        for key_pressed in ("n", "e", "m"):
            page.keyboard.press(key_pressed)
        # keys that follow each other at once count as a word, which a pause ends
        page.wait_for_timeout(1000)
        assert page.locator("dialog[open], [role=menu]:visible").count() == 0
        page.keyboard.press("?")
        shown = page.inner_text("#keys")
        assert "card below" in shown and "add a task" not in shown and "edit the task" not in shown
        page.keyboard.press("Escape")
        page.goto(f"{served.url}/p/{key}/t/1")
        shot(page, "task-viewer")
        assert not page.locator("#gate").is_visible()
        page.goto(f"{served.url}/audit")
        assert "Your role is viewer" in page.inner_text("body")
        shot(page, "audit-refused")

        page.goto(f"{served.url}/p/{key}")
        lab.apart("people", "revoke", "vera")
        page.goto(f"{served.url}/p/{key}")
        assert "Your access was revoked." in page.inner_text("body")
        shot(page, "revoked")


def test_a_reviewer_decides_and_a_maintainer_sees_it_in_the_audit(lab: Lab, served: Served) -> None:
    link = lab.apart("people", "link", "rita", code=None)
    assert link.code != 0
    lab.apart("people", "add", "rita", "--role", "reviewer")
    link = lab.apart("people", "link", "rita")
    boss = lab.apart("people", "add", "max", "--role", "maintainer").out.strip()
    key = lab.burnish("projects", "--json").json["projects"][0]["key"]
    with browser() as opened:
        context = opened.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.goto(link.out.strip())
        shot(page, "link")
        page.get_by_role("button", name="Log in as rita").click()
        page.wait_for_selector("header.top")
        page.goto(f"{served.url}/p/{key}/t/1")
        shot(page, "task-reviewer")
        assert page.locator("#gate").is_visible()
        context.close()

        page = opened.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.goto(f"{served.url}/login")
        page.get_by_label("Your token").fill(boss)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_selector("header.top")
        page.goto(f"{served.url}/audit")
        page.get_by_label("Name").fill("nina")
        page.get_by_role("button", name="Add", exact=True).click()
        page.wait_for_selector("#secret:not([hidden])")
        assert "bp_" in page.inner_text("#secret")
        page.reload()
        shot(page, "audit")
        assert "people add nina --role viewer" in page.inner_text("main")
        page.locator("[data-revoke=nina]").click()
        page.get_by_role("button", name="Revoke", exact=True).click()
        page.wait_for_selector("[data-revoke=nina]", state="detached")
    for name in ("rita", "max"):
        lab.apart("people", "revoke", name)


def test_a_link_has_the_address_of_the_settings_and_without_one_says_what_is_missing(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.burnish("people", "add", "rita")
    link = lab.burnish("people", "link", "rita")
    assert link.out.startswith("/login?link=") and "burnish config set serve.url" in link.err
    lab.user_settings("serve: {url: 'https://burnish.example.org/'}\n")
    link = lab.burnish("people", "link", "rita")
    assert link.out.startswith("https://burnish.example.org/login?link=") and not link.err
