"""From what is on record to a decision, and from a decision to the task's next status: one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from burnish.core.approval import ApprovalCriteria, asked_for
from burnish.core.check import INDISTINGUISHABLE
from burnish.core.codec import encode
from burnish.core.decision import Accept, Decision, Escalate, Revise, Wait
from burnish.core.event import Event
from burnish.core.finding import blocks
from burnish.core.flow import (
    DecideStep,
    ReviewStep,
    decision_after_checks,
    decision_after_work,
    is_step_by_step,
    judged,
    reviews,
    target_to_merge,
)
from burnish.core.gate import REVIEW_APPROVED, approved_result
from burnish.core.history import History, JudgedPhase, PhaseRecord, fixed_by_reviewer
from burnish.core.journal import ReviewResult
from burnish.core.journal_events import Binding, DecisionMade, ReviewApproved, ReviewStopped, new_event
from burnish.core.policy import Policy
from burnish.core.recorded_reviews import by_person, stored_review, uncountable_checks, unseen_in_cycle, untested_files
from burnish.core.review import PERSON, Verdict
from burnish.core.status import ErrorCode, FinalVerdict, Reason, ReviewStatus, Status
from burnish.core.task import Task, TaskType
from burnish.engine.archive import archive
from burnish.engine.followups import make_followups
from burnish.engine.human_gate import asks_person, gate_opened_event
from burnish.engine.ports import Deps
from burnish.engine.task_setup import TaskSetup
from burnish.engine.transitions import status_events

FINAL = {
    Reason.MAX_CYCLES: FinalVerdict.MAX_CYCLES_REACHED,
    Reason.NEEDS_DISCUSSION: FinalVerdict.NEEDS_DISCUSSION,
    Reason.REJECTED: FinalVerdict.REJECTED,
    Reason.HUMAN_REJECTED: FinalVerdict.REJECTED,
}


def settle(deps: Deps, setup: TaskSetup, history: History, step: DecideStep) -> None:
    """Decide on a cycle and move the task."""
    decision = judge(history, setup.policy, step.cycle)
    task = history.task
    if task.spec.type is TaskType.REVIEW and _was_reviewed(decision):
        deps.record(task, *_reviewed_once(history, setup.policy, step.cycle, decision))
        archive(deps, setup.workspace, deps.event_log.task(task.id), step.cycle)
        return
    if setup.policy.followups and isinstance(decision, Accept) and stored_review(history, step.cycle):
        make_followups(deps, history)
        deps.failpoint("followups-made")
    deps.record(task, *_events(deps, setup, history, step.cycle, decision))
    deps.failpoint("decided")
    archive(deps, setup.workspace, deps.event_log.task(task.id), step.cycle)
    deps.failpoint("archived")


def _was_reviewed(decision: Decision) -> bool:
    no_review = (Reason.UNREADABLE_REVIEW, Reason.INCOMPLETE_REVIEW)
    return not (isinstance(decision, Escalate) and decision.reason in no_review)


def _reviewed_once(history: History, policy: Policy, cycle: int, decision: Decision) -> list[Event]:
    """A `review` task ends with its review, whatever the verdict: its findings are not fixed."""
    task, status = history.task, review_status(decision, stored_review(history, cycle))
    final = FinalVerdict.APPROVED if isinstance(decision, Accept | Wait) else FinalVerdict.CHANGES_REQUESTED
    open_blockers = any(blocks(finding, policy.block_on) for finding in history.findings)
    if isinstance(decision, Wait) and (open_blockers or unseen_in_cycle(history, policy, cycle)):
        # not all of it was seen or ruled on, and a review task has no gate that could wait for a person
        final = FinalVerdict.NEEDS_DISCUSSION
    if isinstance(decision, Escalate) and decision.reason in (Reason.REJECTED, Reason.NEEDS_DISCUSSION):
        final = FINAL[decision.reason]
    data = DecisionMade(action="accept", by="burnish", why=decision.why, review_status=status)
    events = [new_event("decision.made", data, run=task.run, cycle=cycle, explicit=("review_status",))]
    if task.status is Status.IN_PROGRESS:
        events.append(status_events(task, Status.CODE_REVIEW, cycle=cycle))
    at_review = _at(task, Status.CODE_REVIEW)
    return [*events, status_events(at_review, Status.COMPLETED, cycle=cycle, final_verdict=final, review_status=status)]


def judge(history: History, policy: Policy, cycle: int) -> Decision:
    """Pure: the same record always gives the same decision."""
    task = history.task
    if task.spec.type is TaskType.PLAN:
        return Accept("the plan is written")
    if history.work(cycle):
        early = decision_after_work(history, policy, cycle) or decision_after_checks(history, policy, cycle)
        if early:
            return early
    if stored_review(history, cycle) is None:
        return _unreviewed(history, policy)
    decision = judged(history, policy, cycle)
    assert not isinstance(decision, ReviewStep), "a step that is still to be asked is asked first"
    return decision


def _unreviewed(history: History, policy: Policy) -> Decision:
    if policy.review_required or reviews(history, policy) or policy.review_enabled:
        return Wait("it waits for you to start its review")
    return Accept("review skipped, as the settings say")


def _events(deps: Deps, setup: TaskSetup, history: History, cycle: int, decision: Decision) -> list[Event]:
    task = history.task
    status = settled_status(history, cycle, decision)
    asks = asks_person(history, setup.policy, cycle, decision)
    pauses = isinstance(decision, Revise) and not asks and is_step_by_step(history, cycle)
    data = _decision_data(history, setup.policy, cycle, decision, status)
    if asks or pauses:
        data = replace(data, action="ask" if asks else "wait", proposed=data.action)
    explicit = ("review_status", "blockers") if isinstance(decision, Revise | Escalate) else ("review_status",)
    events = [new_event("decision.made", data, run=task.run, cycle=cycle, explicit=explicit)]
    if task.status is Status.IN_PROGRESS and (asks or pauses or isinstance(decision, Accept | Wait)):
        events.append(status_events(task, Status.CODE_REVIEW, cycle=cycle))
    if asks:
        return events + gate_opened_event(history, cycle, _bound(history, setup.policy, cycle), decision.why, status)
    if pauses:
        rejection = ReviewStopped(decision.why, data.blockers)
        return [*events, new_event("review.rejected", rejection, run=task.run, cycle=cycle)]
    return events + _outcome(deps, setup, history, cycle, decision, status)


def _decision_data(
    history: History, policy: Policy, cycle: int, decision: Decision, status: ReviewStatus | None
) -> DecisionMade:
    accepts = isinstance(decision, Accept | Wait)
    return DecisionMade(
        action=type(decision).__name__.lower(),
        by="burnish",
        why=decision.why,
        review_status=status,
        blockers=decision.blockers if isinstance(decision, Revise | Escalate) else (),
        reason=decision.reason if isinstance(decision, Escalate) else None,
        unseen_files=tuple(unseen_in_cycle(history, policy, cycle)) if accepts else (),
    )


def settled_status(history: History, cycle: int, decision: Decision) -> ReviewStatus | None:
    """The status of the review, which is `fixed` where its reviewer changed the code."""
    status = review_status(decision, stored_review(history, cycle))
    has_reviewer_fix = fixed_by_reviewer(history, cycle) is not None
    return ReviewStatus.FIXED if status is ReviewStatus.PASSED and has_reviewer_fix else status


def review_status(decision: Decision, review: PhaseRecord[ReviewResult] | None) -> ReviewStatus | None:
    if isinstance(decision, Accept):
        return ReviewStatus.PASSED if review else ReviewStatus.SKIPPED
    if isinstance(decision, Wait):
        return ReviewStatus.PASSED if review else None
    if isinstance(decision, Escalate) and decision.reason in (Reason.REJECTED, Reason.HUMAN_REJECTED):
        return ReviewStatus.REJECTED
    return ReviewStatus.FAILED


def _outcome(
    deps: Deps, setup: TaskSetup, history: History, cycle: int, decision: Decision, status: ReviewStatus | None
) -> list[Event]:
    task = history.task
    where: dict[str, Any] = {"run": task.run, "cycle": cycle}
    if isinstance(decision, Revise):
        rejection = new_event("review.rejected", ReviewStopped(decision.why, decision.blockers), **where)
        back = status_events(task, Status.IN_PROGRESS, cycle=cycle, review_status=status)
        # an improve that only disputed leaves the task where it was
        return [rejection, back] if task.status is Status.CODE_REVIEW else [rejection]
    if isinstance(decision, Escalate):
        return _blocked(history, cycle, decision, status)
    return _accepted(deps, setup, history, cycle, decision, status)


def _blocked(history: History, cycle: int, decision: Escalate, status: ReviewStatus | None) -> list[Event]:
    task = history.task
    kind = {
        Reason.MAX_CYCLES: "review.max_cycles",
        Reason.REJECTED: "review.rejected",
        Reason.HUMAN_REJECTED: "review.rejected",
        Reason.UNREADABLE_REVIEW: "review.failed",
        Reason.INCOMPLETE_REVIEW: "review.failed",
    }.get(decision.reason)
    events = (
        [new_event(kind, ReviewStopped(decision.why, decision.blockers), run=task.run, cycle=cycle)] if kind else []
    )
    wants_changes = decision.blockers or history.sent_back
    final = FINAL.get(decision.reason) or (FinalVerdict.CHANGES_REQUESTED if wants_changes else None)
    is_rejected = decision.reason in (Reason.REJECTED, Reason.HUMAN_REJECTED)
    stop = status_events(
        task,
        Status.BLOCKED,
        cycle=cycle,
        reason=decision.reason,
        error=ErrorCode.REVIEW_REJECTED if is_rejected else None,
        note=decision.why,
        final_verdict=final,
        review_status=status,
    )
    return [*events, stop]


def _accepted(
    deps: Deps, setup: TaskSetup, history: History, cycle: int, decision: Accept | Wait, status: ReviewStatus | None
) -> list[Event]:
    task = history.task
    at_review = _at(task, Status.CODE_REVIEW)
    if task.spec.type is TaskType.PLAN and setup.policy.approval == "required":
        why = "a person is to approve the plan (approval: required)"
        return gate_opened_event(history, cycle, _bound(history, setup.policy, cycle), why, None)
    if task.spec.type in (TaskType.PLAN, TaskType.REVIEW):
        return [status_events(at_review, Status.COMPLETED, cycle=cycle, review_status=status)]
    if status is None:
        return []
    binding = _bound(history, setup.policy, cycle)
    events = []
    if isinstance(decision, Accept):
        signed_binding = replace(binding, by=_person_alone(history, setup.policy, cycle))
        approval = ReviewApproved(**signed_binding.values(), why=decision.why)
        events.append(new_event("review.approved", approval, run=task.run, cycle=cycle))
    why = decision.why if isinstance(decision, Wait) else needs_person(history, cycle, setup.policy)
    if why:
        return [*events, *gate_opened_event(history, cycle, binding, why, status)]
    final = FinalVerdict.APPROVED if status is not ReviewStatus.SKIPPED else None
    return [*events, status_events(at_review, Status.VERIFIED, cycle=cycle, final_verdict=final, review_status=status)]


def _person_alone(history: History, policy: Policy, cycle: int) -> str:
    """The person whose own review this approval is, with no reviewer of the settings beside it; "" for others."""
    review = stored_review(history, cycle)
    if review is None or policy.pipeline or not by_person(review.result):
        return ""
    return review.result.reviewers[0].agent.removeprefix(PERSON)


def _bound(history: History, policy: Policy, cycle: int) -> Binding:
    """What was judged and by which reviewers; not the current branch and settings."""
    phase: JudgedPhase | None = stored_review(history, cycle) or history.tip(cycle)
    assert phase
    steps = ("", *(step.name for step in policy.pipeline))
    reviews = [record.result for step in steps if (record := stored_review(history, cycle, step))]
    judge = _bound_to(policy, [review.criteria_hash for review in reviews], policy.judge)
    criteria = None
    if policy.judges_as(judge) and policy.criteria:
        criteria = encode(_who_approved(history, policy.criteria, cycle))
    spec_hash = _bound_to(policy, [review.spec_hash for review in reviews], asked_for(history.task.spec))
    return Binding(history.task.base, phase.result.tree, phase.result.commit, judge, criteria, spec_hash)


def _who_approved(history: History, criteria: ApprovalCriteria, cycle: int) -> ApprovalCriteria:
    """Of those who judge, the ones whose own verdict is an approval: without the others it would stand as well."""
    for step in criteria.steps:
        review = stored_review(history, cycle, step.name)
        reviewers = review.result.reviewers if review else ()
        if review is None or by_person(review.result) or len(reviewers) != len(step.reviewers):
            # a review from outside takes the place of all of them
            reviewers = ()
        approvers = {place for place, one in enumerate(reviewers) if one.verdict == Verdict.APPROVED}
        criteria = criteria.approved_by(step.name, approvers)
    return criteria


def _bound_to(policy: Policy, hashes: Sequence[str | None], now: str) -> str:
    """What judged it, or by which words. If that has changed since, the approval is void at once."""
    return next((one for one in hashes if one not in (None, now) and one not in policy.judge_before), None) or now


def needs_person(history: History, cycle: int, policy: Policy) -> str:
    """Why an approval waits for a person; "": it does not."""
    task, review = history.task, stored_review(history, cycle)
    if review and by_person(review.result):
        # the review itself is a person's: no other person needs to be asked
        return ""
    if review and history.rejected_by_person(review.result.tree):
        return "a person rejected this very change, so that only a person can accept it"
    if policy.hitl != "off":
        work = history.work(cycle)
        # an approval that the person gave before is void then, and the person is to know why the task is back
        cause = work.result.why if work and work.result.by_hand else _resolved_conflicts(history, cycle)
        return approved_result(cause) if cause else REVIEW_APPROVED
    if task.spec.skip_tests:
        # `policy.approval` is `required` because of it
        return "its tests were skipped (skip_tests), so a person is to approve it"
    if policy.approval == "required":
        return "a person is to approve it (approval: required)"
    if policy.uncountable == "wait" and (reasons := uncountable_checks(history, cycle)):
        return f"{reasons[0]}: {INDISTINGUISHABLE}, so a person is to approve it (checks.uncountable)"
    if policy.uncountable == "wait" and (files := untested_files(history, cycle)):
        more = f" and {len(files) - 1} more" if files[1:] else ""
        return f"no test of {files[0]}{more} was run, so a person is to approve it (checks.uncountable)"
    return ""


def _resolved_conflicts(history: History, cycle: int) -> str:
    """That the author of this cycle merged the target and resolved its conflicts; "": it did something else."""
    merge = target_to_merge(history, cycle)
    if merge is None or not merge.data.conflicts:
        return ""
    paths = merge.data.conflicts
    more = f" and {len(paths) - 3} more" if paths[3:] else ""
    names = f"{', '.join(paths[:3])}{more}"
    return f"{history.task.target or 'the target'} was merged, and the agent resolved conflicts in {names}"


def _at(task: Task, status: Status) -> Task:
    """The task as it will be after the events before this one."""
    return replace(task, status=status)
