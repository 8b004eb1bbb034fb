"""Escapes reviewers' text for Markdown pages, so that it has no effect on the page."""

from __future__ import annotations

import re

from burnish.review.fence import one_line
from burnish.sanitize import clean_text

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_FENCE = re.compile(r" *(`{3,}|~{3,})(.*)")


def line(text: str, *, longest: int = 300) -> str:
    """One line for a heading or a list."""
    return _TAG.sub("&lt;", one_line(clean_text(text), longest=longest))


def prose(text: str) -> str:
    """Paragraphs without HTML, direction marks or unclosed code blocks."""
    # in code spans, too, because Markdown implementations disagree about where they end
    words = _TAG.sub("&lt;", clean_text(text)).strip()
    fence = _open_fence(words)
    return f"{words}\n{fence}" if fence else words


def _open_fence(text: str) -> str:
    """The fence that closes an open code block; "" if none is open."""
    fence = ""
    for row in text.split("\n"):
        match = _FENCE.match(row)
        if not match:
            continue
        marks, rest = match.groups()
        if not fence:
            fence = "" if marks[0] == "`" and "`" in rest else marks
        elif marks.startswith(fence) and not rest.strip():
            fence = ""
    return fence
