"""Reads a reply without a verdict block, if `review.accept_unsigned` allows it, by the verdict lines of older tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from burnish.core.finding import Remark
from burnish.core.review import Review, RulingState, Verdict
from burnish.review.blocks import MAX_REPLY_LENGTH, hidden_by, own_lines, prose_lines
from burnish.review.contradiction import rejecting_text
from burnish.review.external.findings import listed_findings, unread_grave
from burnish.review.external.lines import (
    bullet_remarks,
    marked_remarks,
    rulings,
    sections,
    without_bullets,
    without_ids,
)
from burnish.review.legacy_markers import HINT, remarks_in, summary_in, verdict_of
from burnish.review.reading import Expect, clean


def read_unsigned(text: str, *, expect: Expect | None = None, may_fix: bool = False) -> Review:
    """Read the reply; anything unclear is `changes_requested`. Never raises.

    `REVIEW_FIXED` approves only if the reviewer was allowed to change the code. Rulings on earlier findings count only
    if they leave a finding open: a reviewer that was not asked by id cannot resolve one.
    """
    expect = expect or Expect()
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    if "\0" in text or len(text) > MAX_REPLY_LENGTH:
        return _unclear(text, "the reply cannot be read as text")
    lines, body = prose_lines(text), without_ids(text)
    places = {n: verdict for n, line in enumerate(own_lines(text)) if (verdict := verdict_of(line, may_fix))}
    verdicts = list(places.values())
    hints = sum(HINT.search(line) is not None for line in lines)
    clear = len(verdicts) == 1 and hints <= 1
    approving = clear and verdicts[0] is Verdict.APPROVED
    remarks = tuple(replace(remark, source=expect.source) for remark in findings_in(body, approving=approving))
    if not clear:
        why = "no verdict line" if not hints else "not exactly one clear verdict line"
        return replace(_unclear(text, why), remarks=remarks)
    if approving and (line := rejecting_text(text)):
        return replace(_unclear(text, f"it approves, but this text does not: {clean(line)}"), remarks=remarks)
    if approving and (markup := hidden_by(text, next(iter(places)))):
        return replace(_unclear(text, f"its verdict is inside {markup}"), remarks=remarks)
    if approving and (title := unread_grave(body, remarks)):
        why = f"it approves, but this serious finding could not be read: {clean(title)}"
        return replace(_unclear(text, why), remarks=remarks)
    all_rulings = rulings(body, (*expect.prior_ids, *expect.closed_ids))
    still_open = tuple(ruling for ruling in all_rulings if ruling.state is RulingState.OPEN)
    return Review(verdicts[0], summary_in(lines), rulings=still_open, remarks=remarks, signed=False)


def _unclear(text: str, why: str) -> Review:
    summary = clean(text).strip()[:2000] or "The reviewer's reply is empty."
    return Review(Verdict.CHANGES_REQUESTED, summary, notes=(f"{why}: counts as changes requested",), signed=False)


MAX_PROSE_LENGTH = 8000


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
        replace(one, description=clean(_without_suggestion(text, one))[:MAX_PROSE_LENGTH]) if text else one
        for one, text in zip(remarks, texts, strict=True)
    )


def _without_suggestion(text: str, remark: Remark) -> str:
    """The description without the line that was read as the suggestion."""
    label = re.compile(
        rf"(?:[-*][ \t]+)?\*{{0,2}}Suggestion\*{{0,2}}:\*{{0,2}}[ \t]*{re.escape(remark.suggestion or '')}"
    )
    lines = [line for line in text.split("\n") if not remark.suggestion or not label.fullmatch(line.strip())]
    return "\n".join(lines).strip()
