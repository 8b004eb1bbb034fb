"""Verdict lines of older tools, for reviewers that cannot write a block: a whole line, outside quotes and code.

Read only with `review.accept_unsigned: true`; such an approval still needs a person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from burnish.core.finding import Category, Remark, Severity
from burnish.core.review import Verdict
from burnish.review.reading import category, clean, severity
from burnish.review.refusal import is_conditional, plain_line, takes_back

_V = Verdict
_WORDS = {
    "APPROVED": _V.APPROVED,
    "CHANGES_REQUESTED": _V.CHANGES_REQUESTED,
    "NEEDS_REVISION": _V.CHANGES_REQUESTED,
    "NEEDS_DISCUSSION": _V.NEEDS_DISCUSSION,
    "REJECTED": _V.REJECTED,
    "REJECT": _V.REJECTED,
}
# automaker's REJECTED sends the work back; its findings say what to fix
_BRACKETS = {"APPROVED": _V.APPROVED, "REJECTED": _V.CHANGES_REQUESTED}
_RUNNER = {"PASSED": _V.APPROVED, "FIXED": _V.CHANGES_REQUESTED, "FAILED": _V.CHANGES_REQUESTED}

_VERDICT = re.compile(r"(?:\*\*)?Verdict:(?:\*\*)?[ \t]*(?:\*\*)?([A-Z_]+)(?:\*\*)?")
_BRACKET = re.compile(r"(?:\*\*)?\[(APPROVED|REJECTED)\](?:\*\*)?")
# automaker's prompt writes `**[APPROVED]** - words`
_REMARK = re.compile(r"(?P<verdict>.{1,60}?[\]*A-Z])[ \t]+[-\u2013\u2014][ \t]+(?P<words>\S.*)")
_STATUS = re.compile(r"REVIEW_(PASSED|FIXED|FAILED)")
# a line that mentions a verdict
HINT = re.compile(r"\bVerdict\b\s{0,9}:|\[(APPROVED|REJECTED)\]|\bREVIEW_(PASSED|FIXED|FAILED)\b", re.IGNORECASE)

# longer lines are not list entries, and would slow down the patterns below
MAX_LINE_LENGTH = 1000

_PLACE = r"(?:[ \t]*\((?P<file>[^()\s:][^():]*?)(?::(?P<line>\d{1,7})(?:-(?P<end>\d{1,7}))?)?\))?"
_TITLE = rf"[ \t]*(?P<title>.+?){_PLACE}"
_PATTERNS = (
    # automaker's file: `### [ERROR] Compliance: title (path:45)`
    re.compile(rf"#{{2,4}}[ \t]+\[(?P<severity>\w+)\][ \t]+(?P<category>[\w ]+?):{_TITLE}"),
    # automaker's prompt: `- **[CODE]** - error: title`
    re.compile(rf"[-*][ \t]+\*\*\[(?P<category>\w+)\]\*\*[ \t]*[-–:]?[ \t]*(?P<severity>\w+):{_TITLE}"),
    # spec-runner: `MAJOR: No error handling in API call (api.py:45)`
    re.compile(r"(?:[-*][ \t]+)?(?P<severity>BLOCKER|CRITICAL|MAJOR|MINOR|ERROR|WARNING|INFO):" + rf"[ \t]{_TITLE}"),
)
_DETAIL = re.compile(r"[-*]?[ \t]*(?:\*\*)?(Description|File|Line|Suggestion)(?:\*\*)?:(?:\*\*)?[ \t]*(.*)")


def verdict_of(line: str, may_fix: bool = False) -> Verdict | None:
    """The verdict of a line that contains nothing else, or continues with ` - words` that do not contradict it."""
    line = line.strip(" \t")
    if match := _REMARK.fullmatch(line[:MAX_LINE_LENGTH]):
        verdict = _bare_verdict(match["verdict"], may_fix)
        return verdict if verdict is not Verdict.APPROVED or _agrees(match["words"]) else None
    return _bare_verdict(line, may_fix)


def _agrees(words: str) -> bool:
    text = plain_line(words)
    return not is_conditional(text) and not takes_back(text)


def _bare_verdict(line: str, may_fix: bool) -> Verdict | None:
    if match := _VERDICT.fullmatch(line):
        # an unknown word after `Verdict:` does not approve
        return _WORDS.get(match[1], Verdict.CHANGES_REQUESTED)
    if match := _BRACKET.fullmatch(line):
        return _BRACKETS[match[1]]
    if match := _STATUS.fullmatch(line):
        is_fixed = may_fix and match[1] == "FIXED"
        return Verdict.APPROVED if is_fixed else _RUNNER[match[1]]
    return None


def summary_in(lines: list[str]) -> str:
    """The paragraph below a heading `Summary`, else the prose without the verdict."""
    for at, line in enumerate(lines):
        if re.fullmatch(r"#{1,4}[ \t]+(Overall )?Summary\b.*", line.strip(), re.IGNORECASE):
            under = "\n".join(lines[at + 1 :]).strip()
            return clean(re.split(r"\n\s*\n|\n#", under, maxsplit=1)[0])[:2000]
    rest = [_words_after(line) for line in lines]
    if not any(line.strip() and not line.lstrip().startswith("#") for line in rest):
        return ""  # only headings
    return clean("\n".join(rest)).strip()[:2000]


def _words_after(line: str) -> str:
    """The line without its verdict."""
    if verdict_of(line) is None:
        return line
    match = _REMARK.fullmatch(line.strip(" \t")[:MAX_LINE_LENGTH])
    return match["words"] if match else ""


def remarks_in(lines: list[str]) -> list[Remark]:
    """Findings in the list formats of older tools."""
    found: list[Remark] = []
    here = False  # whether the line belongs to the last finding
    for line in (line.strip() for line in lines if len(line) <= MAX_LINE_LENGTH):
        if match := next((m for pattern in _PATTERNS if (m := pattern.fullmatch(line))), None):
            found.append(_remark(match))
            here = True
        elif line.startswith(("#", "---")) or HINT.search(line):
            here = False
        elif here and (detail := _DETAIL.fullmatch(line)):
            found[-1] = _with_detail(found[-1], detail[1], detail[2])
        elif here and line:
            found[-1] = _with_detail(found[-1], "Description", line)
    return found


def _remark(match: re.Match[str]) -> Remark:
    groups = match.groupdict()
    notes: list[str] = []
    return Remark(
        category=category(groups["category"], notes) if groups.get("category") else Category.CODE,
        severity=severity(groups["severity"], notes) if groups.get("severity") else Severity.ERROR,
        title=clean(groups["title"]).strip(),
        file=(groups["file"] or "").strip() or None,
        line=int(groups["line"]) or None if groups["line"] else None,
        end_line=int(groups["end"]) or None if groups["end"] else None,
    )


def _with_detail(remark: Remark, key: str, value: str) -> Remark:
    value = clean(value).strip()
    if key == "File" and value:
        path, _, line = value.strip("`").partition(":")
        return replace(remark, file=path, line=int(line[:7]) if line.isdecimal() else remark.line)
    if key == "Line":
        return replace(remark, line=int(value[:7]) or None) if value.isdecimal() else remark
    if key == "Suggestion":
        return replace(remark, suggestion=value)
    return replace(remark, description=f"{remark.description}\n{value}".strip())


def short_lines(lines: Sequence[str]) -> list[str]:
    """The lines stripped; a line over MAX_LINE_LENGTH becomes blank."""
    return [line.strip() if len(line) <= MAX_LINE_LENGTH else "" for line in lines]
