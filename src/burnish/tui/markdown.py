"""Markdown for the terminal: emphasis, code and headings get a style; everything else stays as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.text import Text

from burnish.exchange.markdown_text import MARKED

_HEADING = re.compile(r"#{1,6}\s+(?=\S)")
_FENCES = ("```", "~~~")


def inline(text: str, style: str = "") -> Text:
    """One line without the signs of emphasis and code."""
    line, end = Text(end="", no_wrap=True), 0
    for match in MARKED.finditer(text):
        line.append(text[end : match.start()], style or None)
        strong, code = match.groups()
        line.append(strong or code, f"{style} {'bold' if strong else 'cyan'}".strip())
        end = match.end()
    return line.append(text[end:], style or None)


def markdown_lines(lines: Iterable[str], style: str = "") -> Iterator[Text]:
    """Line by line; a block of code stays as it is."""
    fence = ""
    for line in lines:
        sign = line.lstrip()[:3]
        if sign in _FENCES and fence in ("", sign):
            fence = "" if fence else sign
        elif not fence:
            heading = _HEADING.match(line)
            yield inline(line[heading.end() :], f"{style} bold".strip()) if heading else inline(line, style)
            continue
        yield Text(end="", no_wrap=True).append(line, style or None)
