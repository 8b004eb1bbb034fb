"""Text of agents and people inside of Markdown that others read."""

from __future__ import annotations

import re

from burnish.sanitize import terminal_text

MAX_LENGTH = 300
_MARKUP = re.compile(r"([\\`*_\[\]<>|~#])")
# users, issues that a keyword before them would close, addresses that become links
_REFERENCE = re.compile(r"(?i)[@#](?=\w)|:(?=//)|\bGH(?=-\d)|\bwww(?=\.)")

# Emphasis and code, which a terminal shows without the signs around them. With a limit: a text of many openings without
# an end would take minutes.
MARKED = re.compile(r"(?<![\w*])\*\*(?=[^\s*])(.{1,300}?)(?<=[^\s*])\*\*(?![\w*])|(?<!`)`([^`]+)`(?!`)")


def unmarked(text: str) -> str:
    """One line without the signs of emphasis. Those around code stay: they tell where it begins and ends."""
    return MARKED.sub(lambda match: match[1] or match[0], text)


def escaped(text: object) -> str:
    """One line of text without markup, mentions of users, links, and keywords that close issues."""
    line = " ".join(terminal_text(str(text or "")).split())
    return _REFERENCE.sub("\\g<0>\u200b", _MARKUP.sub(r"\\\1", line))


def escaped_start(text: object) -> str:
    """The first MAX_LENGTH characters of `escaped`."""
    line = escaped(text)
    return line if len(line) <= MAX_LENGTH else line[: MAX_LENGTH - 1].rstrip("\\") + "…"


def escaped_lines(text: object, longest: int) -> str:
    """The same with its line breaks, up to `longest` characters."""
    lines = "\n".join(escaped(line) for line in str(text or "").strip().splitlines())
    return lines if len(lines) <= longest else lines[: longest - 1].rstrip("\\") + "…"
