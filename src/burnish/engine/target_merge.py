"""A cycle that merges the target into the task's branch. The author resolves conflicts; without any, none is asked."""

from __future__ import annotations

from dataclasses import replace

from burnish.core.commit import Commit, TargetMerge
from burnish.core.flow import WorkStep, last_target_merge, target_to_merge
from burnish.core.history import History
from burnish.core.journal_events import PhaseStarted, new_event
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.engine.ports import Deps
from burnish.engine.task_setup import TaskSetup
from burnish.engine.transitions import rebased, status_events, work_by_hand
from burnish.review.packing import only
from burnish.review.target_text import TargetChanges


def pending_merge(setup: TaskSetup, history: History, step: WorkStep) -> TargetMerge | None:
    """The merge that this cycle begins with, if a person or `merge.on_conflict` asked for one."""
    decision = target_to_merge(history, step.cycle)
    return setup.workspace.merge_target(setup.base.commit, decision.data.target_commit) if decision else None


def needs_author(history: History, step: WorkStep, merge: TargetMerge | None) -> bool:
    """Whether an agent works in this cycle, or has worked and is to be recorded."""
    record = history.phase(step.cycle, step.phase)
    return merge is None or bool(merge.conflicts) or (record is not None and record.state == "started")


def commit_clean_merge(
    deps: Deps, setup: TaskSetup, history: History, step: WorkStep, merge: TargetMerge, earlier_commit: Commit | None
) -> None:
    """Commit and record a merge without conflicts. No agent is asked, and nothing is paid."""
    task, head = history.task, setup.head()
    commit = earlier_commit or (head if merge.is_contained else None)
    if commit is None:
        deps.repository.check_movable(str(task.branch))
        deps.event_log.require_claim(task.id)
        setup.workspace.keep_tip(BEFORE_MERGE)
        subject, body = merge_words(task, merge)
        message, trailers = f"{subject}\n\n{body}" if body else subject, merge_trailers(task, step)
        commit = setup.workspace.commit_merge(
            merge, message, trailers, author=deps.repository.author(), expect=head.sha
        )
        deps.failpoint("target-merged")
    setup.workspace.reset_to(commit.sha, base=setup.base)
    decision = target_to_merge(history, step.cycle)
    why = decision.data.why if decision else ""
    beginning = PhaseStarted(step.phase, history.attempt(step.cycle, step.phase)[0], deps.runner, by_hand=True, why=why)
    result = work_by_hand(step.phase, commit.sha, commit.tree, why, attempt=beginning.attempt)
    events = [
        new_event("phase.started", beginning, run=task.run, cycle=step.cycle),
        *rebased(task, merge.base),
        new_event("phase.finished", result, run=task.run, cycle=step.cycle),
    ]
    if task.status is Status.IN_PROGRESS:
        events.append(status_events(task, Status.CODE_REVIEW, cycle=step.cycle))
    deps.record(task, *events)
    deps.failpoint("target-recorded")


# Part of the name of the rescue ref that keeps the branch as it was.
BEFORE_MERGE = "before-merge"


def merge_trailers(task: Task, step: WorkStep) -> dict[str, str]:
    return {"Burnish-Task": str(task.id), "Burnish-Cycle": str(step.cycle), "Burnish-Phase": step.phase}


def merge_words(task: Task, merge: TargetMerge) -> tuple[str, str]:
    """Subject and body of the merge commit."""
    subject = f"Merge {task.target or merge.target[:12]} into {task.branch}"
    paths = [f"\t{path.encode('unicode_escape').decode()}" for path in merge.paths]
    return subject, "Conflicts:\n" + "\n".join(paths) if paths else ""


def conflicts_of(setup: TaskSetup, history: History, merge: TargetMerge) -> TargetChanges:
    """What both sides changed in the files with a conflict, for the author."""
    return _changes(setup, history.task, merge, setup.head().sha, setup.base.commit)


def resolved_conflicts(deps: Deps, setup: TaskSetup, history: History, cycle: int) -> TargetChanges | None:
    """What the target had changed where the author resolved conflicts last, for reviewers."""
    decision = target_to_merge(history, last_target_merge(history, cycle))
    if decision is None or not decision.data.conflicts:
        return None
    head, target = decision.data.commit, decision.data.target_commit
    fork = deps.repository.fork(head, target)
    if fork is None:
        return None
    merge = setup.workspace.merge_target(fork.commit, target, head=head)
    own = tuple(conflict for conflict in merge.conflicts if conflict.path in decision.data.conflicts)
    changes = _changes(setup, history.task, replace(merge, conflicts=own), head, fork.commit)
    changed_paths = set(setup.workspace.changes(head, setup.head().sha).paths)
    return replace(changes, unchanged=tuple(path for path in changes.paths if path not in changed_paths))


def _changes(setup: TaskSetup, task: Task, merge: TargetMerge, head: str, start: str) -> TargetChanges:
    their_change, our_change = (
        only(setup.workspace.changes(start, side), merge.paths) for side in (merge.target, head)
    )
    commits = setup.workspace.target_commits(head, merge.target, merge.paths)
    name = task.target or ""
    diffs = (their_change.text(), our_change.text())
    return TargetChanges(name, merge.target, merge.conflicts, tuple(commits), *diffs)
