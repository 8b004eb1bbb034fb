"""What to do about a cycle. Pure: its tests are tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from burnish.core.commit import left_out_words
from burnish.core.criteria import unmet_items
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, blocks, is_unread_comment
from burnish.core.ledger.matching import say_the_same
from burnish.core.review import Compliance, PanelResult, UnseenFile, Verdict
from burnish.core.status import Reason

CHANGED_NOTHING = "The agent changed nothing"


@dataclass(frozen=True, slots=True)
class Accept:
    why: str


@dataclass(frozen=True, slots=True)
class Revise:
    """Send the change back for one more improve phase."""

    why: str
    blockers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Escalate:
    """A person is needed."""

    reason: Reason
    why: str
    blockers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """It may be accepted, but only by a person."""

    why: str


Decision = Accept | Revise | Escalate | Wait


@dataclass(frozen=True, slots=True)
class ConvergenceState:
    """The state of the loop that convergence is judged by."""

    cycle: int
    max_cycles: int
    # ids that blocked at the end of each earlier cycle of this run, oldest first
    earlier_blockers: tuple[frozenset[str], ...] = ()
    # trees committed by the earlier cycles of this run
    earlier_trees: tuple[str, ...] = ()
    tree: str = ""
    # the work phase of this cycle changed nothing
    unchanged: bool = False
    # ... or nothing but these, which never come into git because of their names
    left_out: tuple[str, ...] = ()
    # ... and the agent's last message, which may say why
    last_words: str = ""
    # ... but disputed these findings instead, for the first time
    disputed: tuple[str, ...] = ()
    # ... or these, which a review had upheld before
    disputed_again: tuple[str, ...] = ()


def needs_description(reason: Reason | None, note: str) -> bool:
    """Whether the agent found nothing to do. The same prompt would give the same result.

    A file that may not be committed has the same reason and another note: there, the description is not at fault.
    """
    return reason is Reason.NO_CHANGES and note.startswith(CHANGED_NOTHING)


REPEATED_FAILURE = "The same failure"


def is_repeated_failure(reason: Reason | None, note: str) -> bool:
    """Whether a program failed in the same way again and again: advice to the author would not help."""
    return reason is Reason.STALLED and note.startswith(REPEATED_FAILURE)


def after_work(now: ConvergenceState) -> Decision | None:
    """The decision if nothing changed or the tree was judged before. None: continue."""
    if now.tree and now.tree in now.earlier_trees:
        cycle = now.earlier_trees.index(now.tree) + 1
        return Escalate(Reason.STALLED, f"The agent is going in circles: cycle {now.cycle} brought back {_nth(cycle)}.")
    if not now.unchanged or now.disputed:
        return None
    if now.disputed_again:
        return _disagree(now.disputed_again)
    but = f" {left_out_words(now.left_out)}" if now.left_out else ""
    reply = f" Its reply: {_shortened(now.last_words)}" if now.last_words else ""
    if now.cycle == 1:
        what = " that may be committed" if but else ""
        return Escalate(Reason.NO_CHANGES, f"{CHANGED_NOTHING}{what}.{but}{reply}")
    why = f"The agent was asked to fix the findings, but changed nothing and disputed none (cycle {now.cycle}).{but}"
    why += reply
    return Escalate(Reason.STALLED, why, tuple(sorted(now.earlier_blockers[-1] if now.earlier_blockers else ())))


def after_checks(
    findings: Sequence[Finding], now: ConvergenceState, *, on_failure: str, block_on: Severity
) -> Decision | None:
    """Send the change back without a review if a check fails. None: continue with the review."""
    guard = _guarded(findings)
    if guard:
        return guard
    check_blockers = tuple(f.id for f in findings if blocks(f, block_on) and f.remark.source.startswith("check:"))
    if not check_blockers or on_failure != "fix":
        return None
    why = f"{_count(len(check_blockers), 'problem')} found by the checks"
    return send_back(why, check_blockers, now, is_commented=has_unread_comment(findings, now))


def after_review(
    panel: PanelResult,
    findings: Sequence[Finding],
    now: ConvergenceState,
    *,
    block_on: Severity,
    criteria: Sequence[str] = (),
) -> Decision:
    """The verdict alone does not decide: checks, open findings, criteria and coverage must agree with it."""
    guard = _guarded(findings)
    if guard:
        return guard
    if panel.verdict is None:
        # Not sent back to the author: the code may be fine, only the review could not be read.
        return Escalate(Reason.UNREADABLE_REVIEW, panel.why or "the review could not be read")
    if panel.verdict is Verdict.NEEDS_DISCUSSION:
        return Escalate(Reason.NEEDS_DISCUSSION, panel.summary or "the reviewer wants to talk to a person")
    if panel.blocking and panel.verdict is not Verdict.REJECTED:
        word = panel.rejection_reason or panel.summary
        return Escalate(Reason.REJECTED, f"The reviewer asks for a person before anything else (blocking): {word}")
    if panel.verdict is Verdict.REJECTED:
        return Escalate(Reason.REJECTED, panel.rejection_reason or panel.summary or "the review rejected the change")
    twice = [f.id for f in findings if f.alive and f.disputes >= 2]
    if twice:
        return _disagree(tuple(twice))
    blockers = tuple(f.id for f in findings if blocks(f, block_on))
    against = what_is_against(panel, findings, block_on)
    is_commented = has_unread_comment(findings, now)
    if panel.verdict is Verdict.CHANGES_REQUESTED or against or is_commented:
        why = _why(panel, findings, blockers, against or "a person commented on it")
        return send_back(why, blockers or _alive(findings), now, is_commented=is_commented)
    if panel.uncovered:
        return Escalate(Reason.INCOMPLETE_REVIEW, f"No reviewer looked at {_names(panel.uncovered)}.")
    missing = unjudged(panel.compliance, criteria)
    not_ruled_ids = unruled_ids(panel, findings, block_on)
    if not panel.signed:
        return Wait(_unsigned_words(not_ruled_ids, missing))
    if not_ruled_ids:
        return Wait(f"{_not_ruled_words(not_ruled_ids)}: a person must tell whether the change settles it")
    if missing and not panel.mechanical:
        return Escalate(Reason.INCOMPLETE_REVIEW, f"The review does not judge: {_names(missing)}.")
    if panel.unseen_files:
        return Wait(unseen_words(panel.unseen_files))
    return Accept(panel.summary)


def unruled_ids(panel: PanelResult, findings: Sequence[Finding], block_on: Severity) -> tuple[str, ...]:
    """Blocking findings of earlier reviews that an approval without a number, or by programs alone, says nothing about.

    Its reviewer was not asked to rule by id, so that only a person can tell whether they are settled. What a check
    or the guard found is known: it still stands.
    """
    if (panel.signed and not panel.mechanical) or panel.verdict is not Verdict.APPROVED:
        return ()
    found = [f for f in findings if f.id in panel.not_ruled and blocks(f, block_on)]
    review_findings = [f for f in found if not f.remark.source.startswith("check:")]
    return tuple(f.id for f in review_findings if f.remark.category is not Category.GUARD)


def _unsigned_words(not_ruled_ids: Sequence[str], unjudged_items: Sequence[str]) -> str:
    why = "approved by a reviewer that does not sign its verdicts"
    if not_ruled_ids:
        why += f"; {_not_ruled_words(not_ruled_ids)}"
    return f"{why}; not judged: {_names(unjudged_items)}" if unjudged_items else why


def _not_ruled_words(ids: Sequence[str]) -> str:
    return f"{_listed(ids)} {'was' if len(ids) == 1 else 'were'} not ruled on"


def unseen_words(files: Sequence[UnseenFile]) -> str:
    """Why an approval without objections waits for a person."""
    what = "1 file has" if len(files) == 1 else f"{len(files)} files have"
    return f"{what} content that no reviewer could be shown: {_names([file.path for file in files])}"


def effective_verdict(
    panel: PanelResult, findings: Sequence[Finding], block_on: Severity
) -> tuple[Verdict | None, str]:
    """The effective verdict, and one line that says why it differs from the reviewer's."""
    if panel.verdict is not Verdict.APPROVED:
        return panel.verdict, ""
    if against := what_is_against(panel, findings, block_on):
        why = against
    elif panel.blocking:
        why = "it asks for a person before anything else (blocking)"
    elif panel.uncovered:
        # no objection to the code: only the review is incomplete
        return panel.verdict, f"approved by the reviewer, but no reviewer looked at {_names(panel.uncovered)}"
    elif not_ruled_ids := unruled_ids(panel, findings, block_on):
        return panel.verdict, f"approved by the reviewer, but {_not_ruled_words(not_ruled_ids)}"
    elif panel.unseen_files:
        return panel.verdict, f"approved by the reviewer, but {unseen_words(panel.unseen_files)}"
    else:
        return panel.verdict, ""
    return Verdict.CHANGES_REQUESTED, f"approved by the reviewer, but {why}"


def what_is_against(panel: PanelResult, findings: Sequence[Finding], block_on: Severity) -> str:
    """What contradicts an approval, in a few words: open findings, unmet criteria, the review's own remarks."""
    not_ruled_ids = unruled_ids(panel, findings, block_on)
    blockers = [f.id for f in findings if blocks(f, block_on) and f.id not in not_ruled_ids]
    if unmet := unmet_items(panel.compliance, findings):
        return f"not met: {_names(unmet)}"
    if blockers:
        return f"{_listed(blockers)} still {'stands' if len(blockers) == 1 else 'stand'}"
    # The ledger may rate the remark lower or as settled; a review that raises it still cannot approve.
    objections = [r for r in panel.remarks if r.severity.rank <= block_on.rank and not _waived(r, findings)]
    return f"it says itself: {objections[0].title} ({objections[0].severity})" if objections else ""


def _waived(remark: Remark, findings: Sequence[Finding]) -> bool:
    """Whether a person waived this remark."""
    waived_remarks = (f.remark for f in findings if f.state is FindingState.WAIVED)
    return any(_same_file(remark, other) and say_the_same(remark, other) for other in waived_remarks)


def _same_file(one: Remark, other: Remark) -> bool:
    return one.file == other.file or None in (one.file, other.file)


def has_unread_comment(findings: Sequence[Finding], now: ConvergenceState) -> bool:
    return any(is_unread_comment(finding, now.cycle) for finding in findings)


def send_back(why: str, blockers: tuple[str, ...], now: ConvergenceState, *, is_commented: bool = False) -> Decision:
    """One more improve phase, unless the cycles are used up or the loop makes no progress.

    `is_commented`: a person said something that the author has not read yet, which is worth another cycle.
    """
    if is_commented:
        return Revise(why, blockers)
    if now.cycle >= now.max_cycles:
        subject = "The only cycle is" if now.cycle == 1 else f"All {now.max_cycles} cycles are"
        if now.cycle > now.max_cycles:
            subject = f"Cycle {now.cycle} (max {now.max_cycles}) is"
        return Escalate(Reason.MAX_CYCLES, f"{subject} used up and it is still not approved: {why}", blockers)
    same = frozenset(blockers)
    if same and len(now.earlier_blockers) >= 2 and all(same <= past for past in now.earlier_blockers[-2:]):
        ids = ", ".join(sorted(same))
        return Escalate(Reason.STALLED, f"Two fixes in a row did not settle {ids}: {why}", blockers)
    return Revise(why, blockers)


def _disagree(ids: tuple[str, ...]) -> Escalate:
    who = f"{', '.join(ids)} {'was' if len(ids) == 1 else 'were'}"
    why = f"{who} disputed twice: the author and the reviewer disagree, and a person must say who is right."
    return Escalate(Reason.NEEDS_DISCUSSION, why, ids)


def _guarded(findings: Sequence[Finding]) -> Escalate | None:
    guard = [f for f in findings if f.remark.category is Category.GUARD and blocks(f, Severity.ERROR)]
    if not guard:
        return None
    return Escalate(Reason.GUARD, guard[0].remark.title, tuple(f.id for f in guard))


def _why(panel: PanelResult, findings: Sequence[Finding], blockers: tuple[str, ...], against: str) -> str:
    if unmet_items(panel.compliance, findings):
        return against
    if panel.verdict is Verdict.CHANGES_REQUESTED:
        return panel.rejection_reason or panel.summary or f"{_count(len(blockers), 'finding')} to fix"
    return f"approved, but {against}"


def unjudged(compliance: Sequence[Compliance], criteria: Sequence[str]) -> list[str]:
    """Criteria that a review does not mention or explicitly did not judge."""
    judged_items = {_plain_item(c.item) for c in compliance if c.met is not None}
    left_open = {_plain_item(c.item) for c in compliance if c.met is None and c.note} - judged_items
    open_criteria = [c for c in criteria if _plain_item(c) in left_open]
    if len(judged_items) + len(open_criteria) >= len(criteria):
        # reviewers paraphrase: as many judgements as criteria are taken as all of them, but for those named as open
        return open_criteria
    return [c for c in criteria if _plain_item(c) not in judged_items]


def _plain_item(text: str) -> str:
    return " ".join(text.split()).casefold()


def _alive(findings: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(f.id for f in findings if f.alive)


def _nth(cycle: int) -> str:
    return f"exactly the code of cycle {cycle}"


def _shortened(text: str, longest: int = 400) -> str:
    """The end of a message on one line, where agents usually report the result."""
    plain = " ".join(text.split())
    return plain if len(plain) <= longest else f"…{plain[-longest:].partition(' ')[2]}"


def _names(items: Sequence[str], most: int = 3) -> str:
    listing = ", ".join(items[:most])
    return listing if len(items) <= most else f"{listing} and {len(items) - most} more"


def _listed(ids: Sequence[str], most: int = 3) -> str:
    """`F1`, `F1 and F2`, `F1, F2 and 4 more`."""
    parts = ids if len(ids) <= most else [*ids[:most], f"{len(ids) - most} more"]
    return " and ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
