"""Several voices, one result. Nobody who failed is averaged away, and nothing that was said is dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from burnish.core.criteria import criterion_key
from burnish.core.finding import Category, Remark, Severity
from burnish.core.policy import needed_approvals
from burnish.core.review import (
    Compliance,
    PanelResult,
    Review,
    ReviewerResult,
    Ruling,
    RulingState,
    Unreadable,
    Verdict,
)
from burnish.review.fence import cut_text
from burnish.review.prose import LONGEST_PROSE, first_sentence
from burnish.review.reading import plain

NEAR = 3
LONGEST_TITLE = 500


def combine(voices: Sequence[ReviewerResult], *, quorum: str, configured: int) -> PanelResult:
    """What the voices come to. Coverage (`uncovered`) and contradictions are judged later.

    Remarks stay one per voice: the ledger joins them by place. Where there is none, `joined_remarks` does.
    """
    names = _names(voices)
    named = list(zip(names, voices, strict=True))
    reviews = [(name, _with_remark(v.reading, v.prose)) for name, v in named if isinstance(v.reading, Review)]
    verdict, why = _verdict(voices, [review for _, review in reviews], quorum, configured)
    reasons = [(name, review.rejection_reason) for name, review in reviews if review.rejection_reason]
    return PanelResult(
        voices=tuple(voices),
        verdict=verdict,
        summary=_joined([(name, review.summary) for name, review in reviews]),
        why=why,
        blocking=any(review.blocking for _, review in reviews),
        rejection_reason=_joined(reasons),
        compliance=merge_compliance(review.compliance for _, review in reviews),
        rulings=_rulings(reviews),
        remarks=tuple(_bounded(remark, name) for name, review in reviews for remark in review.remarks),
        signed=all(review.signed for _, review in reviews),
        notes=tuple(f"{name}: {note}" for name, review in reviews for note in review.notes),
    )


def _bounded(remark: Remark, source: str) -> Remark:
    """A remark that fits into an event, whatever its reviewer wrote."""
    return replace(
        remark,
        source=source,
        title=remark.title[:LONGEST_TITLE],
        description=cut_text(remark.description, LONGEST_PROSE),
        suggestion=cut_text(remark.suggestion, LONGEST_PROSE),
        # not marked as cut: it is looked for in the code
        quote=remark.quote[:LONGEST_PROSE],
    )


def _verdict(
    voices: Sequence[ReviewerResult], reviews: list[Review], quorum: str, configured: int
) -> tuple[Verdict | None, str]:
    said = [review.verdict for review in reviews]
    for stop in (Verdict.REJECTED, Verdict.NEEDS_DISCUSSION):
        if stop in said:
            return stop, ""
    if any(review.blocking for review in reviews):
        return Verdict.CHANGES_REQUESTED, ""
    lost = [f"{v.agent}: {v.reading.why}" for v in voices if isinstance(v.reading, Unreadable)]
    if len(voices) < configured:
        lost.append(f"{configured - len(voices)} of {configured} reviewers did not answer")
    approvals = said.count(Verdict.APPROVED)
    needed = needed_approvals(quorum, configured)
    if lost and quorum not in ("any", "majority"):
        return None, "; ".join(lost)
    if approvals >= needed:
        return Verdict.APPROVED, ""
    if len(reviews) > approvals:
        return Verdict.CHANGES_REQUESTED, ""
    return None, "; ".join(lost) or f"{approvals} of {needed} approvals"


def _names(voices: Sequence[ReviewerResult]) -> list[str]:
    """What to call each: the agent, and where two are the same, the model or a count."""
    agents = [voice.agent for voice in voices]
    long = [f"{v.agent}/{v.model}" if v.model and agents.count(v.agent) > 1 else v.agent for v in voices]
    return [name if long.count(name) == 1 else f"{name}#{at + 1}" for at, name in enumerate(long)]


def _joined(said: list[tuple[str, str]]) -> str:
    return said[0][1] if len(said) == 1 else "\n".join(f"{name}: {text}" for name, text in said)


def _with_remark(review: Review, prose: str) -> Review:
    """Changes requested without a finding: the prose becomes one, so that it can be fixed and followed."""
    still_open = any(ruling.state == RulingState.OPEN for ruling in review.rulings)
    unmet = any(entry.met is False for entry in review.compliance)
    if review.verdict != Verdict.CHANGES_REQUESTED or review.remarks or still_open or unmet:
        return review
    text = prose.strip() or (review.rejection_reason or review.summary).strip()
    text = text or "Changes were requested without a reason."
    return replace(review, remarks=(Remark(Category.CODE, Severity.ERROR, first_sentence(text), text),))


def merge_compliance(judgements: Iterable[Iterable[Compliance]]) -> tuple[Compliance, ...]:
    """One entry for each criterion: unmet if any judgement is, else met if any is, else not judged."""
    merged: dict[str, Compliance] = {}
    for entry in (entry for entries in judgements for entry in entries):
        before = merged.get(key := criterion_key(entry.item))
        if before is not None and before.met is False and entry.met is False:
            merged[key] = replace(entry, note=_both_notes(before.note, entry.note))
        elif before is None or entry.met is False or (before.met is None and entry.met is not None):
            merged[key] = entry
    return tuple(merged.values())


def _both_notes(first: str, second: str) -> str:
    """What two reviewers say about one unmet criterion; the same words once."""
    if plain(second) in plain(first):
        return first
    return second if plain(first) in plain(second) else f"{first}\n{second}"


def _rulings(reviews: list[tuple[str, Review]]) -> tuple[Ruling, ...]:
    """Open if anyone says so."""
    order = (RulingState.OPEN, RulingState.INVALID, RulingState.RESOLVED)
    merged: dict[str, Ruling] = {}
    for name, review in reviews:
        for ruling in review.rulings:
            named = replace(ruling, note=f"{name}: {ruling.note}") if len(reviews) > 1 and ruling.note else ruling
            before = merged.get(ruling.id)
            if before is None or order.index(named.state) < order.index(before.state):
                merged[ruling.id] = named
    return tuple(merged.values())


def joined_remarks(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """The same remark from two voices as one, with both as its source (`claude, codex`)."""
    merged: list[Remark] = []
    for remark in remarks:
        # only what others said is compared: one voice's two remarks are two
        others = [at for at, other in enumerate(merged) if remark.source not in other.source.split(", ")]
        twin = next((at for at in others if same_remark(merged[at], remark)), None)
        if twin is None:
            merged.append(remark)
        else:
            merged[twin] = _merge(merged[twin], remark)
    return tuple(merged)


def same_remark(one: Remark, other: Remark) -> bool:
    """Same file, near line, similar words."""
    if one.file != other.file:
        return False
    if one.line and other.line and abs(one.line - other.line) > NEAR:
        return False
    first, second = plain(one.title), plain(other.title)
    if first == second:
        return True
    words, others = set(first.split()), set(second.split())
    alike = len(words & others) / max(1, len(words | others))
    return alike >= 0.5 or SequenceMatcher(None, first, second).ratio() >= 0.75


def _merge(one: Remark, other: Remark) -> Remark:
    worse = min(one.severity, other.severity, key=lambda severity: severity.rank)
    longer = max(one.description, other.description, key=len)
    sources = dict.fromkeys([*one.source.split(", "), other.source])
    return replace(
        one,
        severity=worse,
        description=longer,
        suggestion=one.suggestion or other.suggestion,
        line=one.line or other.line,
        end_line=one.end_line if one.line else other.end_line,
        quote=one.quote or other.quote,
        rule=one.rule or other.rule,
        source=", ".join(sources),
    )
