"""Approved tasks that conflict with their target, found by merging objects: no checkout and no ref changes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from burnish.core.commit import TargetConflict
from burnish.core.status import ErrorCode, Status
from burnish.core.task import Task
from burnish.errors import BurnishError, PhaseFailed
from burnish.runtime.lost_branches import repository_of
from burnish.store import Store
from burnish.store.rows import ProjectRow

if TYPE_CHECKING:
    from burnish.git.project import Project

NO_TASKS: Mapping[str, Sequence[Task]] = {}
Conflicts = Mapping[tuple[str, int], TargetConflict]
# Seconds that one command may spend on merges that are not in the cache. The next command continues.
MAX_SECONDS = 2.0
MAX_PATHS = 200
_CACHE = "conflicts.json"


class CachedMerge(TypedDict):
    paths: list[str]
    # a conflict in a submodule
    needs_person: bool


def find_conflicts(
    home: Path,
    store: Store,
    rows: Iterable[ProjectRow],
    *,
    is_here: bool = False,
    all_tasks: Mapping[str, Sequence[Task]] = NO_TASKS,
) -> Conflicts:
    """The conflicts of all approved tasks of these projects, by project and number.

    Results are cached by the commits that were merged. What cannot be merged now (a home that cannot be written, a
    branch that is gone) is not listed. `is_here`: as for `void_lost_approvals`. `all_tasks`: those of a
    project, brief, if they were read already.
    """
    found: dict[tuple[str, int], TargetConflict] = {}
    deadline = time.monotonic() + MAX_SECONDS
    for row in rows:
        with suppress(BurnishError, OSError, ValueError):
            tasks = _mergeable(store, row.key, all_tasks.get(row.key))
            for number, conflict in _of_project(home, row, tasks, deadline, is_here=is_here) if tasks else ():
                found[row.key, number] = conflict
    return found


def _mergeable(store: Store, project: str, all_tasks: Sequence[Task] | None) -> list[Task]:
    """Approved tasks with a target. One that is built on another is merged after that, and is compared then."""
    if all_tasks is None:
        tasks = store.tasks(project, statuses=[Status.VERIFIED], brief=True)
    else:
        tasks = [task for task in all_tasks if task.status is Status.VERIFIED]
    tasks = [task for task in tasks if task.branch and task.base and task.commit and task.target]
    needs = {task.id: {*task.spec.depends_on, *([task.spec.of] if task.spec.of else [])} for task in tasks}
    needed_ids = set().union(*needs.values())
    others = store.tasks(project, ids=needed_ids, brief=True) if needed_ids and all_tasks is None else (all_tasks or ())
    waiting = {
        other.id for other in others if other.id in needed_ids and other.branch and other.status is not Status.COMPLETED
    }
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
        found = old.get(key)
        if found is None and time.monotonic() < deadline:
            found = _conflicting_paths(project, task, str(target))
        if found is not None:
            now[key] = found
    if now != old:
        _write(file, now)
    conflicts = [(task, now.get(f"{task.base} {task.commit} {target}")) for task, target in pairs]
    return [
        (task.id, TargetConflict(str(task.target), tuple(found["paths"]), found["needs_person"]))
        for task, found in conflicts
        if found and found["paths"]
    ]


def _conflicting_paths(project: Project, task: Task, target: str) -> CachedMerge | None:
    from burnish.git.target_merge import merge_target

    try:
        merge = merge_target(project, str(task.commit), str(task.base), target)
        return {"paths": list(merge.paths)[:MAX_PATHS], "needs_person": bool(merge.submodules)}
    except PhaseFailed as error:
        # what cannot be merged (an object is missing) is not tried again by every command
        return None if error.code == ErrorCode.DISK_FULL else {"paths": [], "needs_person": False}
    except BurnishError:
        return None


def _read(file: Path) -> dict[str, CachedMerge]:
    """The cache; empty if it cannot be read or holds something else."""
    try:
        data = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    entries = data.items() if isinstance(data, dict) else ()
    return {key: value for key, value in entries if _is_entry(value)}


def _is_entry(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("needs_person"), bool):
        return False
    paths = value.get("paths")
    return isinstance(paths, list) and all(isinstance(path, str) for path in paths)


def _write(file: Path, entries: Mapping[str, CachedMerge]) -> None:
    """Losing it costs only the merges."""
    from burnish.git.files import write_whole

    with suppress(BurnishError, OSError):
        write_whole(file, json.dumps(entries).encode(), durable=False)
