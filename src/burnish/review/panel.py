"""Combines the results of several reviewers. Failed reviewers count, and no remark is dropped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from burnish.core.agent import AgentReply
from burnish.core.cost import CostSource, joint_source
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
from burnish.review.blocks import named_blocks
from burnish.review.contract import WORD
from burnish.review.external.lines import rulings
from burnish.review.prose import MAX_PROSE_LENGTH, approves_in_words, first_sentence, objection_in
from burnish.review.quoting import cut_text
from burnish.review.reading import plain, severity

MAX_LINE_DISTANCE = 3
MAX_TITLE_LENGTH = 500


def combine(results: Sequence[ReviewerResult], *, quorum: str, reviewer_count: int) -> PanelResult:
    """The combined result. Coverage (`uncovered`) and contradictions are checked later.

    Remarks are not merged here: the ledger merges them by file and line.
    """
    names = _names(results)
    named_results = list(zip(names, results, strict=True))
    reviews = [(name, _with_remark(v.reading, v.prose)) for name, v in named_results if isinstance(v.reading, Review)]
    verdict, why = _verdict(results, [review for _, review in reviews], quorum, reviewer_count)
    reasons = [(name, review.rejection_reason) for name, review in reviews if review.rejection_reason]
    return PanelResult(
        results=tuple(results),
        verdict=verdict,
        summary=_join_texts([(name, review.summary) for name, review in reviews]),
        why=why,
        blocking=any(review.blocking for _, review in reviews),
        rejection_reason=_join_texts(reasons),
        compliance=merge_compliance(review.compliance for _, review in reviews),
        rulings=_rulings(reviews),
        remarks=tuple(_limit_lengths(remark, name) for name, review in reviews for remark in review.remarks),
        signed=all(review.signed for _, review in reviews),
        notes=tuple(f"{name}: {note}" for name, review in reviews for note in review.notes),
    )


def _limit_lengths(remark: Remark, source: str) -> Remark:
    """The remark with texts short enough for an event."""
    return replace(
        remark,
        source=source,
        title=remark.title[:MAX_TITLE_LENGTH],
        description=cut_text(remark.description, MAX_PROSE_LENGTH),
        suggestion=cut_text(remark.suggestion, MAX_PROSE_LENGTH),
        # without a note that it was cut, because the code is searched for it
        quote=remark.quote[:MAX_PROSE_LENGTH],
    )


def _verdict(
    results: Sequence[ReviewerResult], reviews: list[Review], quorum: str, reviewer_count: int
) -> tuple[Verdict | None, str]:
    verdicts = [review.verdict for review in reviews]
    for stop in (Verdict.REJECTED, Verdict.NEEDS_DISCUSSION):
        if stop in verdicts:
            return stop, ""
    if any(review.blocking for review in reviews):
        return Verdict.CHANGES_REQUESTED, ""
    unread = [f"{v.agent}: {v.reading.why}" for v in results if isinstance(v.reading, Unreadable)]
    if len(results) < reviewer_count:
        unread.append(f"{reviewer_count - len(results)} of {reviewer_count} reviewers did not answer")
    approvals = verdicts.count(Verdict.APPROVED)
    required_count = needed_approvals(quorum, reviewer_count)
    # a reviewer whose objection has a wrong form has not merely said nothing
    objections = [
        f"{v.agent} says {words!r}: {v.reading.why}"
        for v in results
        if isinstance(v.reading, Unreadable) and (words := objection_in(v.reading.reply))
    ]
    if objections:
        return None, "; ".join(objections)
    if unread and quorum not in ("any", "majority"):
        return None, "; ".join(unread)
    if approvals >= required_count:
        return Verdict.APPROVED, ""
    if len(reviews) > approvals:
        return Verdict.CHANGES_REQUESTED, ""
    return None, "; ".join(unread) or f"{approvals} of {required_count} approvals"


def _names(results: Sequence[ReviewerResult]) -> list[str]:
    """Unique names: the agent, and for equal agents also the model or a number."""
    agents = [result.agent for result in results]
    long = [f"{v.agent}/{v.model}" if v.model and agents.count(v.agent) > 1 else v.agent for v in results]
    return [name if long.count(name) == 1 else f"{name}#{at + 1}" for at, name in enumerate(long)]


def _join_texts(texts: list[tuple[str, str]]) -> str:
    return texts[0][1] if len(texts) == 1 else "\n".join(f"{name}: {text}" for name, text in texts)


def _with_remark(review: Review, prose: str) -> Review:
    """If changes are requested without a finding, turn the prose into a finding that can be tracked."""
    still_open = any(ruling.state == RulingState.OPEN for ruling in review.rulings)
    unmet = any(entry.met is False for entry in review.compliance)
    if review.verdict != Verdict.CHANGES_REQUESTED or review.remarks or still_open or unmet:
        return review
    text = prose.strip() or (review.rejection_reason or review.summary).strip()
    text = text or "Changes were requested without a reason."
    return replace(review, remarks=(Remark(Category.CODE, Severity.ERROR, first_sentence(text), text),))


def merge_compliance(judgements: Iterable[Iterable[Compliance]]) -> tuple[Compliance, ...]:
    """One entry for each criterion: unmet if any judgement is, else met if any is, else not judged."""
    by_criterion: dict[str, Compliance] = {}
    for entry in (entry for entries in judgements for entry in entries):
        before = by_criterion.get(key := criterion_key(entry.item))
        if before is not None and before.met is False and entry.met is False:
            by_criterion[key] = replace(entry, note=_both_notes(before.note, entry.note))
        elif before is None or entry.met is False or (before.met is None and entry.met is not None):
            by_criterion[key] = entry
    return tuple(by_criterion.values())


def _both_notes(first: str, second: str) -> str:
    """The notes of two reviewers on one unmet criterion, without repetition."""
    if plain(second) in plain(first):
        return first
    return second if plain(first) in plain(second) else f"{first}\n{second}"


def _rulings(reviews: list[tuple[str, Review]]) -> tuple[Ruling, ...]:
    """One ruling per finding; open if any reviewer says so."""
    order = (RulingState.OPEN, RulingState.INVALID, RulingState.RESOLVED)
    by_id: dict[str, Ruling] = {}
    for name, review in reviews:
        for ruling in review.rulings:
            labelled_ruling = (
                replace(ruling, note=f"{name}: {ruling.note}") if len(reviews) > 1 and ruling.note else ruling
            )
            before = by_id.get(ruling.id)
            if before is None or order.index(labelled_ruling.state) < order.index(before.state):
                by_id[ruling.id] = labelled_ruling
    return tuple(by_id.values())


def same_remark(first: Remark, second: Remark) -> bool:
    """Whether both have the same file, a near line and a similar title."""
    if first.file != second.file:
        return False
    if first.line and second.line and abs(first.line - second.line) > MAX_LINE_DISTANCE:
        return False
    title, other_title = plain(first.title), plain(second.title)
    if title == other_title:
        return True
    words, other_words = set(title.split()), set(other_title.split())
    overlap = len(words & other_words) / max(1, len(words | other_words))
    return overlap >= 0.5 or SequenceMatcher(None, title, other_title).ratio() >= 0.75


# -- merge replies --------------------------------------------------------------------------------
# Combines several answers of one reviewer.

_BY_STRICTNESS = [Verdict.APPROVED, Verdict.CHANGES_REQUESTED, Verdict.NEEDS_DISCUSSION, Verdict.REJECTED]


def merge_replies(first: Review, second: Review) -> Review:
    """The worse verdict counts, for the change and for each criterion."""
    worse = max(first, second, key=lambda review: _BY_STRICTNESS.index(review.verdict))
    return replace(
        first,
        verdict=worse.verdict,
        summary=worse.summary,
        inspected=tuple(dict.fromkeys((*first.inspected, *second.inspected))),
        rulings=(*first.rulings, *second.rulings),
        compliance=merge_compliance((first.compliance, second.compliance)),
        remarks=(*first.remarks, *second.remarks),
        blocking=first.blocking or second.blocking,
        rejection_reason=first.rejection_reason or second.rejection_reason,
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
        signed=first.signed and second.signed,
    )


def repeated_replies(first: Review, second: Review) -> Review:
    """Merge two versions of one review. A finding in both counts once, with the second text."""
    repeats = [
        any(same_remark(remark, other) and other.severity.rank <= remark.severity.rank for other in second.remarks)
        for remark in first.remarks
    ]
    rest = tuple(remark for remark, is_repeat in zip(first.remarks, repeats, strict=True) if not is_repeat)
    merged_review = merge_replies(replace(first, remarks=rest), second)
    return replace(
        merged_review, summary=second.summary if second.verdict is merged_review.verdict else merged_review.summary
    )


def combined_reply(first: AgentReply, second: AgentReply) -> AgentReply:
    costs = [cost for cost in (first.cost_usd, second.cost_usd) if cost is not None]
    return replace(
        second,
        text=f"{first.text}\n\n{second.text}",
        cost_usd=sum(costs) if costs else None,
        cost_source=joint_source((first.cost_source, second.cost_source)) or CostSource.UNKNOWN,
        tokens=first.tokens + second.tokens,
        transcript=first.transcript,
    )


# -- parsed reviews -------------------------------------------------------------------------------
# Checks an approval that the `parse` role made of another program's review: nothing in it may be new.

# words shorter than this are articles and the like
_MIN_WORD_LENGTH = 4
_WORD = re.compile(r"\w+")
# fields of a damaged verdict block: an entry of `prior` that closes a finding, a criterion that is met, a finding.
# An open entry and an unmet criterion are objections.
_CLOSED = re.compile(r'"id"\s*:\s*"(F\d+)"\s*,\s*"state"\s*:\s*"(resolved|invalid)"')
_MET = re.compile(r'"item"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,\s*"met"\s*:\s*true')
_SEVERITY = re.compile(r"""\bseverity["']?\s*:\s*["']?([\w-]+)""")


def grounded(review: Review, messages: Sequence[str]) -> Review | Unreadable:
    """The approval with the rulings, judgements and paths that the reviewer's own messages contain.

    The parser did not look at the change. It is unreadable if the reviewer's text objects to the change, and needs a
    person (`signed` is False) if that text nowhere approves it, or names a finding and does not close it in a form that
    burnish reads.
    """
    text = "\n\n".join(messages)
    block_text = "\n".join(block for message in messages for block in named_blocks(message, WORD))
    if words := next(filter(None, map(objection_in, messages)), ""):
        return Unreadable(f"it approves, and the review itself says {words!r}", text)
    severities = Counter(severity(word, []) for word in _SEVERITY.findall(block_text))
    if left_out := severities - Counter(remark.severity for remark in review.remarks):
        return Unreadable(f"it leaves out a finding of the review: {next(iter(left_out))}", text)
    named_rulings = [ruling for ruling in review.rulings if re.search(rf"\b{ruling.id}\b", text)]
    text_rulings = _stated_rulings(text, block_text, [ruling.id for ruling in named_rulings])
    grounded_rulings = [
        text_rulings.get(r.id, r) for r in named_rulings if r.id in text_rulings or r.state is RulingState.OPEN
    ]
    known_words = set(_WORD.findall(text.casefold()))
    met_items = (
        {criterion_key(re.sub(r"\\(.)", r"\1", item)) for item in _MET.findall(block_text)} if block_text else None
    )
    return replace(
        review,
        inspected=tuple(path for path in review.inspected if path in text),
        rulings=tuple(grounded_rulings),
        compliance=tuple(_judged(entry, known_words, met_items) for entry in review.compliance),
        signed=review.signed and approves_in_words(messages) and len(grounded_rulings) == len(named_rulings),
    )


def _stated_rulings(text: str, block_text: str, ids: Sequence[str]) -> dict[str, Ruling]:
    """The rulings in the reviewer's own text, as lines (`F1: resolved`) or in its damaged verdict block."""
    by_id = {id: Ruling(id, RulingState(state)) for id, state in _CLOSED.findall(block_text) if id in ids}
    return by_id | {ruling.id: ruling for ruling in rulings(text, ids)}


def _judged(entry: Compliance, known_words: set[str], met_items: set[str] | None) -> Compliance:
    """The judgement, if the damaged block has it (`met_items`), or the prose at least half of the criterion's words."""
    if not entry.met or (met_items is not None and criterion_key(entry.item) in met_items):
        return entry
    if met_items is not None:
        return replace(entry, met=None, note="the review does not call it met")
    words = _WORD.findall(entry.item.casefold())
    words = [word for word in words if len(word) >= _MIN_WORD_LENGTH] or words
    if sum(word in known_words for word in words) * 2 >= len(words):
        return entry
    return replace(entry, met=None, note="the review does not mention it")
