"""Verdict blocks in what a program printed, in every spelling that a person would take for one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from burnish.core.lookalikes import skeleton

BLOCK_NAME = r"burnish[-_ ]?verdict"
# Lines of a block that is looked at; no honest one is longer.
_MOST_LINES = 5_000
# An opening line is short, but for an object on the same line.
_LONGEST_OPENING = 20_000
_FENCE = "((?<!`)`{3,}(?!`)|(?<!~)~{3,}(?!~))"
# what quotes and lists put before a line
_MARGIN = re.compile(r"^[>\s]+")
# with anything behind it: where messages are put together, the next one follows on the same line
_CLOSING = re.compile(r"[>\s]*(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class PrintedBlock:
    content: str
    # a block that is not closed may be a part of one that is printed whole elsewhere
    closed: bool


def blocks_of(text: str, number: str) -> Iterator[PrintedBlock]:
    """Every fenced block with this number, in quotes and lists, too."""
    opening = re.compile(rf"{_FENCE}[^`~]{{0,40}}?{BLOCK_NAME}[^`~{{]{{0,40}}?{number}(.*)", re.DOTALL)
    lines = re.sub(r"\r\n?", "\n", text).split("\n")
    for at, line in enumerate(lines):
        found = _opened(line, opening)
        # with an escape behind the number it is a part of a JSON string, which is looked at by itself
        if found and not re.match(r"\\+[nrtu]", found[2]):
            yield _block(lines[at + 1 : at + 1 + _MOST_LINES], found, opening)


def _opened(line: str, opening: re.Pattern[str]) -> re.Match[str] | None:
    if "``" not in line and "~~" not in line:
        return None
    return opening.search(skeleton(line[:_LONGEST_OPENING]))


def _block(lines: list[str], found: re.Match[str], opening: re.Pattern[str]) -> PrintedBlock:
    content = [found[2]] if "{" in found[2] else []
    for line in lines:
        if opening_fence := _opened(line, opening):
            # two fences in a row: one closes this block, and the next message begins with the other
            return PrintedBlock("\n".join(content), closed=opening_fence[1].startswith(found[1] * 2))
        closing = _CLOSING.match(line)
        if closing and closing[1].startswith(found[1]):
            return PrintedBlock("\n".join(content), closed=True)
        content.append(_MARGIN.sub("", line))
    return PrintedBlock("\n".join(content), closed=False)
