"""Reads lines of a Markdown review: findings, rulings and compliance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from burnish.core.criteria import asked_criterion, criterion_key
from burnish.core.finding import Category, Remark, Severity
from burnish.core.review import Compliance, Ruling, RulingState
from burnish.review.blocks import line_pieces, prose_lines
from burnish.review.external.findings import PLACE
from burnish.review.legacy_markers import MAX_LINE_LENGTH, remarks_in, short_lines
from burnish.review.reading import clean, severity
from burnish.review.refusal import denies

_FINDING = re.compile(r"#{2,4}[ \t]+\[\w+\][ \t]+[\w ]+?:.+")
# the id in burnish's own artifacts
_NUMBERED = re.compile(r"(#{2,4}[ \t]+)\**F\d{1,7}\**:?[ \t]+(?=\[)")
_PLACED = re.compile(r"\*\*(?:File|Line)\*\*:.*")
_BULLET = re.compile(
    r"[-*][ \t]+(?:\[[ x]\][ \t]+)?[`(]?(?P<file>[^\s:`()]*[./][^\s:`()]*):(?P<line>\d{1,7})(?:[-–](?P<end>\d{1,7}))?"
    r"[`)]?[ \t]*[:–—-]?[ \t]+(?:\**(?P<severity>blocker|critical|major|error|warning|minor|info|nit)\**:[ \t]+)?"
    r"(?P<text>.+)",
    re.IGNORECASE,
)
_EVIDENCE = re.compile(
    r"verif|confirm|evidence|works|strength|positive|resolved|fixed|scope|reviewed|checked|context|passed|prior|previous",
    re.IGNORECASE,
)
# phrases about code that is correct
_WELL = re.compile(
    r"\W*(?:is |are |was |were |now |and\b|still )*"
    r"(?:correct|unchanged|now\b|and\b|verified|confirmed|matches|reads\b|fine|ok\b|good)",
    re.IGNORECASE,
)
_LEVEL = r"(?:blocker|critical|major|error|warning|minor|info|nit)"
# `- [error] a.py:1 …`, `1. **error** `a.py:1` …`, `### **[ERROR]** …`
_MARKED = re.compile(
    r"(?P<lead>(?:[-*+]|\d{1,3}[.)]|#{1,6})[ \t]+)?(?:\[[ x]\][ \t]+)?(?:\**F\d{1,7}\**:?[ \t]+)?"
    rf"(?P<mark>(?:\*\*|__)?\[{_LEVEL}\]:?(?:\*\*|__)?|(?:\*\*|__){_LEVEL}:?(?:\*\*|__))[ \t]*[:–—-]?[ \t]*"
    r"(?P<place>[`(]?(?P<file>[^\s:`()]+):(?P<line>\d{1,7})(?:[-–](?P<end>\d{1,7}))?[`)]?[ \t]*[:–—-]?[ \t]*)?"
    r"(?P<text>.*)",
    re.IGNORECASE,
)
_GRAVE = r"(?:errors?|criticals?|blockers?|blocking|majors?)"
# a serious level, in brackets or as the first word in bold
_ALARM = re.compile(
    rf"(?:\[|\*\*|__)[^\w\n]{{0,4}}{_GRAVE}(?:[ \t]+(?:issue|bug|finding|problem|error)s?)?"
    r"[ \t]*(?:\]|\*\*|__|[:–—]|[ \t]-|[ \t](?:in|at)\b)"
    # `_⚠️ Potential issue_ | _🔴 Critical_`, as review bots label a finding
    rf"|(?<![\w*])[_*][^\w\s*]{{1,3}}[ \t]?{_GRAVE}[_*](?!\w)",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|zero|0|without|without any)[ \t]+\Z", re.IGNORECASE)
_NOTHING = re.compile(r"[\W_]*(?:none|0|no|nothing|n/a)(?:[ \t]+found)?[\W_]*", re.IGNORECASE)
_FOLD = re.compile(r"</?(?:details|summary|div|section|p|ul|ol|li|table|tr|td)\b[^<>\n]*>", re.IGNORECASE)
_SPAN = re.compile(r"`+([^`\n]*)`+")
_RULING = re.compile(
    r"(?:[-*][ \t]+)?\**(?P<id>F[1-9]\d{0,6})\**:?\**[ \t]*[:–—-]?[ \t]*(?:is[ \t]+)?"
    r"(?P<state>resolved|fixed|still open|open|not fixed|not resolved|invalid|withdrawn)\b[.:,;–— \t-]*(?P<note>.*)",
    re.IGNORECASE,
)
# a note that limits or denies the state before it: `F1: resolved only partly`, `F1: resolved? No.`
_TAKEN_BACK = re.compile(
    r"\W*\?|\W*(?:no|if|once|unless|provided|when)\b"
    r"|.*(?:\b(?:partly|partially|in part|half|reopen\w*|still (?:there|open|fails?|broken|present|wrong))\b|\u2192|->)"
    r"|.*\bnot (?:really|quite|fully|entirely|completely|yet)\b",
    re.IGNORECASE,
)
_STATES = {
    **dict.fromkeys(("resolved", "fixed"), RulingState.RESOLVED),
    **dict.fromkeys(("invalid", "withdrawn"), RulingState.INVALID),
}


def without_findings(body: str) -> str:
    """The body without lines that are findings in a list of places."""
    prose = short_lines(prose_lines(body))
    lines = zip(body.split("\n"), prose, strict=True)
    return "\n".join(line for line, mine in lines if not (_BULLET.fullmatch(mine) or _as_marked(mine)))


def sections(body: str) -> list[str]:
    """The text below each heading that is a finding, including code blocks."""
    lines, prose = body.split("\n"), [line.strip() for line in prose_lines(body)]
    starts = [n for n, line in enumerate(prose) if len(line) <= MAX_LINE_LENGTH and _FINDING.fullmatch(line)]
    found = []
    for start in starts:
        ends = (n for n in range(start + 1, len(prose)) if prose[n].startswith(("#", "---")))
        inside = range(start + 1, next(ends, len(prose)))
        found.append("\n".join(lines[n] for n in inside if not _PLACED.fullmatch(prose[n])).strip())
    return found


def bullet_remarks(body: str, *, approving: bool = False) -> tuple[Remark, ...]:
    """Findings like `- src/a.py:45: what is wrong`.

    In an approval, and below a heading about verified facts, a place without a level is evidence, not a finding.
    """
    found = []
    evidence = approving
    for line in short_lines(prose_lines(body)):
        if line.startswith("#"):
            evidence = approving or _EVIDENCE.search(line) is not None
        match = _as_bullet(line)
        if match and (match["severity"] or not (evidence or _WELL.match(match["text"]))):
            words = clean(match["text"]).strip()
            level = severity(match["severity"], []) if match["severity"] else Severity.ERROR
            end = int(match["end"]) if match["end"] else None
            found.append(
                Remark(
                    Category.CODE, level, words[:200], words, file=match["file"], line=int(match["line"]), end_line=end
                )
            )
    return tuple(found)


def _as_bullet(line: str) -> re.Match[str] | None:
    """The match if the line is a list item with a place, and no other form of a finding."""
    return None if _as_marked(line) or remarks_in([line]) else _BULLET.fullmatch(line)


def without_bullets(body: str) -> str:
    lines = zip(body.split("\n"), short_lines(prose_lines(body)), strict=True)
    return "\n".join(line for line, mine in lines if not _as_bullet(mine))


def marked_remarks(body: str) -> tuple[Remark, ...]:
    """Findings like `- [error] src/a.py:45 what is wrong`: the level first, in brackets or bold."""
    return tuple(_remark(match) for line in short_lines(prose_lines(body)) if (match := _as_marked(line)))


def _as_marked(line: str) -> re.Match[str] | None:
    match = _MARKED.fullmatch(line)
    if match is None or remarks_in([line]) or not (match["lead"] or match["place"]):
        return None
    has_text = match["place"] or (re.search(r"\w", match["text"]) and not _NOTHING.fullmatch(match["text"]))
    return match if has_text else None


def _remark(match: re.Match[str]) -> Remark:
    level = severity(re.sub(r"\W|_", "", match["mark"]), [])
    words = clean(match["text"]).strip() or clean(match["file"] or "").strip()
    # `[error] what is wrong (src/a.py:45)`: without a place at the start, the first one in the text counts
    place = match if match["file"] else PLACE.search(match["text"])
    found = Remark(Category.CODE, level, words[:200], words)
    if place is None:
        return found
    start, end = (int(place[key]) or None if place[key] else None for key in ("line", "end"))
    return replace(found, file=place["file"], line=start, end_line=end)


def without_ids(body: str) -> str:
    """`### F1 [ERROR] …` as `### [ERROR] …`, because the ledger assigns ids."""
    lines = zip(body.split("\n"), prose_lines(body), strict=True)
    return "\n".join(_NUMBERED.sub(r"\1", line, count=1) if mine else line for line, mine in lines)


def unread_alarm(body: str) -> str:
    """A line that states a serious level, but from which no finding was read; "" if there is none."""
    # text inside raw HTML is not read as a finding, but it counts here
    unfolded_lines = prose_lines(_FOLD.sub("", body))
    for mine, line in zip(prose_lines(body), unfolded_lines, strict=True):
        for text in dict.fromkeys((mine, line)):
            read = mine and len(mine) <= MAX_LINE_LENGTH and (_as_marked(mine.strip()) or remarks_in([mine]))
            if not read and any(_alarming(found) for found in _ALARM.finditer(_SPAN.sub(_unquoted, text))):
                return text.strip()[:200]
    return ""


def _unquoted(span: re.Match[str]) -> str:
    """ "" for a code span, which is not the reviewer's own word, unless it contains only a level."""
    return span[1] if re.fullmatch(rf"\W*{_GRAVE}\W*", span[1], re.IGNORECASE) else ""


def _alarming(found: re.Match[str]) -> bool:
    """False for `No **major** issues` and `**Critical**: none`."""
    before, after = found.string[: found.start()], found.string[found.end() :]
    return not _DENIED.search(before) and not _NOTHING.fullmatch(after)


def rulings(body: str, ids: Sequence[str]) -> tuple[Ruling, ...]:
    """Rulings like `F1: resolved` or `- F2 still open: …`. Contradicting ones count as open."""
    found: dict[str, Ruling] = {}
    lines = prose_lines(body)
    for line in short_lines([*lines, *line_pieces(lines)]):
        match = _RULING.fullmatch(line)
        id_ = match["id"].upper() if match else ""
        if match and id_ in ids:
            state = _STATES.get(match["state"].lower(), RulingState.OPEN)
            withdrawn = state is RulingState.INVALID
            if _TAKEN_BACK.match(match["note"]) or denies(match["note"], withdrawn=withdrawn):
                state = RulingState.OPEN
            differs = id_ in found and found[id_].state is not state
            found[id_] = Ruling(id_, RulingState.OPEN if differs else state, clean(match["note"]).strip())
    return tuple(found.values())


def unknown_rulings(body: str, ids: Sequence[str]) -> tuple[str, ...]:
    """Ids with a ruling that are not in `ids`, e.g. because of a typo."""
    ids_in_text = (match["id"].upper() for line in short_lines(prose_lines(body)) if (match := _RULING.fullmatch(line)))
    return tuple(dict.fromkeys(id for id in ids_in_text if id not in ids))


def unknown_open(body: str, ids: Sequence[str]) -> str:
    """The first id with a ruling that it is open that is not in `ids`; "" if there is none."""
    unknown_ids = unknown_rulings(body, ids)
    return next((one.id for one in rulings(body, unknown_ids) if one.state is RulingState.OPEN), "")


def compliance(body: str, criteria: Sequence[str]) -> tuple[Compliance, ...]:
    """The lists below the headings `Compliant` and `Non-Compliant`."""
    found: dict[str, Compliance] = {}
    is_met: bool | None = None
    for line in short_lines(prose_lines(body)):
        if line.startswith("#"):
            heading = re.fullmatch(r"#{2,5}\W*(non[- ])?compliant\b.{0,60}", line, re.IGNORECASE)
            is_met = heading[1] is None if heading else None
        elif is_met is not None and (item := re.fullmatch(r"[-*][ \t]+(?:\[[ x]\][ \t]+)?(.+)", line)):
            text = asked_criterion(clean(item[1]), criteria)
            key = criterion_key(text)
            if key and not (key in found and found[key].met is False):
                found[key] = Compliance(text, is_met)
    return tuple(found.values())
