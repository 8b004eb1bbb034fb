"""What a person does to a task by hand: retry, cancel, put back, done. Each is one transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from burnish.core.approval import Approval, VoidCause, asked_for
from burnish.core.commit import Commit
from burnish.core.event import Event
from burnish.core.flow import RUNNING
from burnish.core.gate import Actor
from burnish.core.history import History
from burnish.core.journal import ReviewResult
from burnish.core.journal_events import ApprovalVoided, DecisionMade, PhaseRescued, TaskClosed, TaskRemoved, new_event
from burnish.core.override import OverrideReasons
from burnish.core.policy import Policy
from burnish.core.status import Reason, Status, check_move
from burnish.core.task import PAUSABLE, Task, TaskType
from burnish.engine.commands.override import judged_commit, moves_to_verified, overridden, reasons_missing, walk
from burnish.engine.lost_branch import (
    BRANCH_RESTORED,
    block_if_lost,
    relies_on_branch,
    restore_branch,
    return_to_review,
    void_if_lost,
)
from burnish.engine.ports import EventLog, FollowUp
from burnish.engine.ports_git import Repository, SetAside
from burnish.engine.transitions import judge_again, judge_again_on_new_base, resumed, status_events
from burnish.errors import Refused

REVIEW_AGAIN = frozenset({Reason.UNREADABLE_REVIEW, Reason.INCOMPLETE_REVIEW})
WORK_AGAIN = frozenset({Reason.NO_CHANGES, Reason.SECRET})


def retry(event_log: EventLog, repository: Repository, task_id: int, *, by: str) -> Task:
    """Let a stopped task go on where it was cut; one whose branch is gone from the last commit that can be read.

    A task that failed before its author was called starts from the base as it is now.
    """
    void_if_lost(event_log, repository, event_log.task(task_id))
    history = event_log.history(task_id)
    task, note = history.task, ""
    if (
        task.status in (*RUNNING, Status.BLOCKED, Status.FAILED)
        and relies_on_branch(task)
        and repository.lost_branch(task)
    ):
        event_log.refuse_if_held(task_id)
        note = restore_branch(event_log, repository, task) or ""
        if not note:
            # nothing of the work can be read
            block_if_lost(event_log, repository, task)
            why = f"the branch {task.branch} and all its commits are gone, the work begins again from the base"
            return restart(event_log, repository, task_id, note=why)
        if event_log.task(task_id).status is not task.status:
            return event_log.task(task_id)
    if task.status in RUNNING:
        return task
    if task.reason is Reason.BRANCH_GONE:
        return_to_review(event_log, history, BRANCH_RESTORED)
        return event_log.task(task_id)
    if task.status is Status.FAILED and _never_began(history):
        # what was missing (a lock file, a test that ends) may have been committed since
        event_log.refuse_if_held(task_id)
        return restart(event_log, repository, task_id)
    if task.status is Status.FAILED:
        to = Status.CODE_REVIEW if _reached_review(history) else Status.IN_PROGRESS
        event_log.record(task_id, resumed(history, to, note=note))
    elif task.status is Status.BLOCKED:
        event_log.record(task_id, *_unblock(history, by, note))
    elif task.status is Status.CANCELLED:
        event_log.record(task_id, status_events(task, Status.BACKLOG))
    else:
        raise Refused(
            f"Task {task.id} is {task.status}: there is nothing to retry.",
            hint="`burnish retry` is for tasks that are blocked, failed or cancelled.",
        )
    return event_log.task(task_id)


def refuse_paused(task: Task) -> None:
    if task.is_paused:
        raise Refused(f"Task {task.id} is paused.", hint=f"Let it be run again first: burnish unpause {task.id}")


def refuse_unpausable(task: Task, *, is_pause: bool) -> None:
    """Raise if there is nothing to pause, or nothing that is paused."""
    if is_pause and task.status not in PAUSABLE:
        hint = f"`burnish show {task.id}` names the commands."
        raise Refused(f"Task {task.id} is {task.status}: no run takes it up, so it cannot be paused.", hint=hint)
    if task.spec.paused is is_pause:
        hint = f"Let it be run again: burnish unpause {task.id}" if is_pause else f"Pause it: burnish pause {task.id}"
        raise Refused(f"Task {task.id} is {'paused already' if is_pause else 'not paused'}.", hint=hint)


def review_again(event_log: EventLog, task_id: int, *, by: str) -> Task:
    """Request another review of the branch; the checks before it run again."""
    event_log.refuse_if_held(task_id)
    history = event_log.history(task_id)
    task = history.task
    if task.status not in (Status.CODE_REVIEW, Status.BLOCKED, Status.VERIFIED) or not _reached_review(history):
        why = f"is {task.status}" if task.base else "has not been worked on"
        raise Refused(f"Task {task.id} {why}: there is nothing to review.", hint=_instead(task))
    why = "a person asked for another review"
    events = [_again(task, history.cycle, by, ("check", "review"), why)]
    if task.status is Status.VERIFIED:
        events.append(new_event("approval.voided", ApprovalVoided(why), run=task.run, cycle=task.cycle))
    if task.status is not Status.CODE_REVIEW:
        events.append(resumed(history, Status.CODE_REVIEW, note=why))
    event_log.record(task_id, *events)
    return event_log.task(task_id)


def _instead(task: Task) -> str:
    """What to type in place of a review that makes no sense now."""
    if task.status in (Status.FAILED, Status.CANCELLED, Status.BLOCKED):
        return f"`burnish retry {task.id}` goes on with it."
    if task.status in RUNNING | {Status.BACKLOG}:
        return f"`burnish run {task.id}` works on it."
    return f"It waits for a person: burnish show {task.id}" if task.status is Status.WAITING_APPROVAL else "It is done."


def _never_began(history: History) -> bool:
    """Did it fail at set-up or at the checks of the base, before an author was called, and is its branch its own?"""
    task = history.task
    is_authored = task.spec.type in (TaskType.IMPLEMENT, TaskType.IMPROVE)
    return is_authored and not history.phases and not task.commit and task.branch == f"burnish/{task.name}"


def _reached_review(history: History) -> bool:
    work = history.work(history.cycle)
    return bool(work and work.result.changed)


def _unblock(history: History, by: str, note: str) -> list[Event]:
    """The events that let a blocked task continue, by the reason that it stopped for."""
    task, cycle = history.task, history.cycle
    if not task.base:
        return [status_events(task, Status.BACKLOG, note=note)]
    is_stuck = _stuck_work(history)
    if task.reason in REVIEW_AGAIN:
        again = _again(task, cycle, by, ("review",), "review it again")
        return [again, resumed(history, Status.CODE_REVIEW, note=note)]
    if task.reason in WORK_AGAIN or is_stuck:
        again = _again(task, cycle, by, ("implement", "improve", "check", "review"), "work on it again")
        return [again, resumed(history, Status.IN_PROGRESS, note=note)]
    if task.reason is Reason.BUDGET or history.decision(cycle) is None:
        to = Status.CODE_REVIEW if _reached_review(history) else Status.IN_PROGRESS
        return [resumed(history, to, note=note)]
    blockers = tuple(history.open_finding_ids())
    data = DecisionMade(action="revise", by=by, why="a person asked to continue", blockers=blockers)
    decision = new_event("decision.made", data, run=task.run, cycle=cycle, explicit=("blockers",))
    return [decision, status_events(task, Status.IN_PROGRESS, note=note)]


def _stuck_work(history: History) -> bool:
    work = history.work(history.cycle)
    return history.task.reason is Reason.STALLED and bool(work and not work.result.changed)


def _again(task: Task, cycle: int, by: str, phases: tuple[str, ...], why: str) -> Event:
    data = DecisionMade(action="again", by=by, why=why, supersede=phases)
    return new_event("decision.made", data, run=task.run, cycle=cycle)


def restart(event_log: EventLog, repository: Repository, task_id: int, *, note: str = "") -> Task:
    """A new run from a fresh base; the old branch's commits stay under a rescue ref."""
    task = event_log.task(task_id)
    if task.status is Status.BACKLOG:
        raise Refused(f"Task {task.id} has not been started.", hint=f"Start it: burnish run {task.id}")
    if task.status in RUNNING:
        raise Refused(f"Task {task.id} is {task.status}.", hint=f"Cancel it first: burnish cancel {task.id}")
    steps = []
    if task.status in (Status.VERIFIED, Status.WAITING_APPROVAL):
        # before its branch is removed: a command that looks in between must not find an approval without a branch
        event_log.record(task_id, status_events(task, Status.BLOCKED, note="restarted by a person"))
        task = event_log.task(task_id)
    check_move(str(task.id), task.status, Status.BACKLOG)
    if task.branch:
        steps += _kept(task, repository.set_aside(task))
    event_log.record(task_id, *steps, status_events(task, Status.BACKLOG, note=note))
    repository.workspace(task).forget_target()
    return event_log.task(task_id)


def _kept(task: Task, aside: SetAside) -> list[Event]:
    """The event that records where uncommitted work was saved."""
    if not aside.rescue and not aside.withheld and not aside.folder:
        return []
    data = PhaseRescued(
        "restart", aside.rescue or "", str(aside.folder or ""), str(aside.withheld or ""), tuple(aside.names)
    )
    explicit = ("ref", "folder", "withheld", "names")
    return [new_event("phase.rescued", data, run=task.run, cycle=task.cycle, explicit=explicit)]


def cancel(event_log: EventLog, repository: Repository, task_id: int) -> Task:
    """Stop it for good; work in the workspace is rescued. A runner that holds it notices within a second."""
    task = event_log.task(task_id)
    is_held = _held(event_log, task)
    closing = new_event("task.cancelled", TaskClosed(), run=task.run, cycle=task.cycle)
    event_log.record(task_id, status_events(task, Status.CANCELLED), closing)
    repository.workspace(task).forget_target()
    if not is_held and task.branch:
        repository.rescue(task, f"{task.cycle}-cancelled")
    return event_log.task(task_id)


def remove(event_log: EventLog, repository: Repository, task_id: int) -> Task:
    """Out of every list; its events stay, its unsaved work is rescued."""
    task = event_log.task(task_id)
    event_log.refuse_if_held(task.id)
    dependents = [t.id for t in event_log.tasks() if task.id in t.spec.depends_on and t.status is Status.BACKLOG]
    if dependents:
        names = ", ".join(map(str, dependents))
        raise Refused(
            f"Task {task.id} is needed by {names}.", hint="Edit or remove those first (`burnish edit ID --depends-on`)."
        )
    if task.branch:
        repository.rescue(task, f"{task.cycle}-removed")
    event_log.record(task_id, new_event("task.removed", TaskRemoved(), run=task.run, cycle=task.cycle))
    repository.workspace(task).forget_target()
    return task


def _held(event_log: EventLog, task: Task) -> bool:
    """Is a runner at work on it that still lives?"""
    return task.runner is not None and not event_log.is_dead(task.runner)


def put_back(event_log: EventLog, task_id: int) -> Task:
    task = event_log.task(task_id)
    event_log.record(task_id, status_events(task, Status.BACKLOG))
    return event_log.task(task_id)


def done(
    event_log: EventLog,
    task_id: int,
    *,
    person: Actor,
    grounds: OverrideReasons | None,
    follow_up: FollowUp | None = None,
) -> Task:
    """A person says that it is finished, e.g. merged by hand. Without an approval that is an override."""
    history = event_log.history(task_id)
    task = history.task
    steps: list[Event] = []
    if task.status is not Status.VERIFIED:
        road = moves_to_verified(task)
        event_log.refuse_if_held(task.id)
        if grounds is None:
            raise reasons_missing(task, f"burnish done {task.id}")
        steps += [overridden(history, grounds, person, follow_up), *walk(task, road)]
        task = _as(task, Status.VERIFIED)
    steps += [
        status_events(task, Status.COMPLETED),
        new_event("task.done", TaskClosed(person.name), run=task.run, cycle=task.cycle),
    ]
    event_log.record(task_id, *steps)
    return event_log.task(task_id)


def void_stale(
    event_log: EventLog, repository: Repository, task: Task, policy: Policy | None, *, is_branch_sound: bool = False
) -> str | None:
    """Take an approval back if what it was bound to has changed; says why. Without a policy there is no approval.

    `is_branch_sound`: known already, so that no process is started to look at the branch.
    """
    if not is_branch_sound and (loss := void_if_lost(event_log, repository, task)):
        return loss
    approval = event_log.approval(task.id)
    if task.status is Status.WAITING_APPROVAL and not (approval and approval.valid):
        return _changed_at_gate(event_log, repository, task)
    if task.status not in (Status.VERIFIED, Status.WAITING_APPROVAL) or not approval or not approval.valid:
        return None
    assert policy, "an approval is compared with the settings in force"
    now = _branch_now(repository, task, approval)
    if now is None:
        return None
    head, base, tree = now
    cause = approval.changed(base=base, tree=tree, **_compared(task, policy))
    if cause is None:
        return None
    why, history = cause.words, event_log.history(task.id)
    data = ApprovalVoided(why, cause, tree, approval.tree)
    events = [new_event("approval.voided", data, run=task.run, cycle=task.cycle)]
    events += (
        judge_again_on_new_base(history, head.sha, head.tree, why, base=base) if head else [judge_again(history, why)]
    )
    event_log.record(task.id, *events, status_events(task, Status.CODE_REVIEW, note=why))
    return why


def changed_since(repository: Repository, task: Task, approval: Approval, policy: Policy) -> VoidCause | None:
    """What differs now from what was approved; a branch that is gone counts as another tree."""
    now = _branch_now(repository, task, approval)
    if now is None:
        return VoidCause.TREE
    _, base, tree = now
    return approval.changed(base=base, tree=tree, **_compared(task, policy))


def _branch_now(repository: Repository, task: Task, approval: Approval) -> tuple[Commit | None, str, str] | None:
    """The branch's commit where it is another one than was approved, its base and its tree; None: it is gone."""
    workspace = repository.workspace(task)
    # a look at the ref tells for most: the commit that was approved has the tree that was approved
    if workspace.tip() == approval.commit:
        return None, task.base or "", approval.tree
    head = workspace.head()
    return (head, repository.base_now(task, head.sha).commit, head.tree) if head else None


def _compared(task: Task, policy: Policy) -> dict[str, Any]:
    """The settings and the task, as an approval is compared with them."""
    judges = {"judge": policy.judge, "judge_before": policy.judge_before, "criteria": policy.criteria}
    return {**judges, "asked": asked_for(task.spec)}


def _changed_at_gate(event_log: EventLog, repository: Repository, task: Task) -> str | None:
    """A person was to judge another commit, or by other words, than what is there now: that is reviewed first."""
    history = event_log.history(task.id)
    phase, head = judged_commit(history), repository.workspace(task).head()
    if phase is None or head is None:
        return None
    if phase.result.commit == head.sha:
        spec_hash = phase.result.spec_hash if isinstance(phase.result, ReviewResult) else None
        if spec_hash in (None, asked_for(task.spec)):
            return None
        why = "what the task asks for has changed while it waited for a person"
        event_log.record(task.id, judge_again(history, why), status_events(task, Status.CODE_REVIEW, note=why))
        return why
    why = "the branch has moved while it waited for a person"
    events = judge_again_on_new_base(history, head.sha, head.tree, why, base=repository.base_now(task, head.sha).commit)
    event_log.record(task.id, *events, status_events(task, Status.CODE_REVIEW, note=why))
    return why


def _as(task: Task, status: Status) -> Task:
    return replace(task, status=status)
