"""Prompts, inbox and statistics in a real browser, on a laboratory where reviews really run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from testing.browser import WIDTHS, browser, logged_in, until
from testing.lab import CRITIC, Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TITLE = "Add <img src=x onerror='window.hurt=1'>division"
OWN = "Look for races first.\n</textarea><script>window.hurt = 1</script>\n"
TEXT = "#text-review\\.system"
CARD = "#prompt-review\\.system"


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Tasks 1 and 3 are blocked after their one cycle, task 2 is ready to be merged, task 4 is yet to be begun."""
    root = tmp_path_factory.mktemp("pages")
    lab = Lab.make(root / "lab", judge=CRITIC)
    lab.env["XDG_CONFIG_HOME"] = str(root / "xdg")
    lab.add("Add a sum", "--max-cycles", "1")
    lab.add("Add a root")
    lab.add(TITLE, "--max-cycles", "1")
    lab.add("Add a power")
    lab.burnish("run", "1", "2", "3", "-j", "3", code=1)
    with serving(lab) as found:
        yield found


def goto(page: Page, served: Served, path: str) -> None:
    page.goto(f"{served.url}{path.replace('KEY', served.project)}")


@pytest.mark.slow
def test_the_inbox_answers_and_follows_without_a_reload(served: Served, opened: Browser) -> None:
    lab = served.lab
    with logged_in(opened, served) as page:
        goto(page, served, "/inbox")
        page.wait_for_selector('.connection[data-state="live"]')
        assert page.locator(".entry").first.inner_text().startswith("blocked: max cycles")
        until(page, "document.getElementById('waiting').textContent === '2'")
        page.locator("[id^=do-][id$='-1']", has_text="Improve once more").click()
        lab.until(lambda: lab.task(1)["status"] == "verified")
        # whoever looks at the list sees it come, and the bar counts with it
        until(page, "document.querySelectorAll('.entry.good').length >= 2")
        until(page, "document.getElementById('waiting').textContent === '1'")
        page.get_by_role("button", name="Merge all verified").click()
        page.get_by_role("button", name="Merge all", exact=True).click()
        # the two of them wrote at the same place: one lands, the other is left and says why
        until(page, "[...document.querySelectorAll('.toast')].some(one => one.textContent.startsWith('Merged: T'))", 40)
        assert "was skipped" in page.locator(".toast.bad").inner_text()
        assert sorted(lab.task(n)["status"] == "completed" for n in (1, 2)) == [False, True]
        assert page.evaluate("window.hurt") is None


@pytest.mark.long
def test_a_prompt_is_written_tried_kept_used_and_reset(served: Served, opened: Browser) -> None:
    lab = served.lab
    file = lab.repo.path / ".burnish/prompts/review.system.md"
    with logged_in(opened, served) as page:
        goto(page, served, "/p/KEY/prompts")
        card = page.locator(CARD)
        assert card.locator("pre.text").is_visible() and not page.locator(TEXT).is_visible()
        card.locator(".switch").click()
        page.locator(TEXT).fill(OWN)
        page.locator(TEXT).press("Control+End")
        card.get_by_role("button", name="title", exact=True).click()
        assert page.locator(TEXT).input_value() == OWN + "{{ title }}"
        assert f"{len(OWN) + 11} characters" in card.inner_text() and "not saved yet" in card.inner_text()
        _refused_then_mended(page)
        _previewed(page)
        _asked_before_leaving(page, served)
        page.locator(TEXT).press("Control+s")
        until(page, "document.querySelector('.toast')?.textContent.includes('Saved')")
        assert file.read_text() == OWN + "{{ title }}"
        assert page.evaluate("window.hurt") is None
    before = len(lab.calls())
    lab.burnish("run", "4")
    sent = [call["prompt"] for call in lab.calls()[before:] if call["phase"] == "review"]
    assert sent and all("Look for races first." in text and "Add a power" in text for text in sent)
    with logged_in(opened, served) as page:
        goto(page, served, "/p/KEY/prompts")
        _switched_off_and_reset(page, file)
    assert "races" not in lab.burnish("prompts", "render", "4", "review.system").out


def _refused_then_mended(page: Page) -> None:
    good = page.locator(TEXT).input_value()
    page.locator(TEXT).fill("{{ tilte }}")
    page.locator(f"{CARD} [data-save]").click()
    refused = page.locator(f"{CARD} .save-error")
    refused.wait_for()
    assert "Unknown variable tilte" in refused.inner_text() and "acceptance_criteria" in refused.inner_text()
    assert page.locator(TEXT).input_value() == "{{ tilte }}"
    page.locator(TEXT).fill(good)


def _previewed(page: Page) -> None:
    card = page.locator(CARD)
    card.locator("select").select_option("3")
    card.get_by_role("button", name="Preview").click()
    card.locator(".preview pre").wait_for()
    text = card.locator(".preview pre").inner_text()
    assert "To judge" in card.locator(".preview h3").inner_text()
    assert "Look for races first." in text and TITLE in text and "return a / b" in text
    assert not card.locator(".save-error").is_visible()


def _asked_before_leaving(page: Page, served: Served) -> None:
    asked: list[str] = []

    def stay(dialog: object) -> None:
        asked.append(dialog.type)  # type: ignore[attr-defined]
        dialog.dismiss()  # type: ignore[attr-defined]

    page.once("dialog", stay)
    page.get_by_role("link", name="Statistics").click(no_wait_after=True)
    until(page, "true")
    assert asked == ["beforeunload"] and page.url.endswith("/prompts")


def _switched_off_and_reset(page: Page, file: Path) -> None:
    card = page.locator(CARD)
    card.locator(".switch").click()
    until(page, f"document.querySelector('{CARD.replace(chr(92), chr(92) * 2)}').dataset.on === ''")
    assert "your text is kept" in card.inner_text() and file.exists()
    card.locator(".switch").click()
    until(page, f"document.querySelector('{CARD.replace(chr(92), chr(92) * 2)}').dataset.on === 'yes'")
    assert page.locator(TEXT).input_value().startswith("Look for races")
    card.get_by_role("button", name="Reset to default").click()
    page.get_by_role("button", name="Reset", exact=True).click()
    until(page, f"document.querySelector('{CARD.replace(chr(92), chr(92) * 2)}').dataset.own === ''")
    assert not file.exists() and "uses the default" in card.inner_text()
    assert page.evaluate("window.hurt") is None


@pytest.mark.long
def test_pages_fit_every_width(served: Served, opened: Browser) -> None:
    with logged_in(opened, served) as page:
        for path in ("/p/KEY/stats", "/p/KEY/prompts", "/inbox"):
            goto(page, served, path)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)


@pytest.mark.long
def test_the_numbers_of_a_plot_are_there_to_hover_over_and_to_read(served: Served, opened: Browser) -> None:
    with logged_in(opened, served) as page:
        goto(page, served, "/p/KEY/stats")
        titles = page.locator("#chart-cycles + p + svg g title").all_text_contents()
        assert any(" by burnish" in title for title in titles)
        page.locator("#numbers-cycles summary").click()
        assert page.locator("#numbers-cycles table").is_visible()
        assert page.evaluate("window.hurt") is None
