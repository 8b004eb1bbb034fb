"""Runs remove old files of finished tasks and unused environments.

At most once a day for each project, and for a few seconds at a time. Nothing of an open task is touched, no rescue and
no artifact is removed, and what is not committed in a workspace becomes a rescue first, as with `burnish clean`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.adapters.checks.stored_environments import StoredEnvironment, delete_unused, list_environments, size_of
from burnish.core.task import Task
from burnish.features.clean import clean as cleaning
from burnish.features.clean.record import CleaningRecord, read_record, write_record
from burnish.git.files import disk_usage, remove_tree
from burnish.proc.folders import private_folder
from burnish.proc.slots import try_lock

if TYPE_CHECKING:
    from burnish.runtime.app import App

INTERVAL = timedelta(days=1)
# Files of tasks that ended today stay, whatever their size.
LEAST_AGE = timedelta(days=1)
# the rest is removed on another day
MAX_SECONDS = 10.0
# the size of the rest is remembered from another day
MAX_MEASURING_SECONDS = 4.0
TRANSCRIPTS = ("calls", "outputs", "sessions")


@dataclass(frozen=True, slots=True)
class OldFiles:
    """The files of one finished task or environment, and since when they are unused."""

    unused_since: datetime
    # None if it is still there
    remove: Callable[[], Removal | None]
    # "" for an environment
    task_name: str = ""


@dataclass(frozen=True, slots=True)
class Removal:
    """Bytes that were freed, and whether the workspace was put aside instead of removed."""

    bytes: int
    is_put_aside: bool = False


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    files: OldFiles
    removal: Removal


def clean_if_due(app: App, now: datetime | None = None) -> CleaningRecord | None:
    """Remove old files, at most once a day; returns a record if something was removed."""
    now = now or datetime.now(UTC)
    with _alone(app) as is_alone:
        last = read_record(app.home, app.key)
        settings = app.config.clean
        is_off = not settings.after_days and not settings.max_gb
        if not is_alone or (last and last.is_switched_off == is_off and not _is_due(last, now)):
            return None
        stamp = now.isoformat(timespec="seconds")
        if is_off or last is None:
            # For a new project, cleaning starts tomorrow.
            write_record(app.home, app.key, CleaningRecord(stamp, is_switched_off=is_off))
            return None
        removed_files = _remove_old(app, now)
        record = replace(last, checked_at=stamp, is_switched_off=False)
        if removed_files:
            record = _record_of(removed_files, stamp)
        write_record(app.home, app.key, record)
        return record if removed_files else None


def _record_of(removed_files: Sequence[RemovedFiles], stamp: str) -> CleaningRecord:
    # nothing is freed where a workspace was put aside and the task had no other files
    freed = [one for one in removed_files if one.removal.bytes or not one.removal.is_put_aside]
    names = {one.files.task_name for one in freed if one.files.task_name}
    environments = sum(not one.files.task_name for one in freed)
    total = sum(one.removal.bytes for one in freed)
    put_aside = sum(one.removal.is_put_aside for one in removed_files)
    return CleaningRecord(stamp, stamp, len(names), environments, total, put_aside=put_aside)


def _is_due(last: CleaningRecord, now: datetime) -> bool:
    # A clock that was set back must not disable it.
    return abs(now - datetime.fromisoformat(last.checked_at)) >= INTERVAL


@contextmanager
def _alone(app: App) -> Iterator[bool]:
    private_folder(app.locks)
    fd = try_lock(app.locks / f"clean-{app.key}")
    try:
        yield fd is not None
    finally:
        if fd is not None:
            os.close(fd)


def _remove_old(app: App, now: datetime) -> list[RemovedFiles]:
    settings, deadline = app.config.clean, time.monotonic() + MAX_SECONDS
    found = sorted(_find_removable(app), key=lambda one: one.unused_since)
    limit = timedelta(days=settings.after_days)
    old = [one for one in found if settings.after_days and now - one.unused_since >= limit]
    removed_files = _remove(old, deadline)
    if settings.max_gb:
        excess = _bytes_in_use(app, time.monotonic() + MAX_MEASURING_SECONDS) - int(settings.max_gb * 1e9)
        old_files = [one.files for one in removed_files]
        candidates = [one for one in found if one not in old_files and now - one.unused_since >= LEAST_AGE]
        removed_files += _remove(candidates, deadline, excess)
    return removed_files


def _remove(found: Sequence[OldFiles], deadline: float, most_bytes: int | None = None) -> list[RemovedFiles]:
    """Remove the first of these until the byte limit or the deadline is reached."""
    removed_files: list[RemovedFiles] = []
    for one in found:
        freed_bytes = sum(other.removal.bytes for other in removed_files)
        if time.monotonic() > deadline or (most_bytes is not None and freed_bytes >= most_bytes):
            break
        if (removal := one.remove()) is not None:
            removed_files.append(RemovedFiles(one, removal))
    return removed_files


def _find_removable(app: App) -> Iterator[OldFiles]:
    # Folders are read before tasks, so that each folder belongs to a known or a removed task.
    names, put_aside_names = cleaning.workspace_names(app), cleaning.put_aside_names(app)
    tasks = {task.name: task for task in app.store.tasks(app.key, brief=True)}
    needed_ids = cleaning.needed_by_open_tasks(list(tasks.values()))

    def is_over(task: Task) -> bool:
        return task.status in cleaning.OVER and task.id not in needed_ids

    for task in tasks.values():
        if is_over(task) and _has_files(app, task.name, names):
            yield _files_of(app, task.name, task, datetime.fromisoformat(task.updated_at))
    for name in sorted(names - tasks.keys()):
        yield _files_of(app, name, None, _last_change(app, name))
    for name in put_aside_names:
        task_of_it = tasks.get(cleaning.workspace_of(name))
        if task_of_it is None or is_over(task_of_it):
            yield _files_put_aside(app, name, task_of_it)
    for environment in list_environments(app.home / "environments" / app.key, with_size=False):
        if not environment.in_use:
            yield _files_of_environment(environment)


def _has_files(app: App, name: str, names: set[str]) -> bool:
    folder = _task_folder(app, name)
    return name in names or any((folder / part).is_dir() for part in TRANSCRIPTS)


def _files_of(app: App, name: str, task: Task | None, unused_since: datetime) -> OldFiles:
    def remove() -> Removal | None:
        if _is_reopened(app, task):
            return None
        weight = cleaning.weight_of(app, name, task)
        (report,) = cleaning.clean(app, [weight])
        if report.error:
            return None
        freed_bytes = report.weight.workspace + weight.snapshot
        if task:
            for part in TRANSCRIPTS:
                remove_tree(_task_folder(app, name) / part)
            freed_bytes += weight.calls + weight.sessions
        return Removal(freed_bytes, is_put_aside=report.folder is not None)

    return OldFiles(unused_since, remove, name)


def _files_put_aside(app: App, name: str, task: Task | None) -> OldFiles:
    def remove() -> Removal | None:
        weight = cleaning.weight_of_aside(app, name, task)
        if not weight.removable or _is_reopened(app, task):
            return None
        (report,) = cleaning.clean(app, [weight])
        return None if report.error else Removal(weight.workspace)

    # the time of the last change of the folder itself: a move sets it, and programs cannot
    moved_at = datetime.fromtimestamp((app.home / "workspaces" / app.key / name).lstat().st_ctime, UTC)
    unused_since = max(moved_at, datetime.fromisoformat(task.updated_at)) if task else moved_at
    return OldFiles(unused_since, remove, cleaning.workspace_of(name))


def _is_reopened(app: App, task: Task | None) -> bool:
    return task is not None and not app.store.tasks(app.key, ids=[task.id], statuses=cleaning.OVER)


def _files_of_environment(environment: StoredEnvironment) -> OldFiles:
    def remove() -> Removal | None:
        size = size_of(environment.path)
        return Removal(size) if delete_unused(environment.path) else None

    return OldFiles(environment.used_at, remove)


def _last_change(app: App, name: str) -> datetime:
    places = [app.home / kind / app.key / name for kind in ("workspaces", "snapshots")]
    return datetime.fromtimestamp(max((place.lstat().st_mtime for place in places if place.exists()), default=0), UTC)


def _bytes_in_use(app: App, deadline: float) -> int:
    project = app.home / "projects" / app.key
    kinds = [app.home / kind / app.key for kind in ("workspaces", "snapshots", "environments")]
    return total_size((*kinds, project / "tasks"), project / "folder-sizes.json", deadline)


def _task_folder(app: App, name: str) -> Path:
    return app.home / "projects" / app.key / "tasks" / name


# -- folder sizes ---------------------------------------------------------------------------------
# What many folders take on the disk, measured for a limited time and remembered for the next time.
#
# A project may have millions of files. Each time the folders are measured first whose size is not known, or that were
# measured longest ago; the others count with the size that is remembered.

# path of a folder → when it was measured, and bytes
Sizes = dict[str, tuple[float, int]]


def total_size(places: Iterable[Path], memory: Path, deadline: float) -> int:
    """Of all folders directly below the places. `deadline` is a moment of `time.monotonic`."""
    folders = [entry.path for place in places if place.is_dir() for entry in os.scandir(place)]
    sizes_by_folder = _read(memory)
    for folder in sorted(folders, key=lambda one: sizes_by_folder.get(one, (0.0, 0))[0]):
        if time.monotonic() > deadline:
            break
        size = disk_usage(Path(folder), deadline=deadline)
        if time.monotonic() > deadline:
            # only a part was counted
            size = max(size, sizes_by_folder.get(folder, (0.0, 0))[1])
        sizes_by_folder[folder] = (time.time(), size)
    sizes = {folder: sizes_by_folder[folder] for folder in folders if folder in sizes_by_folder}
    _write(memory, sizes)
    return sum(size for _, size in sizes.values())


def _read(memory: Path) -> Sizes:
    try:
        return {str(path): (float(at), int(size)) for path, (at, size) in json.loads(memory.read_bytes()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write(memory: Path, sizes: Sizes) -> None:
    # without a sync: if it is lost, the folders are measured again
    draft = memory.with_name(f".{memory.name}.{os.getpid()}")
    draft.write_text(json.dumps(sizes))
    draft.replace(memory)
