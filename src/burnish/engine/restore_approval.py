"""An approval counts again, without a call, when the settings or the task that it was given by are back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from burnish.core.approval import JUDGING, EarlierApproval, earlier_approvals
from burnish.core.codec import encode
from burnish.core.decision import Accept
from burnish.core.event import Event
from burnish.core.flow import DecideStep, next_step
from burnish.core.history import AnyPhase, History
from burnish.core.journal import is_review
from burnish.core.journal_events import Binding, DecisionMade, ReviewApproved, new_event
from burnish.core.policy import Policy
from burnish.core.status import FinalVerdict, ReviewStatus, Status
from burnish.core.task import Task
from burnish.engine.commands.lifecycle import changed_since
from burnish.engine.deciding import judge, needs_person, settled_status
from burnish.engine.human_gate import gate_opened_event
from burnish.engine.ports import EventLog
from burnish.engine.ports_git import Repository
from burnish.engine.transitions import status_events

WHY = "the branch, the settings and the task are again as they were when it was approved"


def restore_approval(event_log: EventLog, repository: Repository, task: Task, policy: Policy) -> bool:
    """Let the newest approval that holds now count again; base, tree, task and every reviewer must be covered by it."""
    newest = event_log.approval(task.id)
    is_held = task.runner is not None and not event_log.is_dead(task.runner)
    if task.status is not Status.CODE_REVIEW or newest is None or newest.valid or is_held:
        return False
    history = event_log.history(task.id)
    for earlier in earlier_approvals(event_log.events(task.id)):
        if (earlier.run, earlier.cycle) != (task.run, history.cycle):
            continue
        if changed_since(repository, task, earlier.approval, policy) is not None:
            continue
        events = _events(history, earlier, policy)
        if events:
            event_log.record(task.id, *events)
            return True
    return False


def _events(history: History, earlier: EarlierApproval, policy: Policy) -> list[Event]:
    """The decision, the approval and the new status; none where what is on record is no longer accepted."""
    before, cycle, approval = _as_approved(history, earlier), earlier.cycle, earlier.approval
    status: ReviewStatus | None = ReviewStatus.PASSED
    person = ""
    if not approval.by:
        if not isinstance(next_step(before, policy), DecideStep):
            return []
        decision = judge(before, policy, cycle)
        if not isinstance(decision, Accept):
            return []
        status = settled_status(before, cycle, decision)
        person = needs_person(before, cycle, policy)
    task = history.task
    where: dict[str, Any] = {"run": task.run, "cycle": cycle}
    decision_data = DecisionMade(
        action="accept",
        by="burnish",
        why=WHY,
        review_status=status,
        supersede=(*JUDGING, "gate"),
        reinstate=tuple(earlier.phases),
        restored=approval.event_id,
    )
    binding = _bound(earlier)
    approval_data = ReviewApproved(**binding.values(), why=WHY, restored=approval.event_id)
    events = [
        new_event("decision.made", decision_data, **where, explicit=("review_status", "reinstate")),
        new_event("review.approved", approval_data, **where),
    ]
    if person:
        return [*events, *gate_opened_event(history, cycle, binding, person, status)]
    final = FinalVerdict.APPROVED if status is not ReviewStatus.SKIPPED else None
    return [
        *events,
        status_events(task, Status.VERIFIED, cycle=cycle, note=WHY, final_verdict=final, review_status=status),
    ]


def _bound(earlier: EarlierApproval) -> Binding:
    """Exactly as it was given: base, tree, commit, who judged, and what was asked for."""
    given = earlier.approval
    criteria = encode(given.criteria) or None
    return Binding(given.base, given.tree, given.commit, given.judge, criteria, given.asked or "", given.by or "")


def _as_approved(history: History, earlier: EarlierApproval) -> History:
    """The record as it was before the approval was decided: with the checks and reviews that it rests on."""

    def counts(record: AnyPhase) -> AnyPhase:
        if record.cycle != earlier.cycle or not (record.phase in JUDGING or is_review(record.phase)):
            return record
        return replace(record, superseded=(record.phase, record.attempt) not in earlier.phases)

    places = [place for place, one in enumerate(history.decisions) if one.action == "accept"]
    decisions = history.decisions[: places[-1]] if places else history.decisions
    return replace(history, phases=tuple(map(counts, history.phases)), decisions=decisions)
