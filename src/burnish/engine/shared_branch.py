"""A branch that two tasks work on: `improve --of ID` continues the other's, one of them at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from burnish.core.commit import Base
from burnish.core.flow import RUNNING
from burnish.core.status import Status
from burnish.core.task import Task, TaskType
from burnish.engine.commands.lifecycle import void_stale
from burnish.engine.ports import Deps, EventLog
from burnish.engine.ports_git import Repository
from burnish.errors import Refused

PAUSE = 0.2


def continued(event_log: EventLog, task: Task) -> Task | None:
    """The task whose branch this one goes on with; what is merged already is not gone on with, but begun from."""
    if task.spec.type is not TaskType.IMPROVE or task.spec.of is None:
        return None
    other = event_log.task(task.spec.of)
    works = other.spec.type in (TaskType.IMPLEMENT, TaskType.IMPROVE)
    return other if works and other.status is not Status.COMPLETED else None


def sharing(event_log: EventLog, task: Task) -> list[Task]:
    """The other tasks that work on its branch, or whose branch it is about to work on."""
    branch = branch_of(event_log, task)
    return [other for other in event_log.tasks_on_branch(branch) if other.id != task.id]


def branch_of(event_log: EventLog, task: Task) -> str:
    """The branch of the run that is under way, else of the one that would begin now."""
    if task.branch and task.status is not Status.BACKLOG:
        return task.branch
    other = continued(event_log, task)
    return (other.branch if other else None) or f"burnish/{task.name}"


def tip_to_continue(deps: Deps, task: Task, other: Task) -> Base:
    """The other's branch as it is now."""
    head = deps.repository.workspace(other).head() if other.branch else None
    start = deps.repository.base(head.sha, ()) if head else None
    if start is None:
        raise Refused(
            f"Task {task.id} continues the branch of task {other.id}, which has none ({other.status}).",
            hint=f"Run that one first: burnish run {other.id}. Then: burnish run {task.id}",
        )
    return replace(start, target=other.target)


def refuse_if_branch_held(event_log: EventLog, task: Task) -> None:
    """It, and every task that works on the same branch, must be at rest."""
    for one in (task, *sharing(event_log, task)):
        event_log.refuse_if_held(one.id)


def refuse_if_branch_stuck(event_log: EventLog, repository: Repository, task: Task) -> None:
    """An author would be next: its branch must not be in a checkout of the user's. Reviews only read it."""
    works = task.spec.type in (TaskType.IMPLEMENT, TaskType.IMPROVE)
    if works and task.status in (Status.BACKLOG, Status.IN_PROGRESS, Status.FAILED):
        repository.check_movable(branch_of(event_log, task))


@contextmanager
def alone_on_branch(deps: Deps, task: Task) -> Iterator[None]:
    """Two tasks never work on one branch at the same time; the second waits for the first."""
    is_reported = False
    while other := _at_work(deps.event_log, task):
        if not is_reported:
            deps.progress.note(f"Task {task.id} waits for task {other.id}: both work on one branch.")
        is_reported = True
        if deps.stopping(task.id):
            raise Refused(f"Task {task.id} was stopped while it waited.", hint=f"Go on: burnish run {task.id}")
        threading.Event().wait(PAUSE)
    # two that looked at the same moment
    with deps.task_files.lock(branch_of(deps.event_log, task)):
        yield


def _at_work(event_log: EventLog, task: Task) -> Task | None:
    """Who is being run on its branch; also one that has only just been taken up, and has no branch yet."""
    first = continued(event_log, task) if task.status is Status.BACKLOG else None
    others = [*sharing(event_log, task), *([first] if first else [])]
    alive = (
        o for o in others if o.runner and o.status in RUNNING | {Status.BACKLOG} and not event_log.is_dead(o.runner)
    )
    return next(alive, None)


def void_others(deps: Deps, task: Task) -> None:
    """The branch may have moved: what was approved on it for another task is approved no longer."""
    for other in sharing(deps.event_log, task):
        with suppress(Refused):
            # changed by another process in the meantime, which has checked the branch
            why = void_stale(deps.event_log.unclaimed(), deps.repository, other, deps.policy_for(other))
            if why:
                deps.progress.note(f"Task {other.id} is no longer approved: {why}.")
