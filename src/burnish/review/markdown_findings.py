"""Reads the findings of a Markdown review without a verdict block, in any list format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from burnish.core.finding import Remark
from burnish.review.blocks import prose_lines
from burnish.review.external.findings import listed_findings
from burnish.review.external.lines import bullet_remarks, marked_remarks, sections, without_bullets
from burnish.review.legacy_markers import remarks_in
from burnish.review.reading import clean

LONGEST_PROSE = 8000


def findings_in(body: str, *, approving: bool) -> tuple[Remark, ...]:
    """The findings of both readers. `approving`: a place or number without a level is evidence, not a finding."""
    rest = without_bullets(body)
    heading_remarks = _with_whole_text(rest, tuple(remarks_in(prose_lines(rest))))
    remarks = (*heading_remarks, *bullet_remarks(body, approving=approving), *marked_remarks(body))
    listed_remarks = listed_findings(body, approving=approving)
    if len(listed_remarks) <= len(remarks):
        return remarks
    return (*listed_remarks, *_missing(remarks, listed_remarks)) if approving else listed_remarks


def _missing(remarks: Sequence[Remark], beside: Sequence[Remark]) -> tuple[Remark, ...]:
    titles = [remark.title for remark in beside]
    return tuple(one for one in remarks if not any(one.title in title or title in one.title for title in titles))


def _with_whole_text(body: str, remarks: tuple[Remark, ...]) -> tuple[Remark, ...]:
    """Use the whole text below a finding's heading, including code, as its description."""
    texts = sections(body)
    if len(texts) != len(remarks):
        return remarks
    return tuple(
        replace(one, description=clean(_without_suggestion(text, one))[:LONGEST_PROSE]) if text else one
        for one, text in zip(remarks, texts, strict=True)
    )


def _without_suggestion(text: str, remark: Remark) -> str:
    """The description without the line that was read as the suggestion."""
    label = re.compile(
        rf"(?:[-*][ \t]+)?\*{{0,2}}Suggestion\*{{0,2}}:\*{{0,2}}[ \t]*{re.escape(remark.suggestion or '')}"
    )
    lines = [line for line in text.split("\n") if not remark.suggestion or not label.fullmatch(line.strip())]
    return "\n".join(lines).strip()
