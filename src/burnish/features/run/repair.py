"""Repairs burnish's refs and objects after a power loss or disk damage, or moves them aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.engine.lost_branch import OPEN, relies_on_branch
from burnish.git.integrity import (
    BrokenRef,
    find_broken_refs,
    find_unsound,
    is_checked,
    move_torn_objects_aside,
    record_check,
    remove_broken_ref,
)
from burnish.git.project import Project
from burnish.git.refs import PACKED_REFS_LOCK, read_branches, read_own_refs, remove_stale_locks
from burnish.git.repair import ReadableRescue, publish_again, write_readable
from burnish.git.rescue import ARTIFACTS, keep
from burnish.git.rescue import PREFIX as RESCUES

if TYPE_CHECKING:
    from burnish.runtime.app import App


@dataclass
class RepairReport:
    """What to say, the tasks whose artifacts are to be committed again, and branches that are damaged."""

    notes: list[str] = field(default_factory=list)
    unarchived: list[int] = field(default_factory=list)
    # of open tasks, and of which not everything can be read
    branches: list[str] = field(default_factory=list)
    # where refs point that were read for it, unless some of them were moved
    tips: Mapping[str, str] = field(default_factory=dict)
    # were all objects read?
    is_thorough: bool = False


def heal(app: App, *, thorough: bool = False) -> RepairReport:
    """At the start of a run: repair or remove broken refs and objects of burnish, which would disturb the user's git.

    Objects, and refs other than branches, are read only once after each start of the machine, for that takes time:
    files are torn by a loss of power; and once more after `burnish doctor` has found damage.
    `thorough`: read them in any case, because one was found to be unreadable.
    """
    is_restarted = not is_checked(app.repo.own) and app.store.has_begun_tasks(app.key)
    is_restarted = is_restarted or thorough
    files = read_own_refs(app.repo) if is_restarted else read_branches(app.repo, app.known_refs)
    report, stale = RepairReport(), remove_stale_locks(app.repo, [*files.locks, PACKED_REFS_LOCK])
    report.notes += [f"Removed {ref}: it is from before this machine started." for ref in stale]
    torn_objects = move_torn_objects_aside(app.repo) if is_restarted else []
    if torn_objects:
        report.notes.append(
            f"{len(torn_objects)} damaged git objects of burnish were moved to {_kept(app.repo, 'torn-objects')}"
        )
    broken_refs = find_broken_refs(app.repo, files, thorough=is_restarted)
    needed_branches = _needed_branches(app) if broken_refs else set()
    for broken_ref in broken_refs:
        if broken_ref.commit and is_published_again(app.repo, broken_ref):
            report.notes.append(f"{broken_ref.name} {broken_ref.words}: restored from copies in the burnish home.")
        elif broken_ref.name in needed_branches:
            report.branches.append(broken_ref.name)  # put right with its task
        else:
            report.notes.append(_remove(app, broken_ref))
            report.unarchived += _owners(app, broken_ref)
    record_check(app.repo.own)
    return replace(report, tips={} if broken_refs else files.tips, is_thorough=is_restarted)


def _needed_branches(app: App) -> set[str]:
    """Refs of open tasks with work in them."""
    tasks = app.store.tasks(app.key, statuses=OPEN)
    return {f"refs/heads/{task.branch}" for task in tasks if relies_on_branch(task)}


def is_published_again(project: Project, broken_ref: BrokenRef) -> bool:
    """Burnish keeps copies of new objects in its own store for some time."""
    publish_again(project, broken_ref.commit)
    return not find_unsound(project, {broken_ref.name: broken_ref.commit})


def _remove(app: App, broken_ref: BrokenRef) -> str:
    if (
        broken_ref.commit
        and broken_ref.name.startswith(RESCUES)
        and (rescue := write_readable(app.repo, broken_ref.commit))
    ):
        return _replace_rescue(app.repo, broken_ref, rescue)
    remove_broken_ref(app.repo, broken_ref)
    if not broken_ref.name.startswith(ARTIFACTS):
        return f"{broken_ref.name} {broken_ref.words}: it was removed, see {_kept(app.repo, 'broken-refs')}."
    return f"{broken_ref.name} {broken_ref.words}: it is written again from the files in the burnish home."


def _replace_rescue(project: Project, broken_ref: BrokenRef, rescue: ReadableRescue) -> str:
    remove_broken_ref(project, broken_ref)
    # a rescue without its base is never given to an agent as unfinished work
    label = broken_ref.name.removeprefix(RESCUES) + ("" if rescue.has_base else "-partial")
    ref = keep(project, label, rescue.commit)
    names = ", ".join(rescue.unreadable[:5]) + (" and others" if len(rescue.unreadable) > 5 else "")
    note = f"{ref} has what can be read, without {names}"
    return f"{broken_ref.name} {broken_ref.words}: {note}. See {_kept(project, 'broken-refs')}."


def _owners(app: App, broken_ref: BrokenRef) -> list[int]:
    """The task whose artifacts the ref held."""
    return [task.id for task in app.store.tasks(app.key, brief=True) if broken_ref.name == f"{ARTIFACTS}{task.name}"]


def _kept(project: Project, name: str) -> Path:
    return project.own / "kept" / name
