"""Extracts the prose of replies: the text around the verdict block."""

from __future__ import annotations

import re

from burnish.review.blocks import without_blocks
from burnish.review.contract import DISPUTES, WORD
from burnish.review.fence import cut_text
from burnish.review.legacy_markers import verdict_of
from burnish.review.reading import clean

# bytes that fit into an artifact beside its findings
LONGEST_PROSE = 8 * 1024
# bytes in `review_findings` (JSON) and in an event, per reviewer
STORED_PROSE = 2 * 1024
# bytes of an author's last message in its event
LAST_WORDS = 2 * 1024

# without a `_` inside of a word, which is part of a name
_MARKS = re.compile(r"^[\s#>*+\-]+|[*`]{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)")


def prose_of(reply: str) -> str:
    """The reply without verdict blocks; "" for an agent that answers with a JSON object alone."""
    bare = reply.strip()
    if bare.startswith("{") and bare.endswith("}"):
        return ""
    text = re.sub(r"\n{3,}", "\n\n", clean(without_blocks(bare, WORD))).strip()
    return cut_text(text, LONGEST_PROSE)


def last_words(reply: str) -> str:
    """The end of an author's final message, which often explains why it changed nothing or what is left to do."""
    text = re.sub(r"\n{3,}", "\n\n", clean(without_blocks(reply.strip(), DISPUTES))).strip()
    if text == "(no output)":
        return ""  # written by an adapter, not by the agent
    return cut_text(text, LAST_WORDS, keep="tail")


def first_sentence(text: str) -> str:
    """A title for the text: the first sentence that is not a heading or a verdict, without Markdown marks."""
    lines = [line for line in text.split("\n") if line.strip()]
    words = [line for line in lines if verdict_of(line) is None] or lines
    body = [line for line in words if not line.lstrip().startswith("#")] or words
    plain = _MARKS.sub("", body[0]).strip() if body else ""
    return re.split(r"(?<=[.!?])\s", plain, maxsplit=1)[0][:120]
