"""A review that a person hands in: contract JSON, or Markdown with a verdict that nobody can mistake."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from burnish.core.criteria import criterion_key
from burnish.core.finding import Category, Finding, Remark, Severity
from burnish.core.ledger.check_findings import is_check
from burnish.core.review import Compliance, Review, Ruling, RulingState, Unreadable, Verdict
from burnish.review import contract
from burnish.review import legacy_markers as strict
from burnish.review.blocks import LONGEST_REPLY, prose_lines
from burnish.review.contradicting_fields import contradicting_field
from burnish.review.external.contradiction import rejecting_text
from burnish.review.external.findings import unread_grave
from burnish.review.external.lines import (
    compliance,
    numberless,
    rulings,
    unknown_rulings,
    unread_alarm,
    without_findings,
)
from burnish.review.external.verdicts import conclude, without_verdict
from burnish.review.frontmatter import load
from burnish.review.markdown_findings import LONGEST_PROSE, findings_in
from burnish.review.reading import Expect, clean, review_of
from burnish.review.strictjson import BadJson, loads

# what another tool calls rejected is sent back, not given up
_FRONT = {
    "approved": Verdict.APPROVED,
    "changes_requested": Verdict.CHANGES_REQUESTED,
    "needs_discussion": Verdict.NEEDS_DISCUSSION,
    "rejected": Verdict.REJECTED,
}


@dataclass(frozen=True, slots=True)
class ExternalPage:
    """A Markdown file: what its front matter says, and the rest."""

    facts: dict[str, Any]
    body: str
    why: str = ""

    @property
    def commit(self) -> str:
        """The commit that it says it is about."""
        found = self.facts.get("commit")
        return found if isinstance(found, str) and re.fullmatch(r"[0-9a-f]{7,64}", found) else ""


def page_of(text: str) -> ExternalPage:
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    match = re.match(r"---\n(.*?)\n---[ \t]*(?:\n|\Z)", text, re.DOTALL)
    if not match:
        return ExternalPage({}, text)
    try:
        return ExternalPage(load(match[1]), text[match.end() :])
    except ValueError as why:
        return ExternalPage({}, text, f"the front matter cannot be read: {why}")


def has_block(text: str) -> bool:
    """Does it answer by the contract? Then the contract's rules hold, and no other line counts."""
    return re.search(rf"^[ \t]*(?:`{{3,}}|~{{3,}})[ \t]*{contract.WORD}\b", text, re.MULTILINE) is not None


def read_contract(text: str, *, number: str, expect: Expect) -> Review | Unreadable:
    """The object of the contract, bare. A number may be left out, but a wrong one is another review's."""
    try:
        value = loads(text.strip())
    except BadJson as why:
        return Unreadable(str(why), text)
    if isinstance(value, dict) and value.get("number") not in (None, "", number or None):
        return Unreadable("it carries the number of another review", text)
    return review_of(value, text, expect)


def read_markdown(text: str, *, verdict: Verdict | None, number: str, expect: Expect) -> Review | Unreadable:
    """`verdict` is what the person typed beside the file, if anything."""
    page = page_of(text)
    if page.why or "\0" in text or len(text) > LONGEST_REPLY:
        return Unreadable(page.why or "it is empty, too long or not text", text)
    if has_block(page.body):
        return contract.read(page.body, number, expect=expect)
    conclusion = conclude(page.body, _front(page.facts))
    if conclusion.unclear:
        return Unreadable(f"it has no single clear verdict: {conclusion.unclear}", text)
    if verdict and conclusion.verdict and verdict is not conclusion.verdict:
        return Unreadable(f"it says {conclusion.verdict}, and --verdict says {verdict}", text)
    concluded = verdict or conclusion.verdict
    if concluded is None:
        return Unreadable("it has no verdict", text)
    if concluded is Verdict.APPROVED and (field := contradicting_field(page.facts, frozenset())):
        return Unreadable(f"it approves, and its front matter does not: {clean(field)}", text)
    if concluded is Verdict.APPROVED and (line := rejecting_text(page.body)):
        return Unreadable(f"it approves, and this text does not: {clean(line)}", text)
    page = replace(page, body=numberless(page.body))
    if concluded is Verdict.APPROVED and (line := unread_alarm(page.body)):
        return Unreadable(f"this line looks like a finding and could not be read: {clean(line)}", text)
    review = _review(page, concluded, expect)
    if concluded is Verdict.APPROVED and (title := unread_grave(page.body, review.remarks)):
        return Unreadable(f"it approves, and this grave finding could not be read: {title}", text)
    return review


def _front(facts: dict[str, Any]) -> Verdict | None:
    word = facts.get("verdict")
    found = _FRONT.get(word.lower()) if isinstance(word, str) else None
    theirs = "wp_id" in facts or "cycle_number" in facts
    return Verdict.CHANGES_REQUESTED if theirs and found is Verdict.REJECTED else found


def _review(page: ExternalPage, verdict: Verdict, expect: Expect) -> Review:
    remarks = findings_in(page.body, approving=verdict is Verdict.APPROVED)
    listed = bool(remarks)
    ids = (*expect.prior_ids, *expect.closed_ids)
    prose = clean(without_verdict(page.body)).strip()
    ruled, judged = rulings(page.body, ids), compliance(page.body, expect.criteria)
    if verdict is Verdict.CHANGES_REQUESTED and not remarks and prose and not any(_asks(r) for r in ruled):
        remarks = (_prose_remark(prose, page.facts),)
    return Review(
        verdict=verdict,
        summary=_summary(page.body, remarks) if listed else prose[:2000],
        rulings=ruled,
        compliance=judged,
        remarks=tuple(replace(remark, source=expect.source) for remark in remarks),
        rejection_reason=prose[:2000] if verdict is Verdict.REJECTED else "",
        notes=tuple(f"it rules on {id}, and there is no such finding" for id in unknown_rulings(page.body, ids)),
    )


def _summary(body: str, remarks: tuple[Remark, ...]) -> str:
    """What it says beside its list; where there is nothing, what the list comes to."""
    rest = without_findings(without_verdict(body))
    said = strict.summary_in(prose_lines(rest))
    return said if re.search(r"\w", said) else f"{len(remarks)} finding{'s' * (len(remarks) != 1)}: {remarks[0].title}"


def _asks(ruling: Ruling) -> bool:
    return ruling.state is RulingState.OPEN


def _prose_remark(prose: str, facts: dict[str, Any]) -> Remark:
    """Words without a list are one finding, verbatim."""
    lines = [line.strip("#*- \t") for line in prose.split("\n")]
    title = next((line for line in lines if line), "Changes were requested")[:120]
    whole = prose if len(prose) <= LONGEST_PROSE else f"{prose[:LONGEST_PROSE]}\n[cut here; the artifact has the rest]"
    file, line, end = _affected(facts)
    return Remark(Category.CODE, Severity.ERROR, title, whole, file=file, line=line, end_line=end)


def _affected(facts: dict[str, Any]) -> tuple[str | None, int | None, int | None]:
    """The first place that a review-cycle file names."""
    listed = facts.get("affected_files")
    first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
    path = first.get("path")
    if not isinstance(path, str):
        return None, None, None
    span = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", str(first.get("line_range") or first.get("start") or ""))
    end = first.get("end")
    last = int(span[2]) if span and span[2] else end if isinstance(end, int) else None
    return path, int(span[1]) if span else None, last


def says_nothing(review: Review) -> bool:
    """Changes are asked for, and nothing says which."""
    if review.verdict is Verdict.APPROVED:
        return False
    words = review.summary.strip() or review.rejection_reason.strip()
    told = any(_asks(r) for r in review.rulings) or any(c.met is False for c in review.compliance)
    return not (words or review.remarks or told)


def in_person(review: Review, *, findings: Sequence[Finding], criteria: Sequence[str], by: str, anew: bool) -> Review:
    """A person's approval is of the whole: criteria it does not name are met, and earlier findings settled.

    Not if this very tree was rejected before (`anew` is False): then each finding must be ruled on by its id.
    What a check or a guard reports, words do not settle.
    """
    if review.verdict is not Verdict.APPROVED:
        return review
    note = f"approved by {by}"
    judged = {criterion_key(entry.item) for entry in review.compliance}
    met = tuple(Compliance(item, True, note) for item in criteria if criterion_key(item) not in judged)
    ruled = {ruling.id for ruling in review.rulings}
    settled = tuple(
        Ruling(f.id, RulingState.RESOLVED, note)
        for f in findings
        if anew and f.alive and f.id not in ruled and not is_check(f) and f.remark.category is not Category.GUARD
    )
    return replace(review, compliance=(*review.compliance, *met), rulings=(*review.rulings, *settled))
