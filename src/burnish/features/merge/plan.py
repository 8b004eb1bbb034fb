"""Plans a merge: checks what may be merged and computes the result. Writes only git objects."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from burnish.core.approval import Approval
from burnish.core.commit import Commit
from burnish.core.history import with_result
from burnish.core.journal import ReviewResult, read
from burnish.core.journal_events import TaskMerged
from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.engine.commands import lifecycle as actions
from burnish.engine.restore_approval import restore_approval
from burnish.errors import BadInput, BurnishError, Refused
from burnish.git.base import is_ancestor
from burnish.git.merge import MergeOutcome, contains, merge_commits, merge_trees, replay
from burnish.git.objects import read_commit, with_trailers, write_commit
from burnish.git.owned_files import last_work, plain_tree
from burnish.git.refs import read_ref
from burnish.git.target_branch import target_ref
from burnish.runtime.lost_branches import settle_task
from burnish.runtime.tasks import expire_waivers

if TYPE_CHECKING:
    from burnish.runtime.app import App


class Conflicts(BurnishError):
    """The merge has conflicts; nothing was changed: exit code 1."""

    exit_code = 1

    def __init__(self, task: Task, into: str, paths: Sequence[str], *, needs_person: bool = False) -> None:
        by_hand = f"erge {into} into {task.branch} by hand, then `burnish run {task.id}`."
        super().__init__(
            f"Task {task.id} conflicts with {into} in {', '.join(paths)}. Nothing was changed.",
            hint=f"No agent can resolve a submodule: m{by_hand}"
            if needs_person
            else f"Have the agent resolve it: burnish rebase {task.id}. Or m{by_hand}",
        )
        self.paths = tuple(paths)


@dataclass(frozen=True, slots=True)
class MergeCandidate:
    """A task that is approved, with the tip of its branch as it was looked at."""

    task: Task
    approval: Approval
    tip: str
    # the approved commit, with burnish's own artifacts on top of it where the branch has some
    commit_to_merge: str

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.task.branch}"


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    ref: str
    now: Commit


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The commit that the target would get, its tree without artifacts. `moved`: the target is not where it was."""

    commit: str
    tree: str
    how: str
    moved: bool = False
    # moved or not: every file is as it was judged
    judged: bool = True


def merge_candidate(app: App, task_id: int, *, act: str = "merged") -> MergeCandidate:
    """The task, if it is approved and nothing of what the approval is bound to has changed; else refused.

    `act`: what cannot be done with it, for the message.
    """
    expire_waivers(app)
    task = settle_task(app, task_id)
    if task.status is Status.CODE_REVIEW and restore_approval(app.event_log, app.repository, task, app.policy(task)):
        task = app.store.task(app.key, task_id)
    if task.reason is Reason.BRANCH_GONE:
        raise Refused(f"Task {task.id} is not approved: {task.note}.", hint=f"`burnish show {task.id}` shows it.")
    if task.status is not Status.VERIFIED:
        raise Refused(f"Task {task.id} is {task.status}: only a verified task can be {act}.", hint=_instead(task))
    why = actions.void_stale(app.event_log, app.repository, task, app.policy(task))
    if why:
        raise Refused(f"Task {task.id} is no longer approved: {why}.", hint=f"Review it again: burnish run {task.id}")
    approval = app.store.approval(app.key, task.id)
    tip = read_ref(app.repo, f"refs/heads/{task.branch}") if task.branch else None
    if approval is None or not approval.valid or tip is None:
        what = "its branch is gone" if approval and approval.valid else "no approval is on record for what is there"
        raise Refused(
            f"Task {task.id} cannot be {act}: {what}.",
            hint=f"`burnish review {task.id}` asks for one; or merge by hand, then `burnish done {task.id}`.",
        )
    _check_bound(app, task, approval, tip)
    commit = tip if last_work(app.repo, tip) == approval.commit else approval.commit
    return MergeCandidate(task, approval, tip, commit)


def _check_bound(app: App, task: Task, approval: Approval, tip: str) -> None:
    """Read from the repository itself: approved commit and tip have the tree that was judged."""
    trees = {plain_tree(app.repo, read_commit(app.repo, sha).tree) for sha in (tip, approval.commit)}
    if trees != {approval.tree} or task.base != approval.base:
        raise Refused(f"Task {task.id} is not what was approved.", hint=f"Review it again: burnish review {task.id}")


def _instead(task: Task) -> str:
    if task.status is Status.COMPLETED:
        return "There is nothing left to do."
    return f"`burnish show {task.id}` tells what it waits for."


def target_of(app: App, task: Task, into: str | None) -> Target:
    name = into or task.target
    if not name:
        raise BadInput(
            f"Task {task.id} was not started from a branch, so its target is unknown.",
            hint=f"Name one: burnish merge {task.id} --into BRANCH",
        )
    ref, sha = target_ref(app.repo, name)
    return Target(ref.removeprefix("refs/heads/"), ref, read_commit(app.repo, sha))


def check_dependencies(app: App, task: Task, target: Target) -> None:
    """What it was built on comes first."""
    for other in _built_on(app, task):
        if other.status is Status.COMPLETED or _is_in(app, other, target):
            continue
        on_it = "continues the branch of" if other.branch == task.branch else "is built on"
        first = f"Merge that one first: burnish merge {other.id}"
        if other.status is not Status.VERIFIED:
            # nothing of a task is merged on the approval of another
            first = f"Have that one judged as it is now: burnish review {other.id}. Then: burnish merge {other.id}"
        raise Refused(
            f"Task {task.id} {on_it} task {other.id} ({_short(other)}), which is {other.status} and not merged.",
            hint=first,
        )


def _short(task: Task) -> str:
    return textwrap.shorten(task.spec.title, 60, placeholder="…")


def _built_on(app: App, task: Task) -> list[Task]:
    numbers = {*task.spec.depends_on, *([task.spec.of] if task.spec.of else [])}
    return app.store.tasks(app.key, ids=numbers)


def _is_in(app: App, other: Task, target: Target) -> bool:
    return bool(other.commit and is_ancestor(app.repo, other.commit, target.now.sha))


def plan(app: App, candidate: MergeCandidate, target: Target, how: str) -> MergePlan:
    """The commit for the target, computed only from the commits that were read before."""
    project, source_commit, now = app.repo, candidate.commit_to_merge, target.now
    base = read_commit(project, candidate.approval.base)
    began, there = plain_tree(project, base.tree), plain_tree(project, now.tree)
    if is_ancestor(project, candidate.approval.commit, now.sha):
        return MergePlan(now.sha, there, "already")
    if not _holds_base(app, candidate, target, base) and how == "merge":
        raise Refused(
            f"{target.name} does not hold {base.sha[:12]}, which task {candidate.task.id} was built on.",
            hint=f"A merge would bring that along. Only its own commits: burnish merge {candidate.task.id} --rebase",
        )
    outcome = _merged(app, base, now, read_commit(project, source_commit))
    if outcome.conflicts:
        needs_person = any(conflict.is_submodule for conflict in outcome.details)
        raise Conflicts(candidate.task, target.name, outcome.conflicts, needs_person=needs_person)
    tree = plain_tree(project, outcome.tree)
    if tree == there and candidate.approval.tree != began:
        return MergePlan(now.sha, there, "already")
    ahead = is_ancestor(project, now.sha, source_commit) and tree == candidate.approval.tree
    is_judged = tree == candidate.approval.tree and (ahead or there == began)
    has_moved = not is_judged or not (now.sha == base.sha or _put_there(app, candidate, target))
    if how == "merge" and ahead:
        made_here = len(read_commit(project, candidate.approval.commit).parents) == 2 and now.sha == base.sha
        return MergePlan(source_commit, tree, "merge" if made_here else "fast-forward", has_moved)
    commit = _commit(app, candidate, target, outcome.tree, how)
    return MergePlan(commit, tree, "fast-forward" if commit == source_commit else how, has_moved, is_judged)


def _put_there(app: App, candidate: MergeCandidate, target: Target) -> bool:
    """True if the target is unchanged since burnish merged the task's base into it."""
    merges = [merge for other in _built_on(app, candidate.task) for merge in _merges(app, other)]
    return (target.name, target.now.sha) in {(merge.into, merge.commit) for merge in merges}


def _holds_base(app: App, candidate: MergeCandidate, target: Target, base: Commit) -> bool:
    """By history, by content, or because burnish itself has merged it there."""
    if contains(app.repo, target.now.sha, base.sha):
        return True
    others = [other for other in _built_on(app, candidate.task) if other.branch]
    return bool(others) and all(target.name in _merged_into(app, other) for other in others)


def _merged_into(app: App, task: Task) -> set[str]:
    return {merge.into for merge in _merges(app, task)}


def _merges(app: App, task: Task) -> list[TaskMerged]:
    events = app.store.events(app.key, task=task.id, types=["task.merged"])
    return [read(TaskMerged, event.data) for event in events]


def _merged(app: App, base: Commit, now: Commit, approved_commit: Commit) -> MergeOutcome:
    if is_ancestor(app.repo, base.sha, now.sha):
        ahead = is_ancestor(app.repo, now.sha, approved_commit.sha)
        return MergeOutcome(approved_commit.tree) if ahead else merge_commits(app.repo, now.sha, approved_commit.sha)
    # What it was built on is there under other names (squashed, rebased): its own change is what counts.
    return merge_trees(app.repo, base.tree, now.tree, approved_commit.tree)


def _commit(app: App, candidate: MergeCandidate, target: Target, tree: str, how: str) -> str:
    if how == "rebase":
        return _replayed(app, candidate, target, tree)
    parents = (target.now.sha, candidate.commit_to_merge) if how == "merge" else (target.now.sha,)
    return write_commit(app.repo, tree, parents, _message(app, candidate, how), app.repository.author())


def _replayed(app: App, candidate: MergeCandidate, target: Target, tree: str) -> str:
    outcome = replay(
        app.repo, target.now.sha, candidate.approval.base, candidate.commit_to_merge, app.repository.author()
    )
    if outcome.conflicts:
        raise Conflicts(candidate.task, target.name, outcome.conflicts)
    if read_commit(app.repo, outcome.commit).tree != tree:
        raise Refused(
            f"The commits of task {candidate.task.id}, one by one, do not give the tree that their merge gives.",
            hint="Merge without --rebase, or with --squash.",
        )
    return outcome.commit


def _message(app: App, candidate: MergeCandidate, how: str) -> str:
    task = candidate.task
    title = " ".join(task.spec.title.split())
    summary = "" if how == "merge" else review_summary(app, task)
    subject = f"Merge task {task.id}: {title}" if how == "merge" else f"feat: {title}"
    trailers = {"Burnish-Task": str(task.id), "Burnish-Cycle": str(task.cycle), "Burnish-Phase": "merge"}
    trailers["Burnish-Approved"] = candidate.approval.commit
    return with_trailers(f"{subject}\n\n{summary}".strip(), trailers)


def review_summary(app: App, task: Task) -> str:
    """The summary of the last review."""
    phases = with_result(app.store.phases(app.key, task.id, task.run), ReviewResult)
    reviews = [record for record in phases if record.phase == "review"]
    return reviews[-1].result.summary.strip() if reviews else ""
