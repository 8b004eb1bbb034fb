"""A message that approves in its block and says something else around it."""

from __future__ import annotations

import re

from burnish.core.review import Verdict
from burnish.review.blocks import prose_around
from burnish.review.lookalikes import visible
from burnish.review.strict import verdict_of

_NOT = r"(?:not|n't|never|cannot|no longer|unable to|refuse to|withhold(?:ing)?|withdraw(?:ing|n)?|retract\w*|revok\w+)"
# Before the block a reviewer weighs arguments: only a plain refusal in the first person counts there.
_BEFORE = re.compile(
    r"\bI(?: still| really)? (?:do not|don't|cannot|can not|can't|will not|won't) approve\b"
    r"|\bI(?: am|'m) rejecting\b|\bth(?:is|e) (?:change|diff|patch|pull request|PR) is rejected\b",
    re.I,
)
# A heading or a line of its own, wherever it stands
_ALONE = re.compile(r"[\W_]*(?:rejected|not approved|disapproved|do not merge)[\W_]*", re.I)
_AFTER = re.compile(
    rf"""\b{_NOT}\b[^.!?]{{0,40}}\bapprov | n't[ ][^.!?]{{0,30}}\bapprov | \b(?:dis|un)approv
    | \bI(?:[ ]am|'m)[ ]rejecting\b | \bmust[ ]be[ ]fixed[ ]before\b
    | \bI[ ](?:hereby[ ]|must[ ]|have[ ]to[ ])?reject\b | \b(?:is|are|be|verdict:?|status:?)[ ]rejected\b
    | (?<!no[ ])(?<!further[ ])\bchanges[ _]requested\b | \brequest(?:ing)?[ ]changes\b
    | \bneeds[ _](?:revision|discussion)\b
    | \b(?:not|n't|never)[ ](?:\w+[ ]){{0,2}}merged?\b
    | \b(?:ignore|disregard|discard)\b[^.!?]{{0,30}}\b(?:above|verdict|block|approval|previous)\b
    | \bverdict[ ]{{0,3}}[:=](?!\W{{0,6}}approved\b) """,
    re.I | re.X,
)


_MARKUP = re.compile(r"<!--.*?-->|</?[a-z][^<>]{0,2000}>|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", re.I | re.DOTALL)
# A line that does not go on with the sentence before it
_NEW_SENTENCE = re.compile(r"\s*(?:$|[-*+|#]|\d+[.)])")


def contradiction(text: str, word: str) -> str:
    """The words around an approving block that take the approval back, or nothing."""
    before, after = prose_around(text, word)
    for pattern, lines in ((_BEFORE, before), (_AFTER, after)):
        for line in lines:
            if verdict_of(line) not in (None, Verdict.APPROVED):
                return line.strip()[:80]
        for paragraph in _paragraphs(lines):
            # without markup and invisible characters, and with the apostrophe of a keyboard
            plain = _MARKUP.sub("", visible(paragraph[:20_000]).replace("\u2019", "'"))
            plain = " ".join(plain.split())
            if _ALONE.fullmatch(plain) or pattern.search(plain):
                return " ".join(paragraph.split())[:80]
    return ""


def _paragraphs(lines: list[str]) -> list[str]:
    found: list[list[str]] = []
    for line in lines:
        if not found or _NEW_SENTENCE.match(line):
            found.append([])
        found[-1].append(line[:2000])
    return ["\n".join(paragraph) for paragraph in found]
