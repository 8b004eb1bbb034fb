"""`burnish rebase`: merges the target into a task's branch. The run that follows resolves, checks and reviews."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from burnish.core.commit import TargetMerge
from burnish.core.flow import RUNNING, is_merging_target
from burnish.core.gate import Actor
from burnish.core.task import Task
from burnish.engine.commands import rebase as orders
from burnish.engine.commands.lifecycle import refuse_paused
from burnish.engine.loop import run_task
from burnish.engine.ports import Progress
from burnish.engine.shared_branch import refuse_if_branch_held
from burnish.errors import Refused
from burnish.features.merge.plan import check_dependencies, target_of
from burnish.features.merge.recheck import working
from burnish.runtime.lost_branches import settle_task
from burnish.runtime.ports import sandbox_policy_of
from burnish.runtime.reader import refuse_inside_phase

if TYPE_CHECKING:
    from burnish.runtime.app import App


@dataclass(frozen=True, slots=True)
class RebaseOrder:
    """A task whose next cycle merges its target. Without `merge` the branch has the target already."""

    task: Task
    target: str
    merge: TargetMerge | None

    @property
    def words(self) -> str:
        if self.merge is None:
            return f"The branch of task {self.task.id} has the newest commit of {self.target} already."
        return merge_note(self.target, self.merge)


def merge_note(target: str, merge: TargetMerge) -> str:
    """Why the task is worked on again."""
    if not merge.conflicts:
        return f"{target} is merged into the branch"
    return f"{target} is merged into the branch, with conflicts in {listed(merge.paths)}"


def listed(paths: tuple[str, ...], most: int = 5) -> str:
    return ", ".join(paths[:most]) + (f" and {len(paths) - most} more" if len(paths) > most else "")


def order_rebase(app: App, task_id: int, *, via: str = "cli") -> RebaseOrder:
    """The order alone; the run that follows carries it out. Changes neither the target nor a checkout."""
    refuse_inside_phase()
    app.trust.require()
    sandbox_policy_of(app).require()
    task = settle_task(app, task_id)
    history = app.event_log.history(task.id)
    refuse_paused(task)
    refuse_if_branch_held(app.event_log, task)
    orders.check_rebase(history)
    target = target_of(app, task, None)
    check_dependencies(app, task, target)
    workspace = app.repository.workspace(task)
    head = workspace.head()
    if head is None:
        raise Refused(f"The branch of task {task.id} is gone.", hint=f"burnish retry {task.id}")
    merge = workspace.merge_target(str(task.base), target.now.sha)
    if merge.is_contained:
        return RebaseOrder(task, target.name, None)
    app.repository.check_movable(str(task.branch))
    _refuse_submodules(task, target.name, merge)
    why = merge_note(target.name, merge)
    # the target may be moved away from it before the merge is committed
    workspace.keep_target(merge.target)
    policy, person = app.policy(task), Actor(app.person, via)
    return RebaseOrder(orders.rebase(app.event_log, history, merge, head.sha, why, policy, person), target.name, merge)


def _refuse_submodules(task: Task, target: str, merge: TargetMerge) -> None:
    if paths := merge.submodules:
        raise Refused(
            f"Task {task.id} conflicts with {target} in the submodule {listed(paths)}, which no agent can resolve.",
            hint=f"Merge {target} into {task.branch} by hand, then `burnish run {task.id}`.",
        )


def bring_up_to_date(app: App, task_id: int, progress: Progress) -> Task:
    """Merge the target into the branch and run the task until it comes to rest. Used before a merge.

    A queue of merges can call this for each task in turn: it needs no lock of the target.
    """
    order = order_rebase(app, task_id)
    progress.note(f"Task {task_id}: {order.words}.")
    return order.task if order.merge is None else _run(app, task_id, progress)


def is_interrupted(app: App, task: Task) -> bool:
    """Whether a process that merged the target into the branch has ended before the result was accepted."""
    is_held = bool(task.runner) and not app.event_log.is_dead(str(task.runner))
    if task.status not in RUNNING or task.is_paused or is_held:
        return False
    return is_merging_target(app.event_log.history(task.id))


def continue_interrupted(app: App, task_id: int, progress: Progress) -> Task:
    """Go on where it was interrupted; nothing that was paid for is done again."""
    progress.note(f"Task {task_id}: the merge of its target was interrupted and continues.")
    return _run(app, task_id, progress)


def _run(app: App, task_id: int, progress: Progress) -> Task:
    with working(app, progress) as deps:
        if deps.event_log.claim([task_id]) is None:
            raise Refused(f"Another process runs task {task_id}.", hint="Wait until it ends: `burnish status`.")
        try:
            return run_task(deps, deps.event_log.task(task_id))
        finally:
            deps.event_log.release(task_id)
