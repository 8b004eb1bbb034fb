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
from burnish.git.files import disk_usage, remove_tree
from burnish.git.objects import read_commit
from burnish.git.refs import list_refs
from burnish.git.rescue import PREFIX
from burnish.git.workspace import GitWorkspace
from burnish.git.workspace_removal import remove_workspace
from burnish.proc.identity import hold
from burnish.runtime.ports import runner_card
from burnish.runtime.reader import refuse_inside_phase

if TYPE_CHECKING:
    from burnish.runtime.app import App

OVER = frozenset({Status.COMPLETED, Status.CANCELLED})
# Left beside a workspace for a person to look at, never removed by us.
KEPT = (".withheld-", ".replaced-")


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

    @property
    def removable(self) -> int:
        return self.workspace + self.snapshot + (self.sessions if self.is_over else 0)

    @property
    def is_over(self) -> bool:
        return self.task is None or self.task.status in OVER

    @property
    def status(self) -> str:
        return self.task.status.value if self.task else "removed"

    def as_json(self) -> dict[str, Any]:
        parts = {
            "workspace": self.workspace,
            "snapshot": self.snapshot,
            "calls": self.calls,
            "sessions": self.sessions,
        }
        number = str(self.task.id) if self.task else None
        return {"id": number, "name": self.name, "status": self.status, "bytes": parts}


@dataclass(frozen=True, slots=True)
class CleanReport:
    weight: FolderSize
    rescue: str | None = None
    # the folder with copies of what must not come into git, and a sentence on it
    withheld: Path | None = None
    note: str = ""
    error: BurnishError | None = None

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
        "tasks": [weight.as_json() for weight in weights],
        "chosen": [weight.name for weight in going],
        "removed": [one.as_json() for one in reports if not one.error],
        "left": [{"name": one.weight.name, "why": one.error.what} for one in reports if one.error],
    }


def weigh(app: App) -> list[FolderSize]:
    """All tasks with files on disk, the largest first, and files of removed tasks."""
    tasks = {task.name: task for task in app.store.tasks(app.key)}
    found = [weight_of(app, name, tasks.get(name)) for name in sorted({*tasks, *workspace_names(app)})]
    return sorted(
        (w for w in found if w.removable or (w.task and (w.calls or w.sessions))),
        key=lambda w: -(w.removable + w.calls),
    )


def workspace_names(app: App) -> set[str]:
    """Of every workspace and snapshot on the disk, also of tasks that were removed."""
    names: set[str] = set()
    for kind in ("workspaces", "snapshots"):
        folder = app.home / kind / app.key
        if folder.is_dir():
            names |= {entry.name for entry in os.scandir(folder) if not any(mark in entry.name for mark in KEPT)}
    return {name for name in names if not name.startswith(".")}


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


def _clean(app: App, weight: FolderSize) -> CleanReport:
    try:
        with _held(app, weight.task):
            path = _place(app, "workspaces", weight.name)
            repository, branch = app.repository, weight.task.branch if weight.task else None
            workspace = GitWorkspace(
                app.repo,
                path,
                weight.name,
                branch=branch,
                author=repository.author(),
                secrets=repository.secrets,
                max_file_bytes=repository.max_file_bytes,
            )
            rescued_work = remove_workspace(workspace, "clean", copies=app.config.workspace.copies)
            remove_tree(_place(app, "snapshots", weight.name))
            folder = app.home / "projects" / app.key / "tasks" / weight.name
            if weight.is_over:
                remove_tree(folder / "sessions")
            # The output of set-up was removed as well: the next run has to set up again.
            (folder / "stamps" / "setup").unlink(missing_ok=True)
    except BurnishError as error:
        return CleanReport(weight, error=error)
    if rescued_work.folder:
        weight = replace(weight, workspace=0)  # it was moved aside, which frees no space
    return CleanReport(weight, rescue=rescued_work.rescue, withheld=rescued_work.withheld, note=rescued_work.note)


@contextmanager
def _held(app: App, task: Task | None) -> Iterator[None]:
    """Claim a task that could be run, so that no runner starts it meanwhile."""
    if task is None or task.status not in RUNNING:
        yield
        return
    with hold(app.locks) as lock:
        me = lock.runner.uuid
        app.store.register_runner(runner_card(lock))
        try:
            if app.store.claim(app.key, me, ids=[task.id], is_dead=app.event_log.is_dead) is None:
                app.event_log.refuse_if_held(task.id)
                raise Refused(f"Task {task.id} is being run.", hint=f"Stop it first: burnish cancel {task.id}")
            yield
        finally:
            app.store.release(app.key, task.id, me)
            app.store.forget_runner(me)


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
