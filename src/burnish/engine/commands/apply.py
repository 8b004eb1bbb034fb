"""A person applies suggestions: a commit on the task's branch, which checks and a review judge next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from burnish.core.commit import Commit
from burnish.core.event import Event
from burnish.core.finding import Finding, Reply
from burnish.core.gate import Actor, GateChoice
from burnish.core.history import History
from burnish.core.journal_events import ApprovalVoided, DecisionMade, FindingChanged, PhaseStarted, new_event
from burnish.core.ledger import ledger
from burnish.core.status import Status
from burnish.core.task import Task, TaskType
from burnish.engine.commands.override import gate_closed, judged_commit
from burnish.engine.ports import EventLog
from burnish.engine.transitions import status_events, work_by_hand
from burnish.errors import Refused

# part of the trailers of the commit; no phase of a run has this name
APPLY = "apply"
_WITH_WORK = (Status.VERIFIED, Status.WAITING_APPROVAL, Status.CODE_REVIEW, Status.BLOCKED, Status.IN_PROGRESS)


def check_apply(history: History) -> None:
    """Refuse unless the branch has finished work that a commit can be added to."""
    task = history.task
    if task.spec.type not in (TaskType.IMPLEMENT, TaskType.IMPROVE):
        raise Refused(f"Task {task.id} is a {task.spec.type} task: it has no branch.", hint="Change the files by hand.")
    if task.status not in _WITH_WORK or judged_commit(history) is None:
        verb = "retry" if task.status in (Status.FAILED, Status.CANCELLED) else "show"
        raise Refused(f"Task {task.id} is {task.status}: its work cannot be changed.", hint=f"burnish {verb} {task.id}")


def record_applied(
    event_log: EventLog, history: History, findings: Sequence[Finding], commit: Commit, person: Actor, at: str
) -> Task:
    """Record the commit as work by hand; the approval is void. The findings stay open until a review or a person rules.

    A task whose author has more to do stays with the author, who continues from the commit.
    """
    task, ids = history.task, [finding.id for finding in findings]
    why = f"a person applied {'the suggestion' if len(ids) == 1 else 'the suggestions'} of {', '.join(ids)}"
    note = f"Applied the suggestion in commit {commit.sha[:12]}."
    events = [
        new_event(
            "finding.replied",
            FindingChanged(ledger.reply(history.findings, id, Reply(person.name, note, at))),
            run=task.run,
            cycle=history.cycle,
        )
        for id in ids
    ]
    approval = event_log.approval(task.id)
    if approval and approval.valid:
        notice = ApprovalVoided(why, "tree", commit.tree, approval.tree)
        events.append(new_event("approval.voided", notice, run=task.run, cycle=history.cycle))
    if not _has_more_to_do(history, ids):
        events += [*gate_closed(history, GateChoice.FIX), *_judged_next(history, commit, why, person)]
    event_log.record(task.id, *events)
    return event_log.task(task.id)


def _has_more_to_do(history: History, applied_ids: Sequence[str]) -> bool:
    """Whether the author was sent back for more than what is applied now."""
    decision = history.decision(history.cycle)
    if history.task.status is not Status.IN_PROGRESS or decision is None:
        return False
    others = set(decision.data.blockers) & set(history.open_finding_ids()) - set(applied_ids)
    return bool(others or decision.data.guidance or decision.data.target_commit)


def _judged_next(history: History, commit: Commit, why: str, person: Actor) -> list[Event]:
    """The next cycle judges the commit; no agent works in it."""
    task, cycle = history.task, history.cycle + 1
    decision = DecisionMade(action="revise", by=person.name, via=person.via, why=why, commit=commit.sha)
    events = [
        new_event("decision.made", decision, run=task.run, cycle=history.cycle, explicit=("blockers",)),
        new_event("phase.started", PhaseStarted("improve", by_hand=True, why=why), run=task.run, cycle=cycle),
        new_event("phase.finished", work_by_hand("improve", commit.sha, commit.tree, why), run=task.run, cycle=cycle),
    ]
    if task.status is not Status.CODE_REVIEW:
        events.append(
            status_events(replace(task, cycle=cycle), Status.CODE_REVIEW, cycle=cycle, note=why, clears_review=True)
        )
    return events
