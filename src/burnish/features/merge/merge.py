"""`burnish merge`: merges approved and unchanged tasks into their targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from burnish.adapters.agents import StopTokens
from burnish.core.flow import RUNNING
from burnish.core.journal_events import TaskMerged, new_event
from burnish.core.recorded_reviews import base_test_notes, uncountable_checks, untested_note
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.engine.archive import archive
from burnish.engine.ports import Progress
from burnish.engine.shared_branch import sharing
from burnish.engine.transitions import status_events
from burnish.errors import BadInput, BurnishError, Refused
from burnish.features.merge.plan import (
    Conflicts,
    MergeCandidate,
    MergePlan,
    Target,
    check_dependencies,
    merge_candidate,
    plan,
    target_of,
)
from burnish.features.merge.rebase import bring_up_to_date, continue_interrupted, is_interrupted
from burnish.features.merge.recheck import review_together, why_not_clear, working
from burnish.git.base import is_ancestor
from burnish.git.refs import StaleRef, delete_ref, read_ref
from burnish.git.rescue import keep
from burnish.git.target_branch import check_clean, checkout_of, fast_forward, swap
from burnish.proc.slots import slot
from burnish.runtime.ports import deps_for
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.requests import RunRequest
from burnish.runtime.tasks import expire_waivers

if TYPE_CHECKING:
    from burnish.runtime.app import App

# The number of attempts if the target moves meanwhile.
TRIES = 3


@dataclass(frozen=True, slots=True)
class MergeRequest:
    ids: tuple[int, ...] = ()
    all_verified: bool = False
    how: str = "merge"  # merge, squash, rebase
    into: str | None = None
    delete_branch: bool = False
    # the commit that the person saw, where one task is named; another one is not merged for it
    seen: str = ""
    # have the author resolve conflicts, whatever `merge.on_conflict` says
    resolve: bool = False


@dataclass(frozen=True, slots=True)
class MergedTask:
    """One task that is in its target now."""

    task: Task
    into: str
    commit: str
    how: str
    rechecked: bool = False
    # checks whose new failures could not be distinguished from old ones when it was approved
    uncountable: tuple[str, ...] = ()
    # that its change is outside of the `paths` of all tests
    untested: str = ""
    # tests of its base that fail with the change, which edits tests
    expectations: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        facts = {"into": self.into, "commit": self.commit, "how": self.how, "rechecked": self.rechecked}
        notes = {"uncountable": list(self.uncountable), "untested": self.untested}
        return {"id": str(self.task.id), **facts, **notes, "expectations": list(self.expectations)}


@dataclass(frozen=True, slots=True)
class MergeReport:
    landed: tuple[MergedTask, ...] = ()
    left: tuple[tuple[Task, BurnishError], ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "merged": [one.as_json() for one in self.landed],
            "left": [
                {
                    "id": str(task.id),
                    "status": task.status.value,
                    "why": error.what,
                    "hint": error.hint,
                    "conflicts": list(getattr(error, "paths", ())),
                }
                for task, error in self.left
            ],
        }


class NotApproved(BurnishError):
    """Reviewed together with the target, and not approved: exit code 1. `task_status` is where the task is now."""

    exit_code = 1

    def __init__(self, what: str, *, hint: str = "", task_status: str = "") -> None:
        super().__init__(what, hint=hint)
        self.task_status = task_status


def merge(
    app: App, request: MergeRequest, progress: Progress, begin: Callable[[int, int], None] = lambda number, place: None
) -> MergeReport:
    """Merge the named or all verified tasks; returns those that could not be merged with the reason.

    `begin` is called before each task with its number and its place among them.
    """
    refuse_inside_phase()
    for note in expire_waivers(app):
        progress.note(note)
    merged_tasks: list[MergedTask] = []
    failures: list[tuple[Task, BurnishError]] = []
    for place, number in enumerate(_in_order(app, request), 1):
        begin(number, place)
        try:
            merged_tasks.append(_resolved(app, number, request, progress))
        except BadInput:
            raise
        except BurnishError as error:
            failures.append((app.store.task(app.key, number), error))
    return MergeReport(tuple(merged_tasks), tuple(failures))


def _in_order(app: App, request: MergeRequest) -> list[int]:
    statuses = [Status.VERIFIED] if request.all_verified else None
    ids = None if request.all_verified else request.ids
    tasks = {task.id: task for task in app.store.tasks(app.key, statuses=statuses, ids=ids)}
    if request.all_verified and _may_resolve(app, request):
        # approved before a process was killed that resolved their conflicts
        tasks |= {task.id: task for task in app.store.tasks(app.key, statuses=RUNNING) if is_interrupted(app, task)}
    missing = [number for number in request.ids if number not in tasks]
    if missing:
        app.store.task(app.key, missing[0])
    return merge_order(tasks)


def merge_order(tasks: Mapping[int, Task]) -> list[int]:
    """By number, but each after what it was built on."""
    order: list[int] = []

    def place(number: int) -> None:
        if number in tasks and number not in order:
            for other in sorted({*tasks[number].spec.depends_on, tasks[number].spec.of or 0}):
                place(other)
            order.append(number)

    for number in sorted(tasks):
        place(number)
    return order


def _resolved(app: App, number: int, request: MergeRequest, progress: Progress) -> MergedTask:
    """Merge it; where it conflicts and an agent may resolve that, bring the task up to date first.

    The target is not locked meanwhile, so it may move, and the merge may conflict again.
    """
    is_allowed = _may_resolve(app, request)
    if is_allowed and is_interrupted(app, app.store.task(app.key, number)):
        request = _approved_again(continue_interrupted(app, number, progress), request)
    for _ in range(TRIES - 1):
        try:
            return _one(app, number, request, progress)
        except Conflicts:
            task = app.store.task(app.key, number)
            if not is_allowed or request.into not in (None, task.target):
                raise
        request = _approved_again(bring_up_to_date(app, number, progress), request)
    return _one(app, number, request, progress)


def _may_resolve(app: App, request: MergeRequest) -> bool:
    # commits that are rebased one by one conflict again, whatever a merge commit after them resolves
    return (request.resolve or app.config.merge.on_conflict == "agent") and request.how != "rebase"


def _approved_again(task: Task, request: MergeRequest) -> MergeRequest:
    """The request for the resolved task: the person saw the commit that conflicts, and asked to resolve and merge."""
    if task.status is not Status.VERIFIED:
        raise _not_approved(task, task.target or "its target")
    return replace(request, seen="")


def _not_approved(task: Task, target: str) -> NotApproved:
    then = {
        Status.WAITING_APPROVAL: f"burnish decide {task.id} approve",
        Status.BLOCKED: "burnish inbox",
        Status.FAILED: f"burnish retry {task.id}",
    }.get(task.status, f"burnish run {task.id}")
    if task.status is Status.WAITING_APPROVAL:
        return NotApproved(
            f"Task {task.id} is not merged yet: {target} has moved, and both together wait for your decision.",
            hint=f"Look at the change again, approve it ({then}), then merge it.",
            task_status=task.status.value,
        )
    return NotApproved(
        f"Task {task.id} is not merged: together with {target} it is {task.status.value.replace('_', ' ')}.",
        hint=f"See why: burnish show {task.id}. Then: {then}",
        task_status=task.status.value,
    )


def _one(app: App, number: int, request: MergeRequest, progress: Progress) -> MergedTask:
    # One merge of a project at a time: the next one sees what this one made.
    with slot(app.locks, f"merge-{app.key}", 1):
        for _ in range(TRIES):
            merged_task = _try(app, number, request, progress)
            if merged_task:
                _afterwards(app, merged_task, request, progress)
                return merged_task
    raise Refused(f"The target branch of task {number} keeps changing.", hint="Run `burnish merge` again later.")


def _try(app: App, number: int, request: MergeRequest, progress: Progress) -> MergedTask | None:
    """One attempt; None if the target or the branch changed meanwhile."""
    candidate = merge_candidate(app, number)
    _check_seen(candidate, request.seen)
    target = target_of(app, candidate.task, request.into)
    check_dependencies(app, candidate.task, target)
    place = checkout_of(app.repo, target.ref)
    if place:
        check_clean(app.repo, place, target.ref)
    merge_plan = plan(app, candidate, target, request.how)
    if merge_plan.moved and not _cleared(app, candidate, target, merge_plan, request, progress):
        return None
    if not _update_target(app, candidate, target, merge_plan):
        return None
    return _record(app, candidate, target, merge_plan)


def _check_seen(candidate: MergeCandidate, commit: str) -> None:
    """A person's decision belongs to the commit that the person saw."""
    if commit and not candidate.approval.commit.startswith(commit.strip().lower()):
        raise Refused(
            f"Task {candidate.task.id} is approved at {candidate.approval.commit[:12]}, not at {commit.strip()[:40]}.",
            hint=f"Look at it again (burnish show {candidate.task.id}), then merge what you saw.",
        )


def _cleared(
    app: App,
    candidate: MergeCandidate,
    target: Target,
    merge_plan: MergePlan,
    request: MergeRequest,
    progress: Progress,
) -> bool:
    """True if it may be merged although the target moved; False after a new review, to plan again."""
    rule = app.config.merge.on_moved
    if rule == "refuse":
        raise Refused(
            f"{target.name} has moved since task {candidate.task.id} was approved (merge.on_moved: refuse).",
            hint=f"Merge {target.name} into {candidate.task.branch} by hand, then `burnish run {candidate.task.id}`.",
        )
    if merge_plan.judged and (rule == "recheck" or merge_plan.commit == candidate.commit_to_merge):
        progress.note(
            f"Task {candidate.task.id}: {target.name} has moved, but every file is the same as in the review."
        )
        return True
    with working(app, progress) as deps:
        why: str | None = f"{target.name} has moved since the approval"
        if rule == "recheck":
            why = why_not_clear(app, deps, candidate, target, merge_plan)
        if why is None:
            return True
        together = merge_plan if merge_plan.how == "merge" else plan(app, candidate, target, "merge")
        task = review_together(app, deps, candidate, target, together, why)
    if task.status is not Status.VERIFIED:
        raise _not_approved(task, target.name)
    return False


def _update_target(app: App, candidate: MergeCandidate, target: Target, merge_plan: MergePlan) -> bool:
    """Update the target, if neither it nor the task's branch moved meanwhile."""
    if merge_plan.how == "already":
        return True
    again = merge_candidate(app, candidate.task.id)
    if (again.approval, again.tip) != (candidate.approval, candidate.tip):
        return False
    place = checkout_of(app.repo, target.ref)
    if place is None:
        try:
            swap(app.repo, target.ref, merge_plan.commit, target.now.sha, verified_ref=(candidate.ref, candidate.tip))
        except StaleRef:
            return False
        return True
    fast_forward(app.repo, place, target.ref, merge_plan.commit, target.now.sha)
    return True


def _record(app: App, candidate: MergeCandidate, target: Target, merge_plan: MergePlan) -> MergedTask:
    data = TaskMerged(
        into=target.name,
        commit=merge_plan.commit,
        how=merge_plan.how,
        by=app.person,
        before=target.now.sha,
        approved=candidate.approval.commit,
        rechecked=merge_plan.moved and not merge_plan.judged,
        # on a target that moved, without a check: there was nothing new to be checked
        same_tree=merge_plan.moved and merge_plan.judged,
    )
    merged_event = new_event("task.merged", data, run=candidate.task.run, cycle=candidate.task.cycle)
    try:
        app.event_log.record(candidate.task.id, merged_event, status_events(candidate.task, Status.COMPLETED))
    except Refused as lost:
        app.event_log.record(candidate.task.id, merged_event)
        raise Refused(
            f"Task {candidate.task.id} is merged into {target.name}, but its status was changed meanwhile: {lost.what}",
            hint=f"Look at it: burnish show {candidate.task.id}",
        ) from lost
    task = app.store.task(app.key, candidate.task.id)
    history = app.event_log.history(task.id)
    unsure, test_note = tuple(uncountable_checks(history, task.cycle)), untested_note(history, task.cycle)
    notes = (unsure, test_note, base_test_notes(history, task.cycle))
    return MergedTask(task, target.name, merge_plan.commit, merge_plan.how, data.rechecked, *notes)


def _afterwards(app: App, merged_task: MergedTask, request: MergeRequest, progress: Progress) -> None:
    task = merged_task.task
    deps = deps_for(app, RunRequest(), progress, StopTokens(), "")
    archive(deps, app.repository.workspace(task), task, task.cycle)
    if not request.delete_branch:
        return
    others = [other for other in sharing(app.event_log, task) if other.status is not Status.COMPLETED]
    if others:
        progress.note(f"{task.branch} was kept: task {others[0].id} uses it.")
        return
    _delete_branch(app, merged_task, progress)


def _delete_branch(app: App, merged_task: MergedTask, progress: Progress) -> None:
    """Nothing on it is lost: what the target does not have stays under a rescue ref."""
    if note := app.drop_copies([merged_task.task.id]):
        progress.note(note)
    workspace = app.repository.workspace(merged_task.task)
    tip = read_ref(app.repo, workspace.ref)
    if tip is None:
        return
    app.repository.rescue(merged_task.task, f"{merged_task.task.cycle}-merged")
    if not is_ancestor(app.repo, tip, merged_task.commit):
        keep(app.repo, f"{merged_task.task.name}-merged", tip)
    delete_ref(app.repo, workspace.ref, tip)


def exit_code(failures: Sequence[tuple[Task, BurnishError]], count: int) -> int:
    """For one task its own exit code. For several: 3 if something could not run, else 1 if a merge failed."""
    if not failures:
        return 0
    if count == 1:
        return failures[0][1].exit_code
    return 3 if any(error.exit_code == 3 for _, error in failures) else 1
