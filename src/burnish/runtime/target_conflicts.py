"""Approved tasks that conflict with their target, found by merging objects: no checkout and no ref changes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.core.commit import TargetConflict
from burnish.core.status import ErrorCode, Status
from burnish.core.task import Task
from burnish.errors import BurnishError, PhaseFailed
from burnish.runtime.lost_branches import repository_of
from burnish.store import Store
from burnish.store.rows import ProjectRow

if TYPE_CHECKING:
    from burnish.git.project import Project

Conflicts = Mapping[tuple[str, int], TargetConflict]
# Seconds that one command may spend on merges that are not in the cache. The next command continues.
MAX_SECONDS = 2.0
MAX_PATHS = 200
_CACHE = "conflicts.json"


def find_conflicts(home: Path, store: Store, rows: Iterable[ProjectRow], *, is_here: bool = False) -> Conflicts:
    """The conflicts of all approved tasks of these projects, by project and number.

    Results are cached by the commits that were merged. What cannot be merged now (a home that cannot be written, a
    branch that is gone) is not listed. `is_here`: as for `void_lost_approvals`.
    """
    found: dict[tuple[str, int], TargetConflict] = {}
    deadline = time.monotonic() + MAX_SECONDS
    for row in rows:
        with suppress(BurnishError, OSError, ValueError):
            tasks = _mergeable(store, row.key)
            for number, conflict in _of_project(home, row, tasks, deadline, is_here=is_here) if tasks else ():
                found[row.key, number] = conflict
    return found


def _mergeable(store: Store, project: str) -> list[Task]:
    """Approved tasks with a target. One that is built on another is merged after that, and is compared then."""
    tasks = store.tasks(project, statuses=[Status.VERIFIED], brief=True)
    tasks = [task for task in tasks if task.branch and task.base and task.commit and task.target]
    needs = {task.id: {*task.spec.depends_on, *([task.spec.of] if task.spec.of else [])} for task in tasks}
    others = store.tasks(project, ids=set().union(*needs.values()), brief=True) if any(needs.values()) else []
    waiting = {other.id for other in others if other.branch and other.status is not Status.COMPLETED}
    return [task for task in tasks if not needs[task.id] & waiting]


def _of_project(
    home: Path, row: ProjectRow, tasks: Sequence[Task], deadline: float, *, is_here: bool
) -> list[tuple[int, TargetConflict]]:
    from burnish.git.refs import read_refs

    project = repository_of(home, row, max(len(str(task.commit)) for task in tasks), is_here=is_here)
    if project is None:
        return []
    targets = read_refs(project, list(dict.fromkeys(f"refs/heads/{task.target}" for task in tasks)))
    pairs = [(task, sha) for task in tasks if (sha := targets[f"refs/heads/{task.target}"]) not in (None, task.base)]
    if not pairs:
        return []
    file = home / "projects" / row.key / _CACHE
    old, now = _read(file), {}
    for task, target in pairs:
        key = f"{task.base} {task.commit} {target}"
        paths = old.get(key)
        if paths is None and time.monotonic() < deadline:
            paths = _conflicting_paths(project, task, str(target))
        if paths is not None:
            now[key] = paths
    if now != old:
        _write(file, now)
    conflicts = [(task, now.get(f"{task.base} {task.commit} {target}")) for task, target in pairs]
    return [(task.id, TargetConflict(str(task.target), tuple(paths))) for task, paths in conflicts if paths]


def _conflicting_paths(project: Project, task: Task, target: str) -> list[str] | None:
    from burnish.git.target_merge import merge_target

    try:
        return list(merge_target(project, str(task.commit), str(task.base), target).paths)[:MAX_PATHS]
    except PhaseFailed as error:
        # what cannot be merged (an object is missing) is not tried again by every command
        return None if error.code == ErrorCode.DISK_FULL else []
    except BurnishError:
        return None


def _read(file: Path) -> dict[str, list[str]]:
    """The cache; empty if it cannot be read or holds something else."""
    try:
        data = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    entries = data.items() if isinstance(data, dict) else ()
    return {key: paths for key, paths in entries if isinstance(paths, list) and all(isinstance(p, str) for p in paths)}


def _write(file: Path, entries: Mapping[str, list[str]]) -> None:
    """Losing it costs only the merges."""
    from burnish.git.files import write_whole

    with suppress(BurnishError, OSError):
        write_whole(file, json.dumps(entries).encode(), durable=False)
