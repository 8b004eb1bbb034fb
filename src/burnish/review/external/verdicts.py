"""Reads the verdict of a Markdown review, and detects contradicting verdicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from burnish.core.review import Verdict
from burnish.review.blocks import own_lines, prose_lines
from burnish.review.legacy_markers import short_lines, verdict_of
from burnish.review.refusal import is_conditional

_PHRASES = {
    Verdict.APPROVED: "approved|approve|accepted|accept|lgtm|passed|pass",
    Verdict.CHANGES_REQUESTED: (
        "changes requested|changes required|changes needed|change requested|request changes|requests changes"
        "|needs revision|needs changes|needs work|needs fixes|needs fix|revise|do not merge|blocked|block"
        "|failed|fail"
    ),
    Verdict.NEEDS_DISCUSSION: "needs discussion|discuss",
    Verdict.REJECTED: "rejected|reject",
}
_MEANINGS = {phrase: verdict for verdict, phrases in _PHRASES.items() for phrase in phrases.split("|")}
_WORD = "|".join(sorted((phrase.replace(" ", "[ _-]+") for phrase in _MEANINGS), key=len, reverse=True))
_KEY = (
    r"(?:[-*+][ \t]+(?=\*\*))?[\W_]{0,9}(?:(?:overall|final|review|reviewer|review cycle)[ \t]+)?"
    r"(?P<key>verdict|status)[\W_]{0,3}"
)
# `Verdict (cycle 2): …` counts, too
_ROUND = r"(?:\([^()\n]{0,40}\)[\W_]{0,3})?"
_LINE = re.compile(rf"{_KEY}{_ROUND}[:–—-][\W_]{{0,12}}(?P<word>{_WORD})(?![\w])(?P<rest>.*)", re.IGNORECASE)
_SPEAKS = re.compile(rf"{_KEY}{_ROUND}[:–—-]", re.IGNORECASE)
_BARE = re.compile(rf"[\W_]{{0,12}}(?P<word>{_WORD})(?![\w])(?P<rest>.*)", re.IGNORECASE)
_HEADING = re.compile(
    r"#{1,4}[ \t]+(?:\d+[.)]?[ \t]+)?(?:(?:overall|final|review)[ \t]+)?verdict[ \t#:*]*", re.IGNORECASE
)
# what may follow an unconditional verdict: nothing, or a new clause
_CLAUSE = re.compile(r"[\s*_`✅❌⛔🔴🟢🟡!]*(?:$|[.,;:!–—(]|-{1,2}[ \t]|[*_`]{1,4}[ \t])")
_CHOICE = re.compile(r"→|->|\||[ \t]/[ \t]|\bor\b[ \t]+(?:approved?|reject|changes|request)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """`certain`: without a condition and without other words in the same clause."""

    number: int
    text: str
    verdict: Verdict | None
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Conclusion:
    verdict: Verdict | None = None
    # why there is no clear verdict
    unclear: str = ""


def verdict_lines(body: str) -> tuple[VerdictLine, ...]:
    """Lines that begin with `Verdict:` or `Status:`, and the first line below such a heading."""
    own, prose = short_lines(own_lines(body)), short_lines(prose_lines(body))
    found: list[VerdictLine] = []
    under = False
    for number, (mine, line) in enumerate(zip(own, prose, strict=True)):
        # a list item counts if it is about the verdict alone
        text = mine or (line if line.startswith(("- **", "* **")) and _SPEAKS.match(line) else "")
        if strict_verdict := verdict_of(mine):
            found.append(VerdictLine(number, text, strict_verdict, certain=True))
        elif match := _LINE.match(text):
            found.append(_read(number, text, match))
        elif _SPEAKS.match(text) and "status" not in (_SPEAKS.match(text) or {"key": ""})["key"].lower():
            found.append(VerdictLine(number, text, None))
        elif under and text and (match := _BARE.match(text)) and _is_emphatic(text, match):
            found.append(_read(number, text, match))
        under = bool(_HEADING.fullmatch(line)) or (under and not line)
    return tuple(found)


def _read(number: int, text: str, match: re.Match[str]) -> VerdictLine:
    word = re.sub(r"[ _-]+", " ", match["word"].lower())
    verdict = _MEANINGS[word]
    # automaker's `Status: REJECTED` sends the work back
    if verdict is Verdict.REJECTED and (match.groupdict().get("key") or "").lower() == "status":
        verdict = Verdict.CHANGES_REQUESTED
    rest = match["rest"]
    certain = bool(_CLAUSE.match(rest)) and not _CHOICE.search(rest)
    if verdict is Verdict.APPROVED:
        certain = certain and not is_conditional(rest)
    return VerdictLine(number, text, verdict, certain)


def _is_emphatic(text: str, match: re.Match[str]) -> bool:
    """Whether the word is in capitals, bold or alone: below the heading a sentence may begin with `pass` or `block`."""
    word = match["word"]
    return word.isupper() or f"**{word}" in text or not re.search(r"\w", match["rest"])


def conclude(body: str, front: Verdict | None) -> Conclusion:
    """The verdict, or why there is none. Front matter counts if no line of the body contradicts it."""
    lines = verdict_lines(body)
    certain = {line.verdict for line in lines if line.certain and line.verdict}
    leaning = {line.verdict for line in lines if line.verdict}
    unclear = next((line.text for line in lines if not line.certain), "")
    unknown = next((line.text for line in lines if line.verdict is None), "")
    every = leaning | ({front} if front else set())
    if {_sends_back(one) for one in every} == {True, False}:
        return Conclusion(unclear=", ".join(sorted(every)))
    if unknown and (front is None or front is Verdict.APPROVED):
        return Conclusion(unclear=unknown)
    if unclear and not (front and _agrees(front, lines)):
        return Conclusion(unclear=unclear)
    verdicts = certain | ({front} if front else set())
    if len(verdicts) > 1 and Verdict.CHANGES_REQUESTED in verdicts and Verdict.NEEDS_DISCUSSION not in verdicts:
        return Conclusion(Verdict.CHANGES_REQUESTED)
    if len(verdicts) > 1:
        return Conclusion(unclear=", ".join(sorted(verdicts)))
    return Conclusion(next(iter(verdicts), None))


def _agrees(front: Verdict, lines: Sequence[VerdictLine]) -> bool:
    """Whether unclear lines agree with the front matter: an approval must be unconditional."""
    doubtful = [line for line in lines if not line.certain and line.verdict is not None]
    if front is not Verdict.APPROVED:
        return True
    return not any(_CHOICE.search(line.text) or is_conditional(line.text) for line in doubtful)


def _sends_back(verdict: Verdict) -> bool:
    return verdict is not Verdict.APPROVED


def without_verdict(body: str) -> str:
    """The body without lines that contain only the verdict."""
    alone = {line.number for line in verdict_lines(body) if line.certain and _says_nothing_else(line.text)}
    lines = enumerate(body.split("\n"))
    return "\n".join(line for n, line in lines if n not in alone and not _HEADING.fullmatch(line.strip()))


def _says_nothing_else(text: str) -> bool:
    match = _LINE.match(text) or _BARE.match(text)
    return match is None or not re.search(r"\w", match["rest"])
