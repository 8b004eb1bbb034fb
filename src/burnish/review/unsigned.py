"""Reads a reply without a verdict block, if `review.accept_unsigned` allows it, by the verdict lines of older tools."""

from __future__ import annotations

import re
from dataclasses import replace

from burnish.core.review import Review, RulingState, Verdict
from burnish.review.blocks import LONGEST_REPLY, own_lines, prose_lines
from burnish.review.external.contradiction import rejecting_text
from burnish.review.external.findings import unread_grave
from burnish.review.external.lines import rulings, without_ids
from burnish.review.legacy_markers import HINT, summary_in, verdict_of
from burnish.review.markdown_findings import findings_in
from burnish.review.reading import Expect, clean


def read_unsigned(text: str, *, expect: Expect | None = None, may_fix: bool = False) -> Review:
    """Read the reply; anything unclear is `changes_requested`. Never raises.

    `REVIEW_FIXED` approves only if the reviewer was allowed to change the code. Rulings on earlier findings count only
    if they leave a finding open: a reviewer that was not asked by id cannot resolve one.
    """
    expect = expect or Expect()
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    if "\0" in text or len(text) > LONGEST_REPLY:
        return _unclear(text, "the reply cannot be read as text")
    lines, body = prose_lines(text), without_ids(text)
    verdicts = [verdict for line in own_lines(text) if (verdict := verdict_of(line, may_fix)) is not None]
    hints = sum(HINT.search(line) is not None for line in lines)
    clear = len(verdicts) == 1 and hints <= 1
    approving = clear and verdicts[0] is Verdict.APPROVED
    remarks = tuple(replace(remark, source=expect.source) for remark in findings_in(body, approving=approving))
    if not clear:
        why = "no verdict line" if not hints else "not exactly one clear verdict line"
        return replace(_unclear(text, why), remarks=remarks)
    if approving and (line := rejecting_text(text)):
        return replace(_unclear(text, f"it approves, but this text does not: {clean(line)}"), remarks=remarks)
    if approving and (title := unread_grave(body, remarks)):
        why = f"it approves, but this serious finding could not be read: {clean(title)}"
        return replace(_unclear(text, why), remarks=remarks)
    all_rulings = rulings(body, (*expect.prior_ids, *expect.closed_ids))
    still_open = tuple(ruling for ruling in all_rulings if ruling.state is RulingState.OPEN)
    return Review(verdicts[0], summary_in(lines), rulings=still_open, remarks=remarks, signed=False)


def _unclear(text: str, why: str) -> Review:
    summary = clean(text).strip()[:2000] or "The reviewer's reply is empty."
    return Review(Verdict.CHANGES_REQUESTED, summary, notes=(f"{why}: counts as changes requested",), signed=False)
