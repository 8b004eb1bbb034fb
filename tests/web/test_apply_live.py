"""Suggestions applied in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.at_hand import at_hand
from testing.browser import browser, logged_in, until
from testing.lab import APPROVE, Lab
from testing.serving import serving

FIXED = "    return a / b if b else None"


def suggested(lab: Lab) -> None:
    """Task 1 waits for a person, with two suggestions; one of them holds a character that reverses text."""
    lab.add("Add division")
    lab.burnish("run", "1", code=1)
    shown = lab.show(1)
    blob = lab.repo.git("rev-parse", f"{shown['branch']}:app.py")
    with at_hand(lab) as server:
        comments = (
            (3, "Name it.\n```suggestion\n# \u202edivide\ndef div(a, b):\n```"),
            (4, f"Zero.\n```suggestion\n{FIXED}\n```"),
        )
        for line, text in comments:
            body = {"path": "app.py", "blob": blob, "line": line, "text": text}
            assert server.of_project("POST", "/tasks/1/draft/comments", body).status_code == 200
        send = {"verdict": "comment", "commit": shown["commit"]}
        assert server.of_project("POST", "/tasks/1/draft/send", send).status_code == 200


@pytest.mark.slow
def test_a_suggestion_is_applied_from_the_page(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="approval: required\n")
    suggested(lab)
    with serving(lab) as served, browser() as opened, logged_in(opened, served, width=1280, height=720) as page:
        page.goto(f"{served.url}/p/{served.project}/t/1#findings")
        page.wait_for_selector(".task-page[data-ready]")
        assert page.locator("[data-apply-all]").inner_text() == "Apply 2 suggestions…"
        page.locator("#F1 summary").click()
        assert "u202e" in page.locator("#F1 .proposal ins").first.inner_text().lower(), "nothing hidden is applied"
        page.locator("#F2 summary").click()
        page.locator("#F2 [data-apply]").click()
        page.wait_for_selector("dialog#apply[open]")
        chosen = page.locator("dialog#apply [name=finding]:checked")
        assert [chosen.nth(at).input_value() for at in range(chosen.count())] == ["F2"]
        page.locator("dialog#apply .primary").click()
        page.wait_for_selector("#outcome:not([hidden])")
        assert "Applied F2 as commit" in page.locator("#outcome").inner_text()
        # checks and a review follow without another click
        until(page, "/waits for your approval/.test(document.getElementById('outcome').innerText)")
        assert FIXED in lab.repo.git("show", f"{lab.show(1)['branch']}:app.py")
        assert [call["phase"] for call in lab.calls()].count("review") == 2
