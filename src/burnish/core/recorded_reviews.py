"""Decisions from recorded reviews, also after a person waived their blockers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from burnish.core.criteria import is_criterion, unmet_items
from burnish.core.decision import Accept, ConvergenceState, Decision, Escalate, Wait, after_review
from burnish.core.finding import Category, Finding, FindingState, Severity, blocks
from burnish.core.history import DecisionRecord, History, PhaseRecord
from burnish.core.journal import CheckRecord, CheckResult, ReviewResult
from burnish.core.policy import Policy, is_test, needed_approvals
from burnish.core.review import PanelResult, UnseenFile, Verdict, is_person
from burnish.core.status import Reason

ReviewRecord = PhaseRecord[ReviewResult]


def panel_of(review: ReviewResult, findings: Sequence[Finding] = (), allow: Sequence[str] = ()) -> PanelResult:
    """The part of a recorded review that decides; without the remarks whose findings a person waived since."""
    waived_ids = {f.id for f in findings if f.state is FindingState.WAIVED}
    return PanelResult(
        results=(),
        verdict=Verdict(review.verdict) if review.verdict else None,
        summary=review.summary,
        why=review.why,
        uncovered=review.uncovered,
        unseen_files=unseen_in(review, allow),
        blocking=review.blocking,
        rejection_reason=review.rejection_reason,
        compliance=review.compliance,
        remarks=tuple(remark.as_remark() for remark in review.blocking_remarks if remark.finding not in waived_ids),
        signed=review.signed,
        mechanical=review.mechanical,
        not_ruled=review.not_ruled,
    )


def unseen_in(review: ReviewResult, allow: Sequence[str] = ()) -> tuple[UnseenFile, ...]:
    """Files whose content this review could not show to anyone. A person's own review needs no second person."""
    return () if by_person(review) else not_allowed(review.unseen_files, allow)


def unseen_in_cycle(history: History, policy: Policy, cycle: int) -> tuple[UnseenFile, ...]:
    """Of all reviews of the cycle together: what an approval of it accepts without a reviewer's word."""
    steps = ("", *(step.name for step in policy.pipeline))
    records = [record for step in steps if (record := stored_review(history, cycle, step))]
    return tuple(dict.fromkeys(file for record in records for file in unseen_in(record.result, policy.unseen_allow)))


def not_allowed(files: Sequence[UnseenFile], allow: Sequence[str]) -> tuple[UnseenFile, ...]:
    """Without the files that `review.unseen.allow` names. `*` matches across folders."""
    return tuple(file for file in files if not any(fnmatchcase(file.path, glob) for glob in allow))


def settled_by_waiver(history: History, cycle: int) -> DecisionRecord | None:
    """A person waived the last blocker of that cycle: the record of it, if there was no decision since."""
    last = next((d for d in reversed(history.decisions) if d.cycle == cycle), None)
    return last if last and last.action == "again" and last.data.waived else None


def stored_review(history: History, cycle: int, step: str = "") -> ReviewRecord | None:
    """The review of this cycle; after a waiver also an earlier one of the very same tree."""
    own = history.review(cycle, step)
    work = history.tip(cycle)
    if own or work is None or settled_by_waiver(history, cycle) is None:
        return own
    past = (history.review(earlier, step) for earlier in range(cycle - 1, 0, -1))
    return next((r for r in past if r and r.result.tree == work.result.tree), None)


def last_blockers_gone(findings: Sequence[Finding], blockers: Sequence[str], block_on: Severity) -> bool:
    """Whether no blocker is left and a person waived at least one of them."""
    return blockers_gone(findings, blockers) and not any(blocks(f, block_on) for f in findings)


def blockers_gone(findings: Sequence[Finding], blockers: Sequence[str]) -> bool:
    """Whether none of these blockers is left and a person waived at least one of them. Others may be open."""
    findings_by_id = {f.id: f for f in findings}
    were = [findings_by_id[id] for id in blockers if id in findings_by_id]
    return any(f.state is FindingState.WAIVED for f in were) and not any(f.alive for f in were)


def reviewed(
    history: History, policy: Policy, cycle: int, step: str, now: ConvergenceState, criteria: Sequence[str]
) -> Decision | None:
    """The decision from one stored review; None if there is none yet."""
    record = stored_review(history, cycle, step)
    if record is None:
        return None
    review = record.result
    panel = panel_of(review, history.findings, policy.unseen_allow)
    waiver = settled_by_waiver(history, cycle)
    is_settled = waiver and last_blockers_gone(history.findings, waiver.data.blockers, policy.block_on)
    if not is_settled and not _rests_on_waived(panel, history.findings):
        decision = after_review(panel, history.findings, now, block_on=policy.block_on, criteria=criteria)
        return _by_whom(decision, panel, review)
    panel = _with_quorum(_as_waived(panel, review, history.findings), review, policy, step)
    decision = after_review(panel, history.findings, now, block_on=policy.block_on, criteria=criteria)
    return _in_words(decision, history.findings)


def _with_quorum(panel: PanelResult, review: ReviewResult, policy: Policy, step: str) -> PanelResult:
    """The panel without a verdict if too few reviews could be read. A waiver does not replace missing reviews."""
    if panel.verdict is not Verdict.APPROVED or by_person(review):
        return panel
    pipeline_step = next((one for one in policy.pipeline if one.name == step), None)
    quorum, reviewers = (
        (pipeline_step.quorum, pipeline_step.reviewers) if pipeline_step else (policy.quorum, policy.reviewers)
    )
    verdict_count = sum(bool(reviewer.verdict) for reviewer in review.reviewers)
    approvals_needed = min(needed_approvals(quorum, len(reviewers)), len(review.reviewers))
    if verdict_count >= approvals_needed:
        return panel
    return replace(
        panel,
        verdict=None,
        why=f"{verdict_count} of {approvals_needed} approvals; the other reviewers could not be read",
    )


def by_person(review: ReviewResult) -> bool:
    """Whether a person wrote the review."""
    return any(is_person(reviewer.agent) for reviewer in review.reviewers)


def _by_whom(decision: Decision, panel: PanelResult, review: ReviewResult) -> Decision:
    """The decision with its own reason if a person rejected the change."""
    is_rejection = panel.verdict is Verdict.REJECTED and by_person(review)
    if isinstance(decision, Escalate) and decision.reason is Reason.REJECTED and is_rejection:
        return replace(decision, reason=Reason.HUMAN_REJECTED)
    return decision


def approved_to_continue(history: History, cycle: int, step: str) -> bool:
    """Whether a person let this review of the cycle pass and requested no other since."""
    for decision in reversed([d for d in history.decisions if d.cycle == cycle]):
        if decision.data.passed == step:
            return True
        if decision.data.supersede:
            return False
    return False


def _rests_on_waived(panel: PanelResult, findings: Sequence[Finding]) -> bool:
    """Whether the review asks only for changes that a person has waived."""
    has_waiver = any(f.state is FindingState.WAIVED for f in findings)
    return panel.verdict is Verdict.CHANGES_REQUESTED and has_waiver and not any(f.alive for f in findings)


def _as_waived(panel: PanelResult, review: ReviewResult, findings: Sequence[Finding]) -> PanelResult:
    """The review without waived objections. An unreadable review or a rejection stays unchanged."""
    if panel.verdict is not Verdict.CHANGES_REQUESTED or panel.blocking:
        return panel
    unmet = unmet_items(panel.compliance, findings)
    if not any(is_criterion(f) for f in findings) and len(unmet) <= _waived_compliance(findings):
        # recorded before criteria had findings of their own
        unmet = []
    compliance = tuple(c if c.met is not False or c.item in unmet else replace(c, met=True) for c in panel.compliance)
    # A reviewer that asks for changes need not have seen everything; one that approves must have.
    unseen = ("what the review did not list",) if review.unseen is None else review.unseen
    return replace(panel, verdict=Verdict.APPROVED, compliance=compliance, uncovered=unseen)


def _waived_compliance(findings: Sequence[Finding]) -> int:
    return sum(f.state is FindingState.WAIVED and f.remark.category is Category.COMPLIANCE for f in findings)


def _in_words(decision: Decision, findings: Sequence[Finding]) -> Decision:
    ids = ", ".join(f.id for f in findings if f.state is FindingState.WAIVED)
    if isinstance(decision, Wait):
        return replace(decision, why=f"{ids} waived by a person; {decision.why}")
    if isinstance(decision, Accept):
        return replace(decision, why=f"{ids} waived by a person; nothing else stood in the way")
    return decision


def uncountable_checks(history: History, cycle: int) -> list[str]:
    """Why new failures cannot be distinguished from old ones, by blocking check of the newest run up to this cycle."""
    checks = _newest_checks(history, cycle)
    return [check.uncountable for check in checks if check.uncountable and check.blocking]


def untested_note(history: History, cycle: int) -> str:
    """That the change is outside of the `paths` of all tests, or that tests of changed files were not run; else ""."""
    tests = [check for check in _newest_checks(history, cycle) if is_test(check.name)]
    left_out = [check.name for check in tests if check.status == "not_run"]
    if left_out and len(left_out) == len(tests):
        return no_test_was_run(left_out)
    newest = _newest_check(history, cycle)
    return " ".join(newest.untested) if newest else ""


def untested_files(history: History, cycle: int) -> tuple[str, ...]:
    """Changed files that have tests, none of which was run."""
    newest = _newest_check(history, cycle)
    return newest.untested_files if newest else ()


def base_test_notes(history: History, cycle: int) -> tuple[str, ...]:
    """Which tests of the base fail with the change, which edits tests, by check; or why that is unknown."""
    return tuple(check.base_note for check in _newest_checks(history, cycle) if check.base_note)


def tests_ran(checks: Iterable[CheckRecord]) -> bool:
    """Whether one of these checks ran a test."""
    for check in checks:
        if check.counts:
            if check.counts.passed or check.counts.failed:
                return True
        elif is_test(check.name) and check.status in ("passed", "failed"):
            return True  # its exit code is all that is known
    return False


def is_tested(history: History, cycle: int) -> bool:
    """Whether a test ran for the newest state up to this cycle."""
    return tests_ran(_newest_checks(history, cycle))


def no_test_was_run(names: Iterable[str]) -> str:
    return f"No test was run: no changed file is in the paths of {', '.join(names)}."


def _newest_checks(history: History, cycle: int) -> tuple[CheckRecord, ...]:
    newest = _newest_check(history, cycle)
    return newest.checks if newest else ()


def _newest_check(history: History, cycle: int) -> CheckResult | None:
    records = (history.check(number) for number in range(cycle, 0, -1))
    newest = next((record for record in records if record), None)
    return newest.result if newest else None
