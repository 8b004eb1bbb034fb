from __future__ import annotations

from pathlib import Path

import pytest

from tools.api_page import api_page
from tools.commands_page import commands_page

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {"api-reference": ("api_page", api_page), "commands": ("commands_page", commands_page)}


@pytest.mark.parametrize("page", PAGES)
def test_a_generated_page_is_up_to_date(page: str) -> None:
    module, make_page = PAGES[page]
    text = (DOCS / f"{page}.md").read_text("utf-8")
    assert text == make_page(), f"run: .venv/bin/python -m tools.{module} > docs/{page}.md"


def test_the_page_on_commands_explains_every_option_and_argument() -> None:
    assert [line for line in commands_page().splitlines() if line.startswith("| `") and line.endswith("|  |")] == []
