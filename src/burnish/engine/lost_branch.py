"""A task whose branch or commit is gone: its approval is void, and it continues from what can still be read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from burnish.core.approval import VoidCause
from burnish.core.event import Event
from burnish.core.flow import RUNNING
from burnish.core.history import History, with_result
from burnish.core.journal import WorkResult
from burnish.core.journal_events import ApprovalVoided, new_event
from burnish.core.status import Reason, Status
from burnish.core.task import Task, TaskType
from burnish.engine.ports import EventLog
from burnish.engine.ports_git import LostBranch, Repository
from burnish.engine.transitions import judge_again, judge_again_on_new_base, resumed, status_events

APPROVED = (Status.VERIFIED, Status.WAITING_APPROVAL)
# what can be continued; a task that was completed or cancelled needs its branch no more
OPEN = frozenset({*APPROVED, *RUNNING, Status.BLOCKED, Status.FAILED})
BACK = "the branch is there again, as it was approved"


@dataclass(frozen=True, slots=True)
class Recovery:
    """The newest commit of a run that can be read. `is_newest`: nothing of the work is lost."""

    commit: str
    tree: str
    cycle: int
    is_newest: bool


def is_concerned(task: Task) -> bool:
    """Does the task rely on a branch with work in it? A plan has none, and a fresh run has none yet."""
    return bool(task.branch and task.base and task.commit) and task.spec.type is not TaskType.PLAN


def void_lost(event_log: EventLog, repository: Repository, task: Task) -> str | None:
    """Take the approval back if the branch or its commit is gone; the words say what is left of it."""
    return block_lost(event_log, repository, task) if task.status in APPROVED and is_concerned(task) else None


def block_lost(event_log: EventLog, repository: Repository, task: Task) -> str | None:
    """Have the task wait for a person, if its branch or commit is gone; one that waits for it already is left alone."""
    loss = repository.lost_branch(task)
    if loss is None or (task.status, task.reason) == (Status.BLOCKED, Reason.BRANCH_GONE):
        return None
    history = event_log.history(task.id)
    why = describe_loss(repository, history, loss)
    events = []
    approval = event_log.approval(task.id)
    if approval and approval.valid:
        data = ApprovalVoided(why, VoidCause.BRANCH, approved_tree=approval.tree)
        events.append(new_event("approval.voided", data, run=task.run, cycle=task.cycle))
    if task.status is Status.FAILED:
        return why  # it waits for a person already, and `retry` is what answers that
    if task.status is not Status.BLOCKED:
        events.append(status_events(task, Status.BLOCKED, reason=Reason.BRANCH_GONE, note=why))
    if events:
        event_log.record(task.id, *events)
    return why


def describe_loss(repository: Repository, history: History, loss: LostBranch) -> str:
    """What is gone, and what brings it back or continues from what is left."""
    task, found = history.task, find_recovery(repository, history)
    what = f"the branch {task.branch} {loss.words}"
    if found and found.is_newest:
        back = f"`git branch {task.branch} {found.commit[:12]}` or " if loss.is_deleted else ""
        return f"{what}; its commit {found.commit[:12]} is still there: {back}`burnish retry {task.id}` brings it back"
    restart = f"`burnish retry {task.id} --restart` begins again from the base"
    again = f"`burnish retry {task.id}` continues from {found.commit[:12]} (cycle {found.cycle}), " if found else ""
    workspace = repository.workspace(task)
    if not found and workspace.is_own() and workspace.checked_out_commit() == task.commit:
        again = f"`burnish retry {task.id}` commits it again from the files of the workspace, "
    refs = repository.kept_refs(task)
    offer = f"; kept, to look at with `git show`: {', '.join(refs)}" if refs else ""
    return f"{what} and its commit {str(task.commit)[:12]} cannot be read any more: {again}{restart}{offer}"


def find_recovery(repository: Repository, history: History) -> Recovery | None:
    """The newest commit of this run all of whose objects can be read."""
    records = _commits(history)
    for place, (commit, tree, cycle) in enumerate(records):
        if repository.is_whole(history.task, commit):
            return Recovery(commit, tree, cycle, place == 0)
    return None


def _commits(history: History) -> list[tuple[str, str, int]]:
    """Commit, tree and cycle of what the run made, newest first."""
    records = [p for p in with_result(history.phases, WorkResult) if p.result.changed and p.result.commit]
    found = {p.result.commit: (p.result.tree, p.cycle) for p in records}
    return [(commit, tree, cycle) for commit, (tree, cycle) in reversed(found.items())]


def continue_lost(event_log: EventLog, repository: Repository, task: Task) -> str | None:
    """Put the branch at the newest commit that can be read and let the task continue there; None: nothing is left."""
    history = event_log.history(task.id)
    found = find_recovery(repository, history)
    if (found is None or not found.is_newest) and repository.restore_objects(task):
        found = find_recovery(repository, history)
    if found is None or not found.is_newest:
        found = _write_newest_again(repository, history, onto=found.commit if found else str(task.base)) or found
    if found is None:
        return None
    repository.put_branch(task, found.commit)
    if found.is_newest:
        why = f"the branch {task.branch} was brought back at {found.commit[:12]}"
        if not _stopped_before(task):
            return_to_review(event_log, history, why)
    else:
        why = f"the branch {task.branch} continues at {found.commit[:12]}, what came later could not be read"
        events = judge_again_on_new_base(history, found.commit, found.tree, why)
        event_log.record(task.id, *events, *_to_review(history, why))
    return why


def _stopped_before(task: Task) -> bool:
    """Did it stop for another reason? That waits for a person still, now with the branch."""
    return task.status is Status.FAILED or (task.status is Status.BLOCKED and task.reason is not Reason.BRANCH_GONE)


def _write_newest_again(repository: Repository, history: History, *, onto: str) -> Recovery | None:
    """The workspace may still have the files of the commit that was lost."""
    commit, tree, cycle = next(iter(_commits(history)), ("", "", 0))
    new_commit = repository.write_again(history.task, commit, tree, onto) if commit else None
    return Recovery(new_commit, tree, cycle, is_newest=False) if new_commit else None


def return_to_review(event_log: EventLog, history: History, why: str) -> None:
    """Nothing of the work is lost: an approval that stood may count again, else what is there is judged."""
    task = history.task
    approval = event_log.approval(task.id)
    is_judged = task.reason is Reason.BRANCH_GONE or task.status in APPROVED or approval is not None
    events = [judge_again(history, why)] if is_judged and history.decision(history.cycle) else []
    event_log.record(task.id, *events, *_to_review(history, why))


def _to_review(history: History, why: str) -> list[Event]:
    task = history.task
    if task.status is Status.CODE_REVIEW:
        return []
    if task.status is Status.IN_PROGRESS:
        return [status_events(task, Status.CODE_REVIEW, note=why)]
    return [resumed(replace(history, task=task), Status.CODE_REVIEW, note=why)]
