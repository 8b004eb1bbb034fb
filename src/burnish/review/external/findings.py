"""Reads findings from a Markdown review: from headings, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from burnish.core.finding import Category, Remark, Severity
from burnish.review.blocks import prose_lines
from burnish.review.reading import clean

MAX_DESCRIPTION_LENGTH = 8000
# a finding may be one long line
MAX_PARAGRAPH_LENGTH = 4000
_GRAVE = r"critical|blockers?|blocking|must[-_ ]?fix|major|severe|fatal|p0|p1|high|error|rejection"
_MEDIUM = r"medium|moderate|warning|should[-_ ]?fix|p2|minor"
_SLIGHT = (
    r"low|nits?|nitpicks?|trivial|info|p3|p4|suggestions?|optional|non[- ]?blocking|observations?|nice[- ]to[- ]have"
)
_LEVEL = re.compile(
    rf"(?<![\w-])(?:(?P<slight>{_SLIGHT})|(?P<grave>{_GRAVE})|(?P<medium>{_MEDIUM}))(?!\w|[- ](?:level|risk))",
    re.IGNORECASE,
)
_HEADING = re.compile(r"(?P<marks>#{1,6})[ \t]+(?P<text>.+?)[ \t#]*")
_SECTION = re.compile(
    r"\b(?:findings?|issues?|problems?|defects?|bugs?|blockers?|concerns?|gaps?|violations?"
    r"|required (?:changes|fixes|remediation)"
    r"|changes (?:requested|required|needed)|must[- ]fix|action items|to fix|what (?:must|needs to)"
    r"|rejection reasons?)\b",
    re.IGNORECASE,
)
# words for findings in a heading, beside their level: `Improvement — medium`
_KIND = re.compile(
    rf"{_SECTION.pattern}|\b(?:improvements?|enhancements?|risks?|recommendations?|code quality|security|performance"
    r"|style|tests?|testing|documentation|docs|maintainability)\b",
    re.IGNORECASE,
)
# a section about settled findings, or about what is good
_SETTLED = re.compile(
    r"(?<!not )(?<!never )(?<!to be )\b(?:resolved|fixed|closed|addressed|verified|passed|passes|pass|confirmed"
    r"|dismissed|withdrawn|none|no (?:\w+ ){0,2}(?:findings|issues|blockers|problems|concerns|defects)|what works"
    r"|strengths?"
    r"|positives?|good|prior|previous|earlier|out of scope|non-issues|false positives?|not (?:a|an) (?:issue|bug)"
    r"|accepted|n/a)\b|✅|✓|~~",
    re.IGNORECASE,
)
# the state of a finding is at the start or end of its title; elsewhere such a word belongs to the problem
_STATE = r"(?:already[ \t]+)?(?:resolved|fixed|closed|addressed|withdrawn|dismissed|done|pass(?:ed)?|none|n/a)"
_SETTLED_TITLE = re.compile(
    rf"^\W*{_STATE}\b\W|[(\[→:–—-][ \t]*\W{{0,4}}{_STATE}\b[^()\[\]]{{0,40}}[)\]]?\W*$|✅|~~", re.IGNORECASE
)
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ x]\][ \t]+)?(?P<text>\S.*)")
# `**Issue 1**: …` as a paragraph of its own
_PARAGRAPH = re.compile(
    rf"\*\*(?:{_GRAVE}|finding|issue|bug|problem|defect)[ \t#-]*\d{{1,3}}\b[^*]{{0,200}}\*\*.*", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"[\W_]{0,4}(?:\d{1,3}[.):]|#\d{1,3}\b|(?:finding|issue|blocker|bug|problem|defect)[ \t#-]*\d{1,3}"
    r"|[A-Z]{1,8}-?\d{1,3})"
    r"[ \t.:)–—-]"
)
_MARK = re.compile(rf"[*_`]{{0,3}}\[(?:{_GRAVE}|{_MEDIUM}|{_SLIGHT})\]", re.IGNORECASE)
# number and level before a title
_LEAD = re.compile(
    rf"^(?:\d{{1,3}}[.)][ \t]+)?"
    rf"(?:[*_`]{{0,3}}\[(?:{_GRAVE}|{_MEDIUM}|{_SLIGHT})\b[^\]\n]{{0,30}}\][*_`]{{0,3}}[ \t:–—-]*)?",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"[\W_]{0,4}(?:finding|issue|blocker|bug|problem|defect)[ \t#-]*\d{1,3}\b", re.IGNORECASE)
_FIELD = re.compile(
    r"[-*\s]*\*\*(?P<key>severity|priority|level|file|files|location|where|status)(?::\*\*|\*\*:)[ \t]*(?P<value>.+)",
    re.IGNORECASE,
)
PLACE = re.compile(
    r"(?<![\w./@+-])(?P<file>[\w@+-][\w./@+-]{0,200}\.[A-Za-z]\w{0,9}):L?(?P<line>\d{1,6})(?:[-–]L?(?P<end>\d{1,6}))?"
)
_FILE = re.compile(r"[`\[(]*(?P<file>[\w.@+-]+(?:/[\w.@+-]+)*\.[A-Za-z]\w{0,9})[`\])]*")


@dataclass(slots=True)
class Draft:
    """A finding while its lines are collected."""

    title: str
    severity: Severity
    number: int
    level: int
    grave: bool
    lines: list[str] = field(default_factory=list)
    settled: bool = False
    place: re.Match[str] | None = None
    file: str | None = None


def listed_findings(body: str, *, approving: bool) -> tuple[Remark, ...]:
    """The findings of the review. `approving`: only items with a level count; numbered ones may be evidence."""
    drafts = [draft for draft in _drafts(body, approving=approving) if not draft.settled]
    return tuple(_remark(draft) for draft in drafts)


def unread_grave(body: str, remarks: Sequence[Remark]) -> str:
    """The title of a serious finding that is missing in `remarks`; "" if there is none."""
    titles = [remark.title for remark in remarks if remark.title]
    drafts = (draft for draft in _drafts(body, approving=True) if draft.grave and not draft.settled)
    unread = (one.title for one in drafts if not any(title in one.title or one.title in title for title in titles))
    return next(unread, "")


def _drafts(body: str, *, approving: bool) -> list[Draft]:
    whole, prose = body.split("\n"), prose_lines(body)
    found: list[Draft] = []
    sections: list[tuple[int, str]] = []
    current: Draft | None = None
    table: list[str] = []
    for number, (raw, line) in enumerate(zip(whole, prose, strict=True)):
        text = line.strip() if len(line) <= MAX_PARAGRAPH_LENGTH else ""
        heading = _HEADING.fullmatch(text)
        if heading:
            level = len(heading["marks"])
            sections = [one for one in sections if one[0] < level]
            inside = _inside_findings(sections)
            if current is not None and level <= current.level:
                current = None
            follows = _list_follows(prose[number + 1 : number + 4])
            draft = _from_heading(heading["text"], number, level, inside, approving=approving, list_follows=follows)
            if draft is not None:
                found.append(draft)
                current = draft
            elif current is not None:
                current.lines.append(raw)
            sections.append((level, heading["text"]))
            table = []
            continue
        cells = _cells(text)
        if cells:
            table = table or cells
            if draft := _from_row(table, cells, number, sections, approving=approving):
                found.append(draft)
            elif current is not None:
                current.lines.append(raw)
            continue
        table = []
        item = _ITEM.fullmatch(line) if text else None
        if item and not item["indent"] and (current is None or current.level == 7 or _MARK.match(item["text"])):
            draft = _from_item(item["text"], number, sections, approving=approving)
            if draft is not None:
                found.append(draft)
            current = draft
        elif _PARAGRAPH.fullmatch(text) and (current is None or current.level >= 6):
            current = _from_paragraph(text, number, approving=approving)
            found += [current] if current else []
        elif (
            current is not None and current.level == 7 and text and not raw.startswith((" ", "\t")) and not _lazy(found)
        ):
            current = None
        if current is not None and current.number != number:
            current.lines.append(raw)
            _note_field(current, text)
    return found


def _lazy(found: list[Draft]) -> bool:
    """Whether this line continues the last list item without an indent."""
    return bool(found) and not (found[-1].lines and not found[-1].lines[-1].strip())


def _inside_findings(sections: list[tuple[int, str]]) -> str:
    """The nearest heading above that announces findings; "" if a nearer one says that they are settled."""
    for _, text in reversed(sections):
        if _SETTLED.search(text):
            return ""
        if _SECTION.search(text) or _LEVEL.search(text):
            return text
    return ""


def _level_of(text: str) -> tuple[Severity, bool] | None:
    found = _LEVEL.search(text)
    if found is None:
        return None
    if found["grave"]:
        return Severity.ERROR, True
    return (Severity.WARNING if found["medium"] else Severity.INFO), False


def _list_follows(lines: Sequence[str]) -> bool:
    """Whether the first line with text is a list item."""
    first = next((line for line in lines if line.strip()), "")
    return len(first) <= MAX_PARAGRAPH_LENGTH and _ITEM.fullmatch(first) is not None


def _from_heading(
    text: str, number: int, level: int, inside: str, *, approving: bool, list_follows: bool
) -> Draft | None:
    level_match = _LEVEL.search(text)
    number_match = _NUMBERED.match(text)
    title = _title(text)
    # a heading that is only a level or `Findings` announces findings, but is not one
    announcing = _KIND if list_follows else _SECTION
    alone = not re.search(r"[a-z]{3}", re.sub(announcing, "", re.sub(_LEVEL, "", title)), re.IGNORECASE)
    before = text[: level_match.start()] if level_match else ""
    level_first = level_match and re.match(
        r"[\W_\d]{0,6}(?:(?:[A-Z]{1,8}-?|Issue |Finding )\d{1,3}[\W_]{0,4})?[\[(]?$", before
    )
    level_last = level_match and re.search(
        rf"[(\[—–-][ \t]*(?:severity:?[ \t]*)?{re.escape(level_match[0])}[\w ,-]*[)\]]?$", text
    )
    if alone or level < 2 or not (level_first or level_last or (number_match and inside) or _LABELLED.match(text)):
        return None
    if approving and not (level_first or level_last):
        return None
    severity, grave = _level_of(text) or _level_of(inside) or (Severity.ERROR, False)
    return Draft(title, severity, number, level, grave, settled=bool(_SETTLED_TITLE.search(text)))


def _from_item(text: str, number: int, sections: list[tuple[int, str]], *, approving: bool) -> Draft | None:
    inside, mark = _inside_findings(sections), _MARK.match(text)
    level = _level_of(inside) if inside else None
    if not mark and (not inside or (approving and level is None)):
        return None
    bold = re.match(rf"\*\*[\W_]{{0,3}}(?:{_GRAVE}|{_MEDIUM}|{_SLIGHT})\b", text, re.IGNORECASE)
    own = _level_of(mark[0]) if mark else _level_of(bold[0]) if bold else None
    severity, grave = own or level or (Severity.ERROR, False)
    title = _title(text)
    if not re.search(r"[A-Za-z]{3}", title) or re.fullmatch(r"\W*(?:none|nothing|n/a)\b.*", title, re.IGNORECASE):
        return None
    is_settled = bool(_SETTLED_TITLE.search(text)) or any(_SETTLED.search(heading) for _, heading in sections)
    draft = Draft(title, severity, number, 7, grave, settled=is_settled)
    draft.lines.append(text)
    draft.place = PLACE.search(text)
    return draft


def _from_paragraph(text: str, number: int, *, approving: bool) -> Draft | None:
    lead = text[: text.index("**", 2)]
    level = _level_of(lead)
    if approving and level is None:
        return None
    severity, grave = level or (Severity.ERROR, False)
    title = _title(re.sub(r"^\*\*[^*]{0,24}\*\*[ \t:–—-]*", "", text)) or _title(text)
    # the text continues below, also in lists and without an indent, until the next finding or heading
    return Draft(title, severity, number, 6, grave, lines=[text], place=PLACE.search(text))


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip("|").split("|")] if text.startswith("|") and text.count("|") > 2 else []


def _from_row(
    header: list[str], cells: list[str], number: int, sections: list[tuple[int, str]], *, approving: bool
) -> Draft | None:
    """A finding from a table row, if the table has a column for the level, or is in a section of findings."""
    if cells == header or all(re.fullmatch(r":?-+:?", cell) for cell in cells) or len(cells) != len(header):
        return None
    level_at = _column(header, r"severity|priority|level")
    text_at = _column(header, r"finding|issue|problem|description|title|summary|defect|bug")
    if text_at is None or (level_at is None and (approving or not _inside_findings(sections))):
        return None
    level = _level_of(cells[level_at]) if level_at is not None else (Severity.ERROR, False)
    rest = " ".join(cell for at, cell in enumerate(cells) if at != text_at)
    if level is None or not re.search(r"[A-Za-z]{3}", cells[text_at]):
        return None
    is_settled = bool(_SETTLED.search(rest) or re.fullmatch(r"\W*(?:none|nothing)\b.*", cells[text_at], re.IGNORECASE))
    draft = Draft(_title(cells[text_at]), level[0], number, 7, level[1], settled=is_settled)
    pairs = zip(header, cells, strict=True)
    draft.lines = [f"{key}: {cell}" for key, cell in pairs if cell and cell not in ("-", "—")]
    draft.place = PLACE.search(" ".join(cells))
    file_at = _column(header, r"file|location|path|where|place")
    if draft.place is None and file_at is not None and (file := _FILE.fullmatch(cells[file_at])):
        draft.file = file["file"]
    return draft


def _column(header: list[str], pattern: str) -> int | None:
    return next(
        (n for n, cell in enumerate(header) if re.fullmatch(rf"\W*(?:{pattern})s?\W*", cell, re.IGNORECASE)), None
    )


def _note_field(draft: Draft, text: str) -> None:
    found = _FIELD.fullmatch(text)
    if found is None:
        # without a field for the place, the first place in the text counts
        draft.place = draft.place or PLACE.search(text)
        return
    key, value = found["key"].lower(), found["value"]
    if key in ("severity", "priority", "level") and (level := _level_of(value)):
        draft.severity, draft.grave = level
    elif key == "status":
        draft.settled = draft.settled or bool(_SETTLED.search(value))
    elif place := PLACE.search(value):
        draft.place = place
    elif file := _FILE.search(value):
        draft.file, draft.place = file["file"], None


def _title(text: str) -> str:
    text = _LEAD.sub("", text)
    bold = re.match(r"\*\*(.{8,160}?)\*\*", text)
    words = bold[1] if bold else re.split(r"(?<=[a-z0-9)`])[.;][ \t]", text, maxsplit=1)[0]
    return clean(re.sub(r"\*\*|__", "", words)).strip(" \t:–—-")[:200]


def _remark(draft: Draft) -> Remark:
    description = clean("\n".join(draft.lines)).strip()[:MAX_DESCRIPTION_LENGTH] or draft.title
    remark = Remark(Category.CODE, draft.severity, draft.title, description, file=draft.file)
    if draft.place is None:
        return remark
    end = int(draft.place["end"]) if draft.place["end"] else None
    return replace(remark, file=draft.place["file"], line=int(draft.place["line"]) or None, end_line=end)
