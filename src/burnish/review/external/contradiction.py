"""Finds text of an approving Markdown review that rejects the change."""

from __future__ import annotations

import re

from burnish.review.blocks import indented_lines, shown_lines, unclosed_fence
from burnish.review.contradiction import paragraphs
from burnish.review.refusal import plain_line, refuses
from burnish.review.rejecting_lines import LABEL, REJECTS, is_rejecting_line, plain_text
from burnish.sanitize import without_escapes

_TAKEN_BACK = re.compile(
    r"\b(?:I )?(?:have )?changed my mind\b|\bon second thoughts?\b[^.]{0,80}\b(?:reject|request|not|changes)"
    r"|\b(?:verdict|approval) (?:above|below)? ?is (?:wrong|void|a mistake|invalid|withdrawn|revoked)\b"
    r"|\bI (?:hereby )?(?:retract|withdraw|revoke)\b|\btake (?:it|my|the|this|that) (?:approval )?back\b"
    r"|(?:^|[.!?:] )(?:please )?reject th(?:is|e) (?:change|diff|patch|pull request|PR|MR)"
    r"(?=\W*$|[.!,;:]| (?:because|until))",
    re.IGNORECASE,
)
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<text>.+?)[ \t#]*")
_UNDERLINE = re.compile(r"(?:={2,}|-{2,})[ \t]*")
_DECIDING_HEADING = re.compile(rf"(?:\d+[.)]?[ ]+)?(?:\w+[ ]+){{0,2}}{LABEL}[\W_]*", re.IGNORECASE)
_GRAVE = r"(?:critical|blockers?|blocking|must[- ]fix|severe|fatal)"
_GRAVE_HEADING = re.compile(
    rf"[\W_\d]*{_GRAVE}(?:[ ](?:issues?|findings?|problems?|bugs?|defects?|errors?))?(?:[ ]before[ ]merg\w*)?[\W_]*",
    re.IGNORECASE,
)
# `Blocker: …` at the beginning of a line
_GRAVE_LINE = re.compile(
    rf"(?:[-*+][ \t]+|\d{{1,3}}[.)][ \t]+)?{_GRAVE}(?:[ ](?:issue|finding|problem|bug|defect|error)s?)?:"
    r"[ \t]*(?P<text>.+)",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"[\W_]*(?:\w+\W+){0,4}?(?:no|none|nothing|n/a|zero|0|without|resolved|fixed|addressed|clean)\b", re.IGNORECASE
)


def rejecting_text(body: str) -> str:
    """The line or paragraph that rejects the change; "" if there is none. Quotes and fenced code are ignored.

    A verdict with an indent is code for Markdown and a verdict for the person who wrote it.
    """
    body = without_escapes(body)
    for line in indented_lines(body):
        if line.strip() and (is_rejecting_line(line) or refuses(plain_line(line.strip()))):
            return line.strip()[:80]
    if fence := unclosed_fence(body):
        return f"{fence[:40]} (the code block is not closed)"
    lines = shown_lines(body)
    # by lines as well: the one before may be the verdict, which ends without a full stop
    for paragraph in (*paragraphs(lines), *lines):
        text = plain_line(paragraph)
        if refuses(text) or _TAKEN_BACK.search(text):
            return " ".join(paragraph.split())[:80]
    deciding = grave = False
    for number, raw in enumerate(lines):
        line = plain_text(raw)
        if not line or _UNDERLINE.fullmatch(line):
            continue
        heading = _heading(lines, number)
        if is_rejecting_line(raw) or (deciding and _begins_with_rejection(line)):
            return raw.strip()[:80]
        found = _GRAVE_LINE.fullmatch(line)
        if (grave and not heading and not _NONE.match(line)) or (found and not _NONE.match(found["text"])):
            return raw.strip()[:80]
        deciding = bool(heading and _DECIDING_HEADING.fullmatch(heading))
        grave = bool(heading and _GRAVE_HEADING.fullmatch(heading))
    return ""


def _begins_with_rejection(line: str) -> bool:
    match = re.match(rf"[\W_]*{REJECTS}", line, re.IGNORECASE)
    return bool(match and re.match(r"[\W_]*$|[ ]?[.,;:!()\u2013\u2014-]", line[match.end() :]))


def _heading(lines: list[str], number: int) -> str:
    text = plain_text(lines[number])
    if match := _HEADING.fullmatch(text):
        return match["text"]
    following = lines[number + 1].strip() if number + 1 < len(lines) else ""
    return text if _UNDERLINE.fullmatch(following) else ""
