"""A person, or the setting `merge.on_conflict`, has the target merged into a task's branch. One transaction."""

from __future__ import annotations

from burnish.core.commit import TargetMerge
from burnish.core.flow import REVIEW_TOO
from burnish.core.gate import Actor, GateChoice
from burnish.core.history import History
from burnish.core.journal_events import ApprovalVoided, DecisionMade, new_event
from burnish.core.policy import Policy
from burnish.core.status import Reason, Status, check_move
from burnish.core.task import Task, TaskType
from burnish.engine.commands.override import gate_closed, judged_commit
from burnish.engine.ports import EventLog
from burnish.engine.transitions import status_events
from burnish.errors import Refused

# The statuses in which the branch has work that is at rest.
AT_REST = (Status.VERIFIED, Status.WAITING_APPROVAL, Status.CODE_REVIEW, Status.BLOCKED)

# Paths with a conflict that an event lists.
MAX_PATHS = 200


def check_rebase(history: History) -> None:
    """Refuse unless the branch has work of this cycle that nothing else is to be done with first."""
    task = history.task
    if task.spec.type not in (TaskType.IMPLEMENT, TaskType.IMPROVE):
        raise Refused(f"Task {task.id} is a {task.spec.type} task: it has no branch to merge.", hint="")
    if task.status is Status.COMPLETED:
        raise Refused(f"Task {task.id} is completed.", hint="Its change is in the target already.")
    if task.reason is Reason.HUMAN_REJECTED:
        raise Refused(
            f"Task {task.id} was rejected by a person.", hint=f'Ask for changes first: burnish improve {task.id} -m "…"'
        )
    if task.status not in AT_REST or judged_commit(history) is None or history.work(history.cycle) is None:
        verb = "retry" if task.status in (Status.FAILED, Status.BLOCKED, Status.CANCELLED) else "run"
        raise Refused(
            f"Task {task.id} is {task.status}: its work is to be finished first.", hint=f"burnish {verb} {task.id}"
        )
    check_move(str(task.id), task.status, Status.IN_PROGRESS)


def rebase(
    event_log: EventLog, history: History, merge: TargetMerge, head: str, why: str, policy: Policy, person: Actor
) -> Task:
    """The next cycle merges the target into the branch; the approval is void, because the base changes."""
    task, approval = history.task, event_log.approval(history.task.id)
    # where a person starts each step, the review of the merge is started with it
    is_automatic = task.auto_review and policy.trigger != "explicit"
    data = DecisionMade(
        action="revise",
        why=why,
        by=person.name,
        via=person.via,
        blockers=tuple(history.open_finding_ids()),
        commit=head,
        target_commit=merge.target,
        conflicts=merge.paths[:MAX_PATHS],
        step="" if is_automatic else REVIEW_TOO,
    )
    events = gate_closed(history, GateChoice.FIX)
    if approval and approval.valid:
        notice = ApprovalVoided(why, "base", approved_tree=approval.tree)
        events.append(new_event("approval.voided", notice, run=task.run, cycle=task.cycle))
    events.append(new_event("decision.made", data, run=task.run, cycle=history.cycle, explicit=("blockers",)))
    events.append(status_events(task, Status.IN_PROGRESS, cycle=history.cycle, note=why, clears_review=True))
    event_log.record(task.id, *events)
    return event_log.task(task.id)
