"""Tasks whose branch or commit is gone: found by each command that looks, and continued at the start of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.errors import BurnishError
from burnish.store import Store
from burnish.store.rows import ProjectRow, TaskBranch

if TYPE_CHECKING:
    from burnish.git.project import Project
    from burnish.runtime.app import App

APPROVED = (Status.VERIFIED, Status.WAITING_APPROVAL)


def void_lost_approvals(
    home: Path,
    store: Store,
    rows: Sequence[ProjectRow],
    seen: dict[str, Mapping[str, str]] | None = None,
    *,
    is_here: bool = False,
) -> None:
    """Before tasks are shown: no approval of a commit that is gone. A home that cannot be written is shown anyway.

    `seen`: for a process that looks often, where the branches of each project pointed when they could be read. A branch
    that did not move since is not read again. `is_here`: the command was started in the repository, which counts as the
    project's by its path even if it has no id: a new clone, or one whose refs of burnish's were all deleted.
    """
    for row in rows:
        with suppress(BurnishError, OSError):
            approved = store.task_branches(row.key, APPROVED)
            if approved:
                known = seen.get(row.key, {}) if seen is not None else {}
                sound = _void(home, store, row, approved, known, is_here=is_here)
                if seen is not None:
                    seen[row.key] = sound


def _void(
    home: Path, store: Store, row: ProjectRow, tasks: Sequence[TaskBranch], known: Mapping[str, str], *, is_here: bool
) -> dict[str, str]:
    """Take back the approvals of branches that are lost; where the others point."""
    # reading commands start fast: loaded only where there is something to look at
    from burnish.git.project import Project as OpenedProject
    from burnish.git.project import discover
    from burnish.git.refs import read_refs
    from burnish.git.repository_id import read_id
    from burnish.git.soundness import find_damage

    found = discover(row.root)
    own = home.absolute() / "projects" / row.key / "git"
    is_same = found.common_dir == row.common_dir and not row.is_detached
    if row.repository_id:
        repository = read_id(found.common_dir)
        is_same = is_same and (repository == row.repository_id or (is_here and repository is None))
    if not is_same or not own.is_dir():
        return {}  # moved, or another repository lies there now: nothing is known of the branches
    width = max(len(task.commit) for task in tasks)
    project = OpenedProject(found.root, found.common_dir, found.git_dir, own, "sha256" if width == 64 else "sha1")
    tips = read_refs(project, list(dict.fromkeys(f"refs/heads/{task.branch}" for task in tasks)))
    new = {ref: sha for ref, sha in tips.items() if sha is None or known.get(ref) != sha}
    lost = find_damage(project, list(new), new) if new else {}
    for task in tasks:
        if f"refs/heads/{task.branch}" in lost:
            _void_one(home, store, row, project, task.id)
    return {ref: sha for ref, sha in tips.items() if sha and ref not in lost}


def _void_one(home: Path, store: Store, row: ProjectRow, project: Project, number: int) -> None:
    from burnish.adapters.event_log import StoreEventLog
    from burnish.adapters.repository import GitRepository
    from burnish.engine.lost_branch import void_lost

    event_log = StoreEventLog(store, row.key, tasks_folder=home / "projects" / row.key / "tasks")
    void_lost(event_log, GitRepository(project, home, row.key), store.task(row.key, number))


@dataclass(frozen=True, slots=True)
class SettledBranches:
    """What to report, and where the branches of open tasks point that lead to a readable commit and tree."""

    notes: list[str]
    tips: Mapping[str, str]
    # did one of them lead to something that cannot be read?
    had_unreadable: bool


def settle_lost(app: App, damaged: Sequence[str], known: Mapping[str, str]) -> SettledBranches:
    """At the start of a run: what can be brought back is; a branch that somebody deleted waits for a person.

    `damaged`: branches that lead to something unreadable further down than the commit and its tree. `known`: where refs
    point that were read a moment ago.
    """
    from burnish.engine.lost_branch import OPEN, is_concerned
    from burnish.git.refs import read_refs
    from burnish.git.soundness import Damage, find_damage

    rows = app.store.task_branches(app.key, OPEN)
    tips = read_refs(app.repo, list(dict.fromkeys(f"refs/heads/{row.branch}" for row in rows)), known)
    found = find_damage(app.repo, list(tips), tips) if tips else {}
    lost = {*found, *damaged}
    # few of many: only these are read as tasks
    concerned = [row.id for row in rows if f"refs/heads/{row.branch}" in lost or row.reason == Reason.BRANCH_GONE]
    notes = []
    for task in app.store.tasks(app.key, statuses=OPEN, ids=concerned) if concerned else ():
        try:
            note = _settle(app, task, is_lost=f"refs/heads/{task.branch}" in lost) if is_concerned(task) else None
        except BurnishError as error:
            note = f"{error.what} {error.hint}".rstrip()
        notes += [f"Task {task.id}: {note}"] if note else []
    sound = {ref.removeprefix("refs/heads/"): sha for ref, sha in tips.items() if sha and ref not in lost}
    return SettledBranches(notes, sound, any(one.damage is Damage.UNREADABLE for one in found.values()))


def _settle(app: App, task: Task, *, is_lost: bool) -> str | None:
    from burnish.engine import lost_branch

    if task.runner is not None and not app.event_log.is_dead(task.runner):
        return None
    is_back = not is_lost and task.reason is Reason.BRANCH_GONE and task.status is Status.BLOCKED
    if is_back:
        lost_branch.return_to_review(app.event_log, app.event_log.history(task.id), lost_branch.BACK)
        return lost_branch.BACK
    if not is_lost:
        return None
    found = app.repository.lost_branch(task)
    if not (found and found.is_deleted) and (why := lost_branch.continue_lost(app.event_log, app.repository, task)):
        return why
    return lost_branch.block_lost(app.event_log, app.repository, app.store.task(app.key, task.id))


def settle_task(app: App, task_id: int) -> Task:
    """The same for one task, before a person's command on it."""
    from burnish.engine.lost_branch import OPEN, is_concerned

    task = app.store.task(app.key, task_id)
    if task.status in OPEN and is_concerned(task):
        is_lost = app.repository.lost_branch(task) is not None or not app.repository.is_whole(task, str(task.commit))
        _settle(app, task, is_lost=is_lost)
    return app.store.task(app.key, task_id)
