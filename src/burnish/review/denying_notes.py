"""Finds notes that contradict their state: `{"state": "resolved", "note": "The bug is still there."}`.

A heuristic for clear English phrases. A note about the past ("did not handle None, now it does") does not contradict.
"""

from __future__ import annotations

import re

from burnish.review.refusal import plain_line

_SETTLED = r"(?:fix(?:ed)?|resolved?|met|done|addressed|implemented|solved|work(?:s|ing)?|settled|satisfied|fulfilled)"
_PROBLEM = r"(?:it|this|that|bug|issue|problem|finding|error|leak|race|crash|hole|vulnerability|defect|criterion|F\d+)"
_BROKEN = r"(?:there|present|open|exists?|occurs?|happens?|fails?|broken|unfixed|wrong|missing|crash\w*|leak\w*)"
_UNCHECKED = r"(?:not|could not|cannot|can't|couldn't) (?:be )?(?:verif(?:y|ied)|confirm(?:ed)?|check(?:ed)?)"


def _any(*forms: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{form})" for form in forms), re.IGNORECASE)


# the whole note
_ALONE = _any(
    r"(?:(?:state|status):? |->? ?|\u2192 ?)*(?:it is |still |remains |stays )*(?:open|unresolved|unfixed|a problem)",
    r"no|nope|false|unmet|unchanged|nothing (?:has )?changed(?: here| there)?|missing",
    r"reopened|regressed|pending|todo|won't fix|wontfix|ignored",
    r"(?:it |this |the code )?did(?: not|n't) change|(?:the )?same as before\b.{0,40}|(?:it )?fails(?: as before)?",
    r"partial(?:ly)?|partly|only part(?:ly|ially)|half(?: done)?|incomplete|insufficient(?: fix)?|broken|doubtful",
    r"(?:it )?remains|(?:I )?disagree|rejected|not (?:yet|really|quite|entirely|fully|completely)",
    rf"(?:I |claimed by the author[,;] )?{_UNCHECKED}(?: this| it)?",
)
_BEGINS = _any(
    r"no[.,;:!\u2013\u2014](?: |$)|no - ",
    rf"not (?:yet |really |fully |entirely |completely |properly |at all )*{_SETTLED}\b",
    rf"unresolved\b|unmet\b|unfixed\b|{_SETTLED}\? no\b|no longer (?:fixed|resolved|met)\b|except (?:for|in)\b",
    rf"still {_BROKEN}\b|unclear (?:whether|if)\b",
    rf"(?:once|unless|provided|if|when|as soon as)\b.{{0,60}}\b(?:is|are|gets?) (?:{_SETTLED}|merged)\b",
    r"(?:once|unless|provided|if) merged\b",
)
_ANYWHERE = _any(
    rf"\b(?:is|was|are|were|has|have|had|did|does|do)(?: not|n't)(?: yet| been| really| fully| actually)* {_SETTLED}\b",
    rf"\b{_PROBLEM}(?: is| are)? still {_BROKEN}\b",
    r"\bstill (?:fails?|failing|crashes|leaks|broken|unfixed|has (?:it|the bug|this))\b",
    r"\b(?:fails|crashes|leaks) still\b",
    rf"\b{_PROBLEM} (?:remains|persists|came back|is back|reappears)\b|\bremains (?:open|unfixed|unresolved)\b",
    r"\b(?:fix|change|patch) (?:is|was) (?:wrong|incomplete|insufficient|missing|broken|only partial)\b",
    rf"\bpart(?:ly|ially) {_SETTLED}\b|\b{_SETTLED} (?:only )?(?:partly|partially|in part)\b",
    r"\b(?:will|would|should|needs? to|has to|to) be (?:fixed|resolved|addressed|implemented|solved)\b",
    r"\bto be done later\b",
    r"\bnever (?:been )?(?:fixed|resolved|met|addressed|implemented)\b|(?:->|\u2192) ?(?:re)?open",
)
# words that describe the past beside the present
_BEFORE = _any(
    r"\b(?:now|no longer|any ?more|previous(?:ly)?|earlier|before|old|used to|formerly|originally|in cycle \d+)\b",
    r"\b(?:was|were|has been) (?:added|removed|replaced|corrected)\b",
)
# for a withdrawn finding: the code may be unchanged
_UPHELD = _any(
    r"no|nope|false|(?:still )?open|(?:I )?disagree|(?:it is |still )*valid|not (?:invalid|withdrawn)",
    r"(?:it|this|the (?:bug|finding|problem|issue)) is (?:still )?(?:valid|real|correct|there|present)",
    r"(?:it|this) is (?:still )?a (?:real )?(?:bug|problem)",
)


def denies(note: str, *, withdrawn: bool = False) -> bool:
    """Whether the note denies that the finding is settled. `withdrawn`: the state is `invalid`, without a fix."""
    text = plain_line(note)
    bare = text.strip(" .!;,")
    if withdrawn:
        return bool(_UPHELD.fullmatch(bare))
    if _ALONE.fullmatch(bare) or _BEGINS.match(text.lstrip(" .!;,:-")):
        return True
    return bool(_ANYWHERE.search(text)) and not _BEFORE.search(text)
