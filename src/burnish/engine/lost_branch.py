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
# A completed or cancelled task does not need its branch any more.
OPEN = frozenset({*APPROVED, *RUNNING, Status.BLOCKED, Status.FAILED})
BRANCH_RESTORED = "the branch is there again, as it was approved"


@dataclass(frozen=True, slots=True)
class Recovery:
    """The newest commit of a run that can be read. `is_newest`: nothing of the work is lost."""

    commit: str
    tree: str
    cycle: int
    is_newest: bool


def relies_on_branch(task: Task) -> bool:
    """Does the task rely on a branch with work in it? A plan has none, and a fresh run has none yet."""
    return bool(task.branch and task.base and task.commit) and task.spec.type is not TaskType.PLAN


def void_if_lost(event_log: EventLog, repository: Repository, task: Task) -> str | None:
    """Take the approval back if the branch or its commit is gone; returns a description of the loss."""
    return block_if_lost(event_log, repository, task) if task.status in APPROVED and relies_on_branch(task) else None


def block_if_lost(event_log: EventLog, repository: Repository, task: Task) -> str | None:
    """Block the task if its branch or commit is gone, unless it is already blocked for this reason."""
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
        return why  # a failed task already waits for `burnish retry`
    if task.status is not Status.BLOCKED:
        events.append(status_events(task, Status.BLOCKED, reason=Reason.BRANCH_GONE, note=why))
    if events:
        event_log.record(task.id, *events)
    return why


def describe_loss(repository: Repository, history: History, loss: LostBranch) -> str:
    """What is lost, and the commands that restore it or continue from what is left."""
    task, found = history.task, find_recovery(repository, history)
    what = f"the branch {task.branch} {loss.description}"
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
    for index, (commit, tree, cycle) in enumerate(records):
        if repository.is_whole(history.task, commit):
            return Recovery(commit, tree, cycle, index == 0)
    return None


def _commits(history: History) -> list[tuple[str, str, int]]:
    """Commit, tree and cycle of each commit of the run, newest first."""
    records = [p for p in with_result(history.phases, WorkResult) if p.result.changed and p.result.commit]
    found = {p.result.commit: (p.result.tree, p.cycle) for p in records}
    return [(commit, tree, cycle) for commit, (tree, cycle) in reversed(found.items())]


def restore_branch(event_log: EventLog, repository: Repository, task: Task) -> str | None:
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
    """Whether the task stopped for another reason, which still needs a person after the branch is restored."""
    return task.status is Status.FAILED or (task.status is Status.BLOCKED and task.reason is not Reason.BRANCH_GONE)


def _write_newest_again(repository: Repository, history: History, *, onto: str) -> Recovery | None:
    """The workspace may still have the files of the commit that was lost."""
    commit, tree, cycle = next(iter(_commits(history)), ("", "", 0))
    new_commit = repository.write_again(history.task, commit, tree, onto) if commit else None
    return Recovery(new_commit, tree, cycle, is_newest=False) if new_commit else None


def return_to_review(event_log: EventLog, history: History, why: str) -> None:
    """Nothing of the work is lost: an earlier approval may become valid again, otherwise the work is reviewed."""
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
