"""Every finding of a review in Markdown, whatever the shape of its list: one reader for all reviews without a block."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from burnish.core.finding import Remark
from burnish.review.blocks import prose_lines
from burnish.review.external.findings import listed_findings
from burnish.review.external.lines import bullets, marked, sections, without_bullets
from burnish.review.legacy_markers import remarks_in
from burnish.review.reading import clean

LONGEST_PROSE = 8000


def findings_in(body: str, *, approving: bool) -> tuple[Remark, ...]:
    """`approving`: a place or a number without a level is evidence, and no finding of either list is dropped."""
    rest = without_bullets(body)
    headed = _with_whole_text(rest, tuple(remarks_in(prose_lines(rest))))
    remarks = (*headed, *bullets(body, approving=approving), *marked(body))
    structured = listed_findings(body, approving=approving)
    if len(structured) <= len(remarks):
        return remarks
    return (*structured, *_missing(remarks, structured)) if approving else structured


def _missing(remarks: Sequence[Remark], beside: Sequence[Remark]) -> tuple[Remark, ...]:
    titles = [remark.title for remark in beside]
    return tuple(one for one in remarks if not any(one.title in title or title in one.title for title in titles))


def _with_whole_text(body: str, remarks: tuple[Remark, ...]) -> tuple[Remark, ...]:
    """Under a heading of its own a finding has code and all: taken as it was written."""
    texts = sections(body)
    if len(texts) != len(remarks):
        return remarks
    return tuple(
        replace(one, description=clean(_without_suggestion(text, one))[:LONGEST_PROSE]) if text else one
        for one, text in zip(remarks, texts, strict=True)
    )


def _without_suggestion(text: str, remark: Remark) -> str:
    """A suggestion that was read as one is not also part of the description."""
    label = re.compile(
        rf"(?:[-*][ \t]+)?\*{{0,2}}Suggestion\*{{0,2}}:\*{{0,2}}[ \t]*{re.escape(remark.suggestion or '')}"
    )
    lines = [line for line in text.split("\n") if not remark.suggestion or not label.fullmatch(line.strip())]
    return "\n".join(lines).strip()
