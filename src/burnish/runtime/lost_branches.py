"""Tasks whose branch or commit is missing: detected by each command, and continued at the start of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.errors import BurnishError
from burnish.store import Store
from burnish.store.rows import ProjectRow, TaskBranch

if TYPE_CHECKING:
    from burnish.git.project import Project
    from burnish.git.refs import KnownRefs
    from burnish.runtime.app import App

APPROVED = (Status.VERIFIED, Status.WAITING_APPROVAL)


def void_lost_approvals(
    home: Path,
    store: Store,
    rows: Sequence[ProjectRow],
    known_refs: Mapping[str, KnownRefs] | None = None,
    *,
    is_here: bool = False,
    only_shows: bool = False,
) -> None:
    """Void approvals of missing commits before tasks are shown.

    `known_refs`: a cache of each project for long-running processes. A branch that did not move is not read again.
    `is_here`: the command was started in the repository, which is identified by its path even without an id: a new
    clone, or one whose burnish refs were all deleted. `only_shows`: where the home cannot be written, the approvals are
    void in the copy that this command shows. Without it, such a home is ignored.
    """
    for row in rows:
        with suppress(BurnishError, OSError):
            branches = store.task_branches(row.key, APPROVED)
            if branches:
                cache = known_refs.get(row.key) if known_refs else None
                _void(home, store, row, branches, cache, is_here=is_here, only_shows=only_shows)


def _void(
    home: Path,
    store: Store,
    row: ProjectRow,
    tasks: Sequence[TaskBranch],
    known_refs: KnownRefs | None,
    *,
    is_here: bool,
    only_shows: bool,
) -> None:
    """Void the approvals of lost branches."""
    # Imported only if needed, so that read-only commands start fast.
    from burnish.git.integrity import find_damage
    from burnish.git.refs import read_branches, read_refs

    project = repository_of(home, row, max(len(task.commit) for task in tasks), is_here=is_here)
    if project is None:
        return  # moved, or replaced by another repository: its branches are unknown
    known_tips = read_branches(project, known_refs).tips if known_refs else {}
    tips = read_refs(project, list(dict.fromkeys(f"refs/heads/{task.branch}" for task in tasks)), known_tips)
    old_tips = known_refs.readable_tips if known_refs else {}
    changed_tips = {ref: sha for ref, sha in tips.items() if sha is None or old_tips.get(ref) != sha}
    damaged_refs = find_damage(project, list(changed_tips), changed_tips) if changed_tips else {}
    for task in tasks:
        if f"refs/heads/{task.branch}" in damaged_refs:
            _void_one(home, store, row, project, task.id, only_shows=only_shows)
    if known_refs:
        known_refs.readable_tips = {ref: sha for ref, sha in tips.items() if sha and ref not in damaged_refs}


def repository_of(home: Path, row: ProjectRow, width: int, *, is_here: bool) -> Project | None:
    """The repository of a project without its settings; None if it is not where it was. `width`: of its hashes."""
    from burnish.git.discovery import discover
    from burnish.git.project import Project as OpenedProject
    from burnish.git.repository_id import read_id

    found = discover(row.root)
    own = home.absolute() / "projects" / row.key / "git"
    is_same = found.common_dir == row.common_dir and not row.is_detached
    if row.repository_id:
        repository = read_id(found.common_dir)
        is_same = is_same and (repository == row.repository_id or (is_here and repository is None))
    if not is_same or not own.is_dir():
        return None
    return OpenedProject(found.root, found.common_dir, found.git_dir, own, "sha256" if width == 64 else "sha1")


def _void_one(home: Path, store: Store, row: ProjectRow, project: Project, number: int, *, only_shows: bool) -> None:
    from burnish.adapters.event_log import StoreEventLog
    from burnish.adapters.repository import GitRepository
    from burnish.engine.lost_branch import void_if_lost
    from burnish.store.trouble import is_obstacle

    event_log = StoreEventLog(store, row.key, tasks_folder=home / "projects" / row.key / "tasks")
    repository = GitRepository(project, home, row.key, remote=_shared_remote(store, project))
    try:
        void_if_lost(event_log, repository, store.task(row.key, number))
    except BurnishError as error:
        if not only_shows or not is_obstacle(error):
            raise
        with store.changing_copy(error):
            # without files: they would have an event that the database does not have
            void_if_lost(replace(event_log, tasks_folder=None), repository, store.task(row.key, number))


def _shared_remote(store: Store, project: Project) -> str:
    if not store.is_shared:
        return ""
    from burnish.cluster.shared_refs import has_remote
    from burnish.user_settings import remote_name

    return remote_name() if has_remote(project.root, remote_name()) else ""


@dataclass(frozen=True, slots=True)
class SettledBranches:
    """Notes for the user, and the tips of open tasks' branches with a readable commit and tree."""

    notes: list[str]
    tips: Mapping[str, str]
    # True if one of them was unreadable.
    had_unreadable: bool


def settle_lost(app: App, damaged_refs: Sequence[str], known_tips: Mapping[str, str]) -> SettledBranches:
    """At the start of a run: restore lost branches if possible; a deleted branch waits for a person.

    `damaged_refs`: branches with unreadable objects below the commit and its tree. `known_tips`: tips of refs that were
    just read.
    """
    from burnish.engine.lost_branch import OPEN, relies_on_branch
    from burnish.git.integrity import Damage, find_damage
    from burnish.git.refs import read_refs

    rows = app.store.task_branches(app.key, OPEN)
    tips = read_refs(app.repo, list(dict.fromkeys(f"refs/heads/{row.branch}" for row in rows)), known_tips)
    # a server has read those of approved tasks before, unless they have moved since
    readable_tips = app.known_refs.readable_tips if app.known_refs else {}
    unread_tips = {ref: sha for ref, sha in tips.items() if sha is None or readable_tips.get(ref) != sha}
    found = find_damage(app.repo, list(unread_tips), unread_tips) if unread_tips else {}
    lost_refs = {*found, *damaged_refs}
    # Only these few are read as tasks.
    task_ids = [row.id for row in rows if f"refs/heads/{row.branch}" in lost_refs or row.reason == Reason.BRANCH_GONE]
    notes = []
    for task in app.store.tasks(app.key, statuses=OPEN, ids=task_ids) if task_ids else ():
        try:
            note = (
                _settle(app, task, is_lost=f"refs/heads/{task.branch}" in lost_refs) if relies_on_branch(task) else None
            )
        except BurnishError as error:
            note = f"{error.what} {error.hint}".rstrip()
        notes += [f"Task {task.id}: {note}"] if note else []
    sound_tips = {ref.removeprefix("refs/heads/"): sha for ref, sha in tips.items() if sha and ref not in lost_refs}
    return SettledBranches(notes, sound_tips, any(one.damage is Damage.UNREADABLE for one in found.values()))


def _settle(app: App, task: Task, *, is_lost: bool) -> str | None:
    from burnish.engine import lost_branch

    if task.runner is not None and not app.event_log.is_dead(task.runner):
        return None
    is_back = not is_lost and task.reason is Reason.BRANCH_GONE and task.status is Status.BLOCKED
    if is_back:
        lost_branch.return_to_review(app.event_log, app.event_log.history(task.id), lost_branch.BRANCH_RESTORED)
        return lost_branch.BRANCH_RESTORED
    if not is_lost:
        return None
    found = app.repository.lost_branch(task)
    if not (found and found.is_deleted) and (why := lost_branch.restore_branch(app.event_log, app.repository, task)):
        return why
    return lost_branch.block_if_lost(app.event_log, app.repository, app.store.task(app.key, task.id))


def settle_task(app: App, task_id: int) -> Task:
    """The same for one task, before a person's command on it."""
    from burnish.engine.lost_branch import OPEN, relies_on_branch

    task = app.store.task(app.key, task_id)
    if task.status in OPEN and relies_on_branch(task):
        is_lost = app.repository.lost_branch(task) is not None or not app.repository.is_whole(task, str(task.commit))
        _settle(app, task, is_lost=is_lost)
    return app.store.task(app.key, task_id)
