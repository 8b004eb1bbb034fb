"""Old markers, for reviewers that cannot be asked for a block: whole lines, outside quotes and code, one verdict only.

Read only where the user said `review.accept_unsigned: true`; such an approval still goes to a person.
"""

from __future__ import annotations

import re
from dataclasses import replace

from burnish.core.finding import Category, Remark, Severity
from burnish.core.review import Review, Verdict
from burnish.review.blocks import LONGEST_REPLY, prose_lines
from burnish.review.reading import category, clean, severity

_V = Verdict
_WORDS = {
    "APPROVED": _V.APPROVED,
    "CHANGES_REQUESTED": _V.CHANGES_REQUESTED,
    "NEEDS_REVISION": _V.CHANGES_REQUESTED,
    "NEEDS_DISCUSSION": _V.NEEDS_DISCUSSION,
    "REJECTED": _V.REJECTED,
}
# automaker's REJECTED sends the work back; its findings say what to fix
_BRACKETS = {"APPROVED": _V.APPROVED, "REJECTED": _V.CHANGES_REQUESTED}
_RUNNER = {"PASSED": _V.APPROVED, "FIXED": _V.CHANGES_REQUESTED, "FAILED": _V.CHANGES_REQUESTED}

_VERDICT = re.compile(r"(?:\*\*)?Verdict:(?:\*\*)?[ \t]*(?:\*\*)?([A-Z_]+)(?:\*\*)?")
_BRACKET = re.compile(r"(?:\*\*)?\[(APPROVED|REJECTED)\](?:\*\*)?")
_STATUS = re.compile(r"REVIEW_(PASSED|FIXED|FAILED)")
# a line that speaks of a verdict without being one
_HINT = re.compile(r"\bVerdict\b\s*:|\[(APPROVED|REJECTED)\]|\bREVIEW_(PASSED|FIXED|FAILED)\b", re.IGNORECASE)

_PLACE = r"(?:[ \t]*\((?P<file>[^()\s:][^():]*?)(?::(?P<line>\d{1,7})(?:-(?P<end>\d{1,7}))?)?\))?"
# S0: `MAJOR: No error handling in API call (api.py:45)`
_PLAIN = re.compile(
    rf"[-*]?[ \t]*(?P<severity>BLOCKER|CRITICAL|MAJOR|MINOR|ERROR|WARNING|INFO):[ \t]+(?P<title>.+?){_PLACE}"
)
# S3, prompt: `- **[CODE]** - error: title`
_BULLET = re.compile(
    rf"[-*][ \t]+\*\*\[(?P<category>\w+)\]\*\*[ \t]*[-–:]?[ \t]*(?P<severity>\w+):[ \t]*(?P<title>.+?){_PLACE}"
)
# S3, file: `### [ERROR] Compliance: title (path:45)`
_HEADING = re.compile(
    rf"#{{2,4}}[ \t]+\[(?P<severity>\w+)\][ \t]+(?P<category>[\w ]+?):[ \t]*(?P<title>.+?){_PLACE}"
)
_DETAIL = re.compile(r"[-*]?[ \t]*(?:\*\*)?(Description|File|Line|Suggestion)(?:\*\*)?:(?:\*\*)?[ \t]*(.*)")


def read_unsigned(text: str, *, source: str = "") -> Review:
    """What the old markers say; anything unclear is `changes_requested`. Never raises."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    if "\0" in text or len(text) > LONGEST_REPLY:
        return _unclear(text, "the reply cannot be read as text")
    lines = prose_lines(text)
    remarks = tuple(replace(remark, source=source) for remark in _remarks(lines))
    said = [verdict for line in lines if (verdict := _verdict_of(line.strip())) is not None]
    hints = sum(_HINT.search(line) is not None for line in lines)
    if len(said) != 1 or hints > 1:
        why = "no verdict line" if not hints else "not exactly one clear verdict line"
        return replace(_unclear(text, why), remarks=remarks)
    return Review(said[0], _summary(lines), remarks=remarks, signed=False)


def _unclear(text: str, why: str) -> Review:
    summary = clean(text).strip()[:2000] or "The reviewer said nothing."
    return Review(
        Verdict.CHANGES_REQUESTED, summary, notes=(f"{why}: counts as changes requested",), signed=False
    )


def _verdict_of(line: str) -> Verdict | None:
    if match := _VERDICT.fullmatch(line):
        # an unknown word after `Verdict:` is a verdict, and not a good one
        return _WORDS.get(match[1], Verdict.CHANGES_REQUESTED)
    if match := _BRACKET.fullmatch(line):
        return _BRACKETS[match[1]]
    if match := _STATUS.fullmatch(line):
        return _RUNNER[match[1]]
    return None


def _summary(lines: list[str]) -> str:
    """The paragraph under a heading `Summary`, else the prose without the verdict."""
    for at, line in enumerate(lines):
        if re.fullmatch(r"#{1,4}[ \t]+(Overall )?Summary\b.*", line.strip(), re.IGNORECASE):
            under = "\n".join(lines[at + 1 :]).strip()
            return clean(re.split(r"\n\s*\n|\n#", under, maxsplit=1)[0])[:2000]
    rest = [line for line in lines if _verdict_of(line.strip()) is None]
    return clean("\n".join(rest)).strip()[:2000]


def _remarks(lines: list[str]) -> list[Remark]:
    found: list[Remark] = []
    for line in (line.strip() for line in lines):
        match = next((m for pattern in (_HEADING, _BULLET, _PLAIN) if (m := pattern.fullmatch(line))), None)
        if match:
            found.append(_remark(match))
        elif found and (detail := _DETAIL.fullmatch(line)):
            found[-1] = _with_detail(found[-1], detail[1], detail[2])
        elif found and line and not line.startswith(("#", "---")) and not _HINT.search(line):
            found[-1] = replace(found[-1], description=f"{found[-1].description}\n{clean(line)}".strip())
        elif line.startswith("#"):
            # another section: what follows belongs to no finding
            return found + _remarks_after(lines, line)
    return found


def _remarks_after(lines: list[str], heading: str) -> list[Remark]:
    at = next(index for index, line in enumerate(lines) if line.strip() == heading)
    return _remarks(lines[at + 1 :])


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
