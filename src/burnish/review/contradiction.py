"""Finds text around an approving verdict block that rejects the change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from burnish.core.review import Verdict
from burnish.review.blocks import code_after, indented_lines, prose_around, shown_lines
from burnish.review.legacy_markers import verdict_of
from burnish.review.refusal import plain_line, refuses, takes_back
from burnish.review.rejecting_lines import is_rejecting_line
from burnish.sanitize import without_escapes

_VERDICT_FIELD = re.compile(r"""^\W*verdict["']?[ ]*[:=][ ]*["']?(?:reject|changes|needs)\w*""", re.I | re.M)
# a line that starts a new sentence
_NEW_SENTENCE = re.compile(r"\s*(?:$|[-*+|#]|\d+[.)])")


def contradicting_text(reply: str, word: str) -> str:
    """The text around an approving block that rejects; "" if there is none. Terminal escapes are ignored."""
    reply = without_escapes(reply)
    for content in code_after(reply, word):
        if other := other_object(content):
            return other
        if found := _VERDICT_FIELD.search(content):
            return found[0].strip()[:80]
    if found := next(filter(is_rejecting_line, indented_lines(reply)), ""):
        return found.strip()[:80]
    before, after = prose_around(reply, word)
    return _rejection(before, refuses) or _rejection_after(after)


def rejecting_words(text: str, *, is_after: bool) -> str:
    """The words that reject in text before or after an approval; "" if there are none."""
    lines = shown_lines(text)
    return other_object(text) or (_rejection_after(lines) if is_after else _rejection(lines, refuses))


def _rejection_after(lines: list[str]) -> str:
    found = next((other for paragraph in paragraphs(lines) if (other := other_object(paragraph))), "")
    return found or _rejection(lines, takes_back)


def _rejection(lines: list[str], is_rejection: Callable[[str], bool]) -> str:
    for line in lines:
        if verdict_of(line) not in (None, Verdict.APPROVED) or is_rejecting_line(line):
            return line.strip()[:80]
    found = (paragraph for paragraph in paragraphs(lines) if is_rejection(plain_line(paragraph)))
    return " ".join(next(found, "").split())[:80]


def other_object(content: str) -> str:
    """The verdict of a JSON object in another code block, if it does not approve."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict) or "verdict" not in value:
        return ""
    approves = value["verdict"] == Verdict.APPROVED and not value.get("blocking")
    return "" if approves else f"verdict: {json.dumps(value['verdict'], ensure_ascii=False)[:60]}"


def paragraphs(lines: list[str]) -> list[str]:
    found: list[list[str]] = []
    for line in lines:
        if not found or _NEW_SENTENCE.match(line):
            found.append([])
        found[-1].append(line[:2000])
    return ["\n".join(paragraph) for paragraph in found]
