"""What a person decides on a reviewed commit: approve, reject, fix, skip, override. Each is one transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from burnish.core.event import Event
from burnish.core.finding import Category, blocks
from burnish.core.flow import passes_as_waived, pending_steps
from burnish.core.gate import Actor, GateChoice, GateDecision
from burnish.core.history import History, JudgedPhase
from burnish.core.journal import ReviewResult
from burnish.core.journal_events import ApprovalVoided, DecisionMade, ReviewStopped, TaskStatus, new_event
from burnish.core.policy import Policy
from burnish.core.recorded_reviews import stored_review
from burnish.core.status import ErrorCode, FinalVerdict, Reason, ReviewStatus, Status, check_move
from burnish.core.task import Task, TaskType
from burnish.engine.commands.override import (
    approved,
    check_seen,
    gate_closed,
    judged_commit,
    overridden,
    reasons_missing,
)
from burnish.engine.ports import EventLog, FollowUp
from burnish.engine.ports_git import Repository
from burnish.engine.transitions import status_events
from burnish.errors import BadInput, Refused


def decide(
    event_log: EventLog,
    repository: Repository,
    task_id: int,
    answer: GateDecision,
    policy: Policy,
    person: Actor,
    *,
    follow_up: FollowUp | None = None,
) -> Task:
    """Carry out what a person says about the commit that the person saw."""
    history = event_log.history(task_id)
    task = history.task
    _check_status(task, answer)
    _check_legal(task, answer.choice, policy)
    if task.spec.type is TaskType.PLAN:
        event_log.record(task_id, *gate_closed(history, answer.choice), *decide_plan(history, answer, person))
        return event_log.task(task_id)
    phase = check_seen(repository, history, answer.commit)
    if answer.choice is GateChoice.FIX:
        events = send_back(event_log, history, answer.note, person, commit=phase.result.commit)
    elif answer.choice is GateChoice.REJECT:
        events = _reject(event_log, history, answer.note, person, phase)
    else:
        events = _accept(history, answer, policy, person, phase, follow_up)
    event_log.record(task_id, *gate_closed(history, answer.choice), *events)
    return event_log.task(task_id)


def improve(event_log: EventLog, task_id: int, note: str, person: Actor, *, then: str) -> Task:
    """One improve as a step of its own, also past the maximum; `then` says whether a review follows."""
    history = event_log.history(task_id)
    task = history.task
    if task.status is Status.IN_PROGRESS:
        # a comment reopened it, or a run is at work on it
        raise Refused(f"Task {task.id} is already in progress.", hint=f"Continue it: burnish run {task.id}")
    check_move(str(task.id), task.status, Status.IN_PROGRESS)
    if task.status is Status.FAILED or judged_commit(history) is None:
        raise Refused(
            f"Task {task.id} has no work to improve yet.",
            hint=f"`burnish {'retry' if task.run else 'run'} {task.id}` has it done first.",
        )
    event_log.record(
        task_id, *gate_closed(history, GateChoice.FIX), *send_back(event_log, history, note, person, step=then)
    )
    return event_log.task(task_id)


def _check_status(task: Task, answer: GateDecision) -> None:
    """An answer to a gate that somebody else has answered is out of date, whatever the table of moves allows."""
    if answer.among and task.status not in answer.among:
        statuses = " or ".join(answer.among)
        raise Refused(
            f"Task {task.id} is {task.status}, not {statuses}: the decision is out of date.",
            hint=f"Read it again (burnish show {task.id}). To decide on its current state, name its status.",
        )


def _check_legal(task: Task, choice: GateChoice, policy: Policy) -> None:
    if choice is GateChoice.SKIP and policy.review_required:
        raise Refused(
            "The review is required and cannot be skipped.", hint="`review.required: false` in the settings allows it."
        )
    to = {GateChoice.FIX: Status.IN_PROGRESS, GateChoice.REJECT: Status.BLOCKED}.get(choice, Status.VERIFIED)
    check_move(str(task.id), task.status, to)
    if to is Status.VERIFIED and task.status is not Status.WAITING_APPROVAL:
        raise Refused(
            f"Task {task.id} is {task.status} and does not wait for an approval.",
            hint=f"To approve it against its review: burnish override {task.id}",
        )
    if task.status is Status.FAILED:
        raise Refused(f"Task {task.id} could not be run.", hint=f"`burnish retry {task.id}` goes on with it.")


def is_against(history: History, policy: Policy) -> bool:
    """Would accepting it go against a review, findings that block, a person's no, or no review at all?"""
    if history.task.spec.type is TaskType.PLAN:
        # a plan is reviewed only by the person who decides on it
        return False
    last = history.decision(history.cycle)
    is_accepted = last is not None and last.action in ("accept", "wait") and last.data.review_status != "failed"
    is_accepted = is_accepted or passes_as_waived(history, policy)
    review = stored_review(history, history.cycle)
    unseen = policy.review_required and review is None
    rejected_by_person = review is not None and history.rejected_by_person(review.result.tree)
    return not is_accepted or unseen or rejected_by_person or any(blocks(f, policy.block_on) for f in history.findings)


def _open_beside_approval(history: History, policy: Policy) -> list[str]:
    """What blocks although the review approves: findings that it did not rule on."""
    last = history.decision(history.cycle)
    waits = last is not None and last.action == "wait"
    return [f.id for f in history.findings if blocks(f, policy.block_on)] if waits else []


def checks_stand(history: History, policy: Policy) -> bool:
    """Who skips the review has not skipped what the checks and the guard found."""
    standing = [f.remark for f in history.findings if blocks(f, policy.block_on)]
    return any(r.source.startswith("check:") or r.category is Category.GUARD for r in standing)


def _pass_on(
    history: History, answer: GateDecision, person: Actor, phase: JudgedPhase, passed_step: str, step: str
) -> list[Event]:
    """This review may pass; the next step of the pipeline is still to judge."""
    task, why = history.task, answer.note or f"approved by a person, {step} is next"
    data = _signed("again", answer.choice, answer.note, person, why)
    data = replace(data, passed=passed_step, next=step, commit=phase.result.commit)
    return [
        new_event("decision.made", data, run=task.run, cycle=history.cycle, explicit=("note",)),
        status_events(task, Status.CODE_REVIEW, cycle=history.cycle, note=why),
    ]


def _accept(
    history: History,
    answer: GateDecision,
    policy: Policy,
    person: Actor,
    phase: JudgedPhase,
    follow_up: FollowUp | None,
) -> list[Event]:
    task, skips = history.task, answer.choice is GateChoice.SKIP
    status = ReviewStatus.SKIPPED if skips else ReviewStatus.PASSED
    against = checks_stand(history, policy) if skips else is_against(history, policy)
    if against and answer.grounds is None:
        raise reasons_missing(task, f"burnish decide {task.id} {answer.choice}", _open_beside_approval(history, policy))
    if not against and not skips and (steps := pending_steps(history, policy)):
        names = ("", *(step.name for step in policy.pipeline))
        return _pass_on(history, answer, person, phase, names[names.index(steps[0]) - 1], steps[0])
    if not against and task.review_status is ReviewStatus.FIXED and not skips:
        status = ReviewStatus.FIXED
    judge, spec_hash = policy.judge, ""
    if isinstance(phase.result, ReviewResult) and not (against or skips):
        judge, spec_hash = phase.result.criteria_hash or policy.judge, phase.result.spec_hash or ""
    over = [overridden(history, answer.grounds, person, follow_up)] if against and answer.grounds else []
    why = answer.note or f"{'skipped' if skips else 'approved'} by a person"
    data = _signed("accept", answer.choice, answer.note, person, why)
    data = replace(data, review_status=status, commit=phase.result.commit)
    final = None if skips else FinalVerdict.APPROVED
    return [
        *over,
        new_event("decision.made", data, run=task.run, cycle=history.cycle, explicit=("note",)),
        approved(task, phase, judge, why, person, spec_hash=spec_hash),
        status_events(task, Status.VERIFIED, cycle=history.cycle, final_verdict=final, review_status=status),
    ]


def _reject(event_log: EventLog, history: History, note: str, person: Actor, phase: JudgedPhase) -> list[Event]:
    task, why = history.task, note or "rejected by a person"
    where: dict[str, Any] = {"run": task.run, "cycle": history.cycle}
    blockers = tuple(history.open_finding_ids())
    reason, status = Reason.HUMAN_REJECTED, ReviewStatus.REJECTED
    tree, commit = phase.result.tree, phase.result.commit
    data = _signed("escalate", GateChoice.REJECT, note, person, why)
    data = replace(data, reason=reason, review_status=status, blockers=blockers, tree=tree, commit=commit)
    stop = status_events(
        task,
        Status.BLOCKED,
        cycle=history.cycle,
        reason=reason,
        error=ErrorCode.REVIEW_REJECTED,
        note=why,
        final_verdict=FinalVerdict.REJECTED,
        review_status=status,
    )
    rejection = new_event("review.rejected", ReviewStopped(why, blockers, person.name, commit), **where)
    decision = new_event("decision.made", data, **where, explicit=("note", "blockers"))
    return [*_void(event_log, task, why), decision, rejection, stop]


def send_back(
    event_log: EventLog, history: History, note: str, person: Actor, *, commit: str = "", step: str = ""
) -> list[Event]:
    """One more improve, with the findings and the person's own words; the maximum does not count here."""
    task = history.task
    if not note.strip() and not history.has_something_to_fix():
        raise BadInput(
            f"There is nothing to fix in task {task.id}: no finding is open.",
            hint='Write a note that says what to change (-m "…").',
        )
    why = note.strip() or "a person asked to fix the findings"
    blockers = tuple(history.open_finding_ids())
    data = _signed("revise", GateChoice.FIX, note, person, why)
    data = replace(data, guidance=note.strip(), blockers=blockers, commit=commit, step=step)
    data = replace(data, review_status=ReviewStatus.FAILED)
    where: dict[str, Any] = {"run": task.run, "cycle": history.cycle}
    return [
        *_void(event_log, task, "a person asked for changes"),
        new_event("decision.made", data, **where, explicit=("note", "guidance", "blockers")),
        new_event("review.rejected", ReviewStopped(why, blockers, person.name), **where),
        status_events(
            task, Status.IN_PROGRESS, cycle=history.cycle, note=note.strip(), review_status=ReviewStatus.FAILED
        ),
    ]


def _signed(action: str, choice: GateChoice, note: str, person: Actor, why: str) -> DecisionMade:
    return DecisionMade(action=action, why=why, choice=choice, by=person.name, via=person.via, note=note.strip())


def _void(event_log: EventLog, task: Task, why: str) -> list[Event]:
    approval = event_log.approval(task.id)
    if approval is None or not approval.valid:
        return []
    return [new_event("approval.voided", ApprovalVoided(why), run=task.run, cycle=task.cycle)]


def decide_plan(history: History, answer: GateDecision, person: Actor) -> list[Event]:
    """Approve it, reject it, or have it written again with a note."""
    task, note = history.task, answer.note.strip()
    if task.status is not Status.WAITING_APPROVAL:
        raise Refused(f"The plan of task {task.id} does not wait for a decision.", hint=f"burnish show {task.id}")
    where: dict[str, Any] = {"run": task.run, "cycle": history.cycle}
    signature = DecisionMade(choice=answer.choice, by=person.name, via=person.via, note=note)
    if answer.choice is GateChoice.FIX:
        if not note:
            raise BadInput("A plan is written again only with a note.", hint='Say what to change: -m "…"')
        again = replace(signature, action="again", why=note, guidance=note, supersede=("implement", "gate"))
        back = status_events(task, Status.IN_PROGRESS, cycle=history.cycle, note=note)
        return [new_event("decision.made", again, **where), back]
    if answer.choice is GateChoice.REJECT:
        return _reject_plan(history, note or "the plan was rejected by a person", signature, where)
    data = replace(signature, action="accept", why=note or "the plan was approved by a person")
    verification = status_events(task, Status.VERIFIED, cycle=history.cycle, final_verdict=FinalVerdict.APPROVED)
    completion = new_event("task.status", TaskStatus(Status.VERIFIED, Status.COMPLETED), **where)
    return [new_event("decision.made", data, **where, explicit=("note",)), verification, completion]


def _reject_plan(history: History, why: str, signature: DecisionMade, where: dict[str, Any]) -> list[Event]:
    reason = Reason.HUMAN_REJECTED
    data = replace(signature, action="escalate", why=why, reason=reason)
    stop = status_events(
        history.task,
        Status.BLOCKED,
        cycle=history.cycle,
        reason=reason,
        error=ErrorCode.REVIEW_REJECTED,
        note=why,
        final_verdict=FinalVerdict.REJECTED,
    )
    return [new_event("decision.made", data, **where, explicit=("blockers", "note")), stop]
