"""Markdown in the terminal."""

from __future__ import annotations

import time

import pytest

from burnish.tui.lines import prose
from burnish.tui.markdown import inline


def test_emphasis_and_code_have_a_style_in_place_of_their_signs() -> None:
    text = inline("Do **old** entries stay in `a_b`?", "dim")
    assert text.plain == "Do old entries stay in a_b?"
    assert [(text.plain[span.start : span.end], str(span.style)) for span in text.spans][1::2] == [
        ("old", "dim bold"),
        ("a_b", "dim cyan"),
    ]


def test_what_only_looks_like_emphasis_stays_as_it_is() -> None:
    for line in ("2**3**4", "a ** b ** c", "[bold]x[/]", "<!-- **", "``", "****", "#1 is done"):
        assert inline(line).plain == line


def test_code_blocks_and_output_stay_as_they_are() -> None:
    source = "# Plan\n```\n# a **b** `c`\n```\n**b**"
    assert [line.text.plain for line in prose(source)] == ["Plan", "```", "# a **b** `c`", "```", "b"]
    assert [line.text.plain for line in prose(source, is_verbatim=True)] == source.split("\n")


@pytest.mark.attacks("a terminal screen that hangs", 6)
@pytest.mark.parametrize("part", ["**a ", "**a*", "`a ", "* ", "``", "**`"])
def test_a_text_of_many_open_signs_is_drawn_at_once(part: str) -> None:
    start = time.process_time()
    assert inline(part * 50_000).plain
    assert time.process_time() - start < 10
