"""Lines of a review that a person wrote in Markdown: verdict, findings, rulings, what is met and what is not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from burnish.core.criteria import asked_criterion, criterion_key
from burnish.core.finding import Category, Remark, Severity
from burnish.core.review import Compliance, Ruling, RulingState
from burnish.review.blocks import prose_lines
from burnish.review.denying_notes import denies
from burnish.review.external.findings import PLACE
from burnish.review.legacy_markers import LONGEST_LINE, remarks_in, short_lines
from burnish.review.reading import clean, severity

_FINDING = re.compile(r"#{2,4}[ \t]+\[\w+\][ \t]+[\w ]+?:.+")
# the number that burnish's own artifacts put before it
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
# what is said of a place that is right
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
# something is called grave: in brackets, or as the first word in bold
_ALARM = re.compile(
    rf"(?:\[|\*\*|__)[^\w\n]{{0,4}}{_GRAVE}(?:[ \t]+(?:issue|bug|finding|problem|error)s?)?"
    r"[ \t]*(?:\]|\*\*|__|[:–—]|[ \t]-|[ \t](?:in|at)\b)",
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
# A note that limits or denies what stands before it: `F1: resolved only partly`, `F1: resolved? No.`
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
    """Without the lines of a plain list of places."""
    prose = short_lines(prose_lines(body))
    lines = zip(body.split("\n"), prose, strict=True)
    return "\n".join(line for line, mine in lines if not (_BULLET.fullmatch(mine) or _as_marked(mine)))


def sections(body: str) -> list[str]:
    """What stands under each heading that is a finding, code blocks and all."""
    lines, prose = body.split("\n"), [line.strip() for line in prose_lines(body)]
    starts = [n for n, line in enumerate(prose) if len(line) <= LONGEST_LINE and _FINDING.fullmatch(line)]
    found = []
    for start in starts:
        ends = (n for n in range(start + 1, len(prose)) if prose[n].startswith(("#", "---")))
        inside = range(start + 1, next(ends, len(prose)))
        found.append("\n".join(lines[n] for n in inside if not _PLACED.fullmatch(prose[n])).strip())
    return found


def bullets(body: str, *, approving: bool = False) -> tuple[Remark, ...]:
    """`- src/a.py:45: what is wrong`, as people write it. Beside an approval, and under a heading on what was verified,
    a place without a level is evidence.
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
    """A place in a list is a finding of its own, also below the heading of another one."""
    return None if _as_marked(line) or remarks_in([line]) else _BULLET.fullmatch(line)


def without_bullets(body: str) -> str:
    lines = zip(body.split("\n"), short_lines(prose_lines(body)), strict=True)
    return "\n".join(line for line, mine in lines if not _as_bullet(mine))


def marked(body: str) -> tuple[Remark, ...]:
    """`- [error] src/a.py:45 what is wrong`: how bad it is first, in brackets or bold."""
    return tuple(_remark(match) for line in short_lines(prose_lines(body)) if (match := _as_marked(line)))


def _as_marked(line: str) -> re.Match[str] | None:
    match = _MARKED.fullmatch(line)
    if match is None or remarks_in([line]) or not (match["lead"] or match["place"]):
        return None
    said = match["place"] or (re.search(r"\w", match["text"]) and not _NOTHING.fullmatch(match["text"]))
    return match if said else None


def _remark(match: re.Match[str]) -> Remark:
    level = severity(re.sub(r"\W|_", "", match["mark"]), [])
    words = clean(match["text"]).strip() or clean(match["file"] or "").strip()
    # `[error] what is wrong (src/a.py:45)`: the first place in the text, where none stands before it
    place = match if match["file"] else PLACE.search(match["text"])
    found = Remark(Category.CODE, level, words[:200], words)
    if place is None:
        return found
    start, end = (int(place[key]) or None if place[key] else None for key in ("line", "end"))
    return replace(found, file=place["file"], line=start, end_line=end)


def numberless(body: str) -> str:
    """`### F1 [ERROR] …` as `### [ERROR] …`: the ledger gives the numbers."""
    lines = zip(body.split("\n"), prose_lines(body), strict=True)
    return "\n".join(_NUMBERED.sub(r"\1", line, count=1) if mine else line for line, mine in lines)


def unread_alarm(body: str) -> str:
    """A line that calls something grave, and from which no finding was read."""
    # what is folded away in raw HTML is not read, and still said
    unfolded = prose_lines(_FOLD.sub("", body))
    for mine, line in zip(prose_lines(body), unfolded, strict=True):
        for text in dict.fromkeys((mine, line)):
            read = mine and len(mine) <= LONGEST_LINE and (_as_marked(mine.strip()) or remarks_in([mine]))
            if not read and any(_alarming(found) for found in _ALARM.finditer(_SPAN.sub(_unquoted, text))):
                return text.strip()[:200]
    return ""


def _unquoted(span: re.Match[str]) -> str:
    """Code that is named is no word of the reviewer; a mark that is only dressed as code is."""
    return span[1] if re.fullmatch(rf"\W*{_GRAVE}\W*", span[1], re.IGNORECASE) else ""


def _alarming(found: re.Match[str]) -> bool:
    """`No **major** issues` and `**Critical**: none` say that all is well."""
    before, after = found.string[: found.start()], found.string[found.end() :]
    return not _DENIED.search(before) and not _NOTHING.fullmatch(after)


def rulings(body: str, ids: Sequence[str]) -> tuple[Ruling, ...]:
    """`F1: resolved`, `- F2 still open: …`. Open: twice and differently, or taken back by its note."""
    found: dict[str, Ruling] = {}
    for line in short_lines(prose_lines(body)):
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
    """Findings that are ruled on and that nobody knows: a slip of the pen, which its writer is to hear of."""
    said = (match["id"].upper() for line in short_lines(prose_lines(body)) if (match := _RULING.fullmatch(line)))
    return tuple(dict.fromkeys(id for id in said if id not in ids))


def compliance(body: str, criteria: Sequence[str]) -> tuple[Compliance, ...]:
    """The lists under `Compliant` and `Non-Compliant`."""
    judged: dict[str, Compliance] = {}
    met: bool | None = None
    for line in short_lines(prose_lines(body)):
        if line.startswith("#"):
            named = re.fullmatch(r"#{2,5}\W*(non[- ])?compliant\b.{0,60}", line, re.IGNORECASE)
            met = named[1] is None if named else None
        elif met is not None and (item := re.fullmatch(r"[-*][ \t]+(?:\[[ x]\][ \t]+)?(.+)", line)):
            text = asked_criterion(clean(item[1]), criteria)
            key = criterion_key(text)
            if key and not (key in judged and judged[key].met is False):
                judged[key] = Compliance(text, met)
    return tuple(judged.values())
