"""`burnish clean`: lists the sizes of workspaces and removes them without losing work."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.adapters.checks.stored_environments import StoredEnvironment, delete_unused, list_environments
from burnish.core.flow import RUNNING
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BurnishError, Refused
from burnish.git.agent_gitdir import borrows_from
from burnish.git.files import PUT_ASIDE, disk_usage, remove_tree
from burnish.git.objects import read_commit
from burnish.git.refs import list_refs
from burnish.git.rescue import PREFIX
from burnish.git.workspace import GitWorkspace
from burnish.git.workspace_removal import remove_workspace
from burnish.proc.identity import hold
from burnish.runtime.ports import registered_runner
from burnish.runtime.reader import refuse_inside_phase

if TYPE_CHECKING:
    from burnish.runtime.app import App

OVER = frozenset({Status.COMPLETED, Status.CANCELLED})
WITHHELD = ".withheld-"


@dataclass(frozen=True, slots=True)
class PutAside:
    """`NAME.replaced-N` beside a workspace. burnish never removes what is not a copy of a workspace."""

    path: Path
    is_workspace: bool


@dataclass(frozen=True, slots=True)
class FolderSize:
    """The files of one task, in bytes. `task` is None for files of a removed task."""

    name: str
    task: Task | None
    workspace: int
    snapshot: int
    calls: int
    # what agent programs keep so that a session can be resumed
    sessions: int
    # a folder that burnish moved out of the place of a workspace
    aside: PutAside | None = None

    @property
    def removable(self) -> int:
        if self.aside and not self.aside.is_workspace:
            return 0
        return self.workspace + self.snapshot + (self.sessions if self.is_over else 0)

    @property
    def is_over(self) -> bool:
        return self.task is None or self.task.status in OVER

    @property
    def status(self) -> str:
        return self.task.status.value if self.task else "removed"

    def as_json(self) -> dict[str, Any]:
        number = str(self.task.id) if self.task else None
        if self.aside:
            place, removable = str(self.aside.path), self.aside.is_workspace
            return {"id": number, "name": self.name, "path": place, "bytes": self.workspace, "removable": removable}
        parts = {
            "workspace": self.workspace,
            "snapshot": self.snapshot,
            "calls": self.calls,
            "sessions": self.sessions,
        }
        return {"id": number, "name": self.name, "status": self.status, "bytes": parts}


@dataclass(frozen=True, slots=True)
class CleanReport:
    weight: FolderSize
    rescue: str | None = None
    # the folder with copies of what must not come into git, and a sentence on it
    withheld: Path | None = None
    note: str = ""
    error: BurnishError | None = None
    # where the whole workspace is now, if it was not removed
    folder: Path | None = None

    def as_json(self) -> dict[str, Any]:
        withheld = str(self.withheld) if self.withheld else None
        return {"name": self.weight.name, "rescue": self.rescue, "withheld": withheld}


@dataclass(frozen=True, slots=True)
class Rescue:
    ref: str
    commit: str
    subject: str


def clean_json(
    weights: list[FolderSize],
    going: list[FolderSize],
    reports: list[CleanReport],
    environments: Sequence[StoredEnvironment] = (),
    deleted_environments: Sequence[StoredEnvironment] = (),
) -> dict[str, Any]:
    """The JSON result: all files, the selection, and what was removed."""
    return {
        "environments": [environment.as_json() for environment in environments],
        "removed_environments": [environment.path.name for environment in deleted_environments],
        "tasks": [weight.as_json() for weight in weights if not weight.aside],
        "put_aside": [weight.as_json() for weight in weights if weight.aside],
        "chosen": [weight.name for weight in going],
        "removed": [one.as_json() for one in reports if not one.error and not one.folder],
        "moved": [{"name": one.weight.name, "path": str(one.folder)} for one in reports if one.folder],
        "left": [{"name": one.weight.name, "why": one.error.what} for one in reports if one.error],
    }


def weigh(app: App) -> list[FolderSize]:
    """All tasks with files on disk, the largest first, and files of removed tasks."""
    tasks = {task.name: task for task in app.store.tasks(app.key)}
    found = [weight_of(app, name, tasks.get(name)) for name in sorted({*tasks, *workspace_names(app)})]
    found += [weight_of_aside(app, name, tasks.get(workspace_of(name))) for name in put_aside_names(app)]
    return sorted(
        (w for w in found if w.aside or w.removable or (w.task and (w.calls or w.sessions))),
        key=lambda w: -(w.removable + w.calls),
    )


def workspace_names(app: App) -> set[str]:
    """Of every workspace and snapshot on the disk, also of tasks that were removed."""
    names = _names_in(app, "workspaces") | _names_in(app, "snapshots")
    return {name for name in names if WITHHELD not in name and PUT_ASIDE not in name}


def put_aside_names(app: App) -> list[str]:
    """Of every folder that burnish moved out of the place of a workspace."""
    return sorted(name for name in _names_in(app, "workspaces") if PUT_ASIDE in name)


def workspace_of(put_aside_name: str) -> str:
    return put_aside_name.partition(PUT_ASIDE)[0]


def _names_in(app: App, kind: str) -> set[str]:
    folder = app.home / kind / app.key
    if not folder.is_dir():
        return set()
    return {entry.name for entry in os.scandir(folder) if not entry.name.startswith(".")}


def weight_of(app: App, name: str, task: Task | None) -> FolderSize:
    folder = app.home / "projects" / app.key / "tasks" / name
    return FolderSize(
        name,
        task,
        workspace=disk_usage(_place(app, "workspaces", name)),
        snapshot=disk_usage(_place(app, "snapshots", name)),
        calls=sum(disk_usage(folder / part) for part in ("calls", "outputs")),
        sessions=disk_usage(folder / "sessions"),
    )


def weight_of_aside(app: App, name: str, task: Task | None) -> FolderSize:
    path = _place(app, "workspaces", name)
    aside = PutAside(path, borrows_from(app.repo, path))
    return FolderSize(name, task, workspace=disk_usage(path), snapshot=0, calls=0, sessions=0, aside=aside)


def _place(app: App, kind: str, name: str) -> Path:
    return app.home / kind / app.key / name


def chosen(app: App, weights: list[FolderSize], ids: tuple[int, ...], *, all_completed: bool) -> list[FolderSize]:
    """The files to remove: of the named tasks, or of all finished and removed tasks."""
    for number in ids:
        app.store.task(app.key, number)
    if ids:
        return [w for w in weights if w.task and w.task.id in ids and w.removable]
    if not all_completed:
        return []
    return [w for w in weights if w.removable and w.is_over]


def clean(app: App, weights: list[FolderSize]) -> list[CleanReport]:
    refuse_inside_phase()
    return [_clean(app, weight) for weight in weights]


def needed_by_open_tasks(tasks: Sequence[Task]) -> set[int]:
    """Tasks whose work an open task continues."""
    open_tasks = [task for task in tasks if task.status not in OVER]
    branches = {task.branch for task in open_tasks if task.branch}
    return {task.spec.of for task in open_tasks if task.spec.of} | {
        task.id for task in tasks if task.branch and task.branch in branches
    }


def drop_copies(app: App) -> str:
    """Remove what the git remote has of completed and cancelled tasks; returns why it could not be done."""
    refs = app.shared_refs
    if refs is None:
        return ""
    try:
        refs.fetch_all()
    except BurnishError as error:
        return f"The copies of finished tasks stay on the remote. {error.what}"
    tasks = app.store.tasks(app.key, brief=True)
    ended_ids = {task.id for task in tasks if task.status in OVER} - needed_by_open_tasks(tasks)
    return app.drop_copies([id for id in sorted(ended_ids) if refs.of_tasks([id])])


def _clean(app: App, weight: FolderSize) -> CleanReport:
    try:
        with _held(app, weight.task):
            path = _place(app, "workspaces", weight.name)
            repository, branch = app.repository, weight.task.branch if weight.task else None
            if weight.aside and branch is None:
                branch = f"burnish/{workspace_of(weight.name)}"
            workspace = GitWorkspace(
                app.repo,
                path,
                weight.name,
                branch=branch,
                author=repository.author(),
                secrets=repository.secrets,
                max_file_bytes=repository.max_file_bytes,
            )
            if weight.aside:
                workspace.adopt()
            rescued_work = remove_workspace(workspace, "clean", copies=app.config.workspace.copies)
            if not weight.aside:
                _remove_other_files(app, weight)
    except BurnishError as error:
        return CleanReport(weight, error=error)
    if rescued_work.folder:
        weight = replace(weight, workspace=0)  # it was moved aside, which frees no space
    return CleanReport(
        weight,
        rescue=rescued_work.rescue,
        withheld=rescued_work.withheld,
        note=rescued_work.note,
        folder=rescued_work.folder,
    )


def _remove_other_files(app: App, weight: FolderSize) -> None:
    remove_tree(_place(app, "snapshots", weight.name))
    folder = app.home / "projects" / app.key / "tasks" / weight.name
    if weight.is_over:
        remove_tree(folder / "sessions")
    # The output of set-up was removed as well: the next run has to set up again.
    (folder / "stamps" / "setup").unlink(missing_ok=True)


@contextmanager
def _held(app: App, task: Task | None) -> Iterator[None]:
    """Claim a task that could be run, so that no runner starts it meanwhile."""
    if task is None or task.status not in RUNNING:
        yield
        return
    with hold(app.locks) as lock, registered_runner(app.store, lock) as me:
        try:
            if app.store.claim(app.key, me, ids=[task.id], is_dead=app.event_log.is_dead) is None:
                app.event_log.refuse_if_held(task.id)
                raise Refused(f"Task {task.id} is being run.", hint=f"Stop it first: burnish cancel {task.id}")
            yield
        finally:
            app.store.release(app.key, task.id, me)


def environments(app: App) -> list[StoredEnvironment]:
    """What set-up installed for the checks of this project."""
    return list_environments(app.home / "environments" / app.key)


def clean_environments(environments: Sequence[StoredEnvironment]) -> list[StoredEnvironment]:
    """Delete those that no run uses; the next run installs what it needs."""
    refuse_inside_phase()
    return [environment for environment in environments if delete_unused(environment.path)]


def rescues(app: App) -> list[Rescue]:
    """What was saved from being lost, and can be looked at with git."""
    found = sorted(list_refs(app.repo, PREFIX).items())
    return [Rescue(ref, sha, read_commit(app.repo, sha).message.partition("\n")[0]) for ref, sha in found]
