"""A suggestion that can be applied: a block of ```suggestion whose lines replace those that a finding quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from burnish.core.finding import Finding, Remark, is_from_person

# the closing fence is as long as the opening one or longer, as in Markdown: a suggestion may contain shorter fences
_OPENING = re.compile(r" {0,3}(`{3,})[ \t]*suggestion[ \t]*\r?")
_CLOSING = re.compile(r" {0,3}(`{3,})[ \t]*\r?")


@dataclass(frozen=True, slots=True)
class SplitComment:
    """A comment without its blocks of suggestions, and the lines of each block."""

    text: str
    blocks: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """The lines of a file that a finding quotes, and those that should be there instead (none: remove them)."""

    finding: str
    file: str
    line: int
    quote: tuple[str, ...]
    lines: tuple[str, ...]


def split_comment(text: str) -> SplitComment:
    """Separate closed blocks of suggestions from the other text. An open block is text."""
    rest: list[str] = []
    blocks: list[tuple[str, ...]] = []
    lines, at = text.split("\n"), 0
    # a fence of this length is not closed any more: many open blocks must not take long
    limit = len(text) + 1
    while at < len(lines):
        opening = _OPENING.fullmatch(lines[at])
        length = len(opening[1]) if opening else limit
        end = _closing_line(lines, at + 1, length) if length < limit else None
        if end is None:
            limit = min(limit, length)
            rest.append(lines[at])
            at += 1
            continue
        blocks.append(tuple(line.removesuffix("\r") for line in lines[at + 1 : end]))
        at = end + 1
    return SplitComment("\n".join(rest), tuple(blocks))


def _closing_line(lines: Sequence[str], start: int, length: int) -> int | None:
    for number in range(start, len(lines)):
        closing = _CLOSING.fullmatch(lines[number])
        if closing and len(closing[1]) >= length:
            return number
    return None


def as_block(lines: Sequence[str]) -> str:
    """The lines as a block that `split_comment` reads back, whatever fences they contain."""
    runs = [len(run) for line in lines for run in re.findall("`+", line)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return "\n".join((f"{fence}suggestion", *lines, fence))


def replacement(remark: Remark) -> tuple[str, ...] | None:
    """The lines that a remark proposes; None if it has no block of a suggestion, or several."""
    blocks = split_comment(remark.suggestion).blocks
    return blocks[0] if len(blocks) == 1 else None


def proposal(finding: Finding) -> Proposal | None:
    """What can be applied; None if the finding does not name the lines and their replacement."""
    remark, lines = finding.remark, replacement(finding.remark)
    if lines is None or not remark.file or not remark.line or not remark.quote.strip():
        return None
    # a person's quote is exactly the chosen lines; reviewers add empty lines around theirs
    quoted_text = remark.quote if is_from_person(finding) else remark.quote.strip("\r\n")
    quote = tuple(line.removesuffix("\r") for line in quoted_text.split("\n"))
    return Proposal(finding.id, remark.file, remark.line, quote, lines)


def find_lines(text: str, change: Proposal) -> int | None:
    """Index of the first quoted line: at its number, else at the only place that has these lines; None if changed."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    size = len(change.quote)
    places = [at for at in range(len(lines) - size + 1) if tuple(lines[at : at + size]) == change.quote]
    first = change.line - 1
    # reviewers drop the indentation of what they quote
    if first in places or _stripped(lines[first : first + size]) == _stripped(change.quote):
        return first
    return places[0] if len(places) == 1 else None


def _stripped(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines]


def replaced(text: str, changes: Sequence[tuple[int, Proposal]]) -> str:
    """The text with each proposal in the place of its lines (index of the first); line ends stay as they are."""
    lines = text.split("\n")
    for at, change in sorted(changes, key=lambda one: one[0], reverse=True):
        end = "\r" if lines[at].endswith("\r") else ""
        lines[at : at + len(change.quote)] = [line + end for line in change.lines]
    return "\n".join(lines)


def overlapping(changes: Sequence[tuple[int, Proposal]]) -> tuple[str, str] | None:
    """Ids of two findings that propose other text for the same line."""
    in_order = sorted(changes, key=lambda one: one[0])
    for (at, first), (following, second) in pairwise(in_order):
        if following < at + len(first.quote):
            return first.finding, second.finding
    return None
