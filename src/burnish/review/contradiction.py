"""A message that approves in its block and says something else around it."""

from __future__ import annotations

import re

from burnish.core.review import Verdict
from burnish.review.blocks import prose_around
from burnish.review.strict import verdict_of

_NOT = r"(?:not|n't|never|cannot|no longer|unable to|refuse to|withhold(?:ing)?|withdraw(?:ing|n)?|retract\w*|revok\w+)"
# Before the block a reviewer weighs arguments: only a plain refusal in the first person counts there.
_BEFORE = re.compile(r"\bI(?: still| really)? (?:do not|don't|cannot|can not|can't|will not|won't) approve\b", re.I)
_AFTER = re.compile(
    rf"""\b{_NOT}\b[^.!?]{{0,40}}\bapprov | n't[ ][^.!?]{{0,30}}\bapprov | \b(?:dis|un)approv
    | \bI[ ](?:hereby[ ]|must[ ]|have[ ]to[ ])?reject\b | \b(?:is|are|be|verdict:?|status:?)[ ]rejected\b
    | (?<!no[ ])(?<!further[ ])\bchanges[ _]requested\b | \brequest(?:ing)?[ ]changes\b
    | \bneeds[ _](?:revision|discussion)\b
    | \b(?:not|n't|never)[ ](?:\w+[ ]){{0,2}}merged?\b
    | \b(?:ignore|disregard|discard)\b[^.!?]{{0,30}}\b(?:above|verdict|block|approval|previous)\b
    | \bverdict[ ]{{0,3}}[:=](?!\W{{0,6}}approved\b) """,
    re.I | re.X,
)


def contradiction(text: str, word: str) -> str:
    """The line around an approving block that takes the approval back, or nothing."""
    before, after = prose_around(text, word)
    for pattern, lines in ((_BEFORE, before), (_AFTER, after)):
        for line in lines:
            # without emphasis, and with the apostrophe of a keyboard
            plain = re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", line[:2000]).replace("\u2019", "'")
            if pattern.search(plain) or verdict_of(line) not in (None, Verdict.APPROVED):
                return line.strip()[:80]
    return ""
