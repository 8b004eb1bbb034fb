"""Messages of a reviewer beside its final one: an approval does not count while another message rejects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from burnish.core.review import Verdict
from burnish.plain import without_escapes
from burnish.review.blocks import LONGEST_REPLY, named_blocks, shown_lines
from burnish.review.contract import WORD
from burnish.review.contradiction import other_object, paragraphs
from burnish.review.refusal import plain_line, refuses
from burnish.review.rejecting_lines import is_rejecting_line
from burnish.review.strict import verdict_of

_APPROVES = re.compile(r"""["']?verdict["']?\s*:\s*["']?approved\b(?!\s*\|)""")


def rejecting_message(messages: Iterable[str]) -> str:
    """The words of a message that reject the change; else empty. Read as the text before a verdict block is read."""
    return next((words for message in messages if (words := _rejection(message))), "")


def _rejection(message: str) -> str:
    text = re.sub(r"\r\n?", "\n", without_escapes(message[:LONGEST_REPLY])).strip()
    if other := other_object(text):
        return other
    for content in named_blocks(text, WORD):
        if not _is_approval(content):
            return f"{WORD}: {' '.join(content.split())[:60]}"
    lines = shown_lines(text)
    for line in lines:
        if verdict_of(line) not in (None, Verdict.APPROVED) or is_rejecting_line(line):
            return line.strip()[:80]
    found = (part for part in paragraphs(lines) if refuses(plain_line(part)) or other_object(part))
    return " ".join(next(found, "").split())[:80]


def _is_approval(content: str) -> bool:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return bool(_APPROVES.search(content))
    return isinstance(value, dict) and value.get("verdict") == Verdict.APPROVED and not other_object(content)
