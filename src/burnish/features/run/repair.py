"""What a loss of power or a damaged disk left of burnish's refs and objects: found, and put right or put aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.engine.lost_branch import OPEN, is_concerned
from burnish.git.broken_refs import BrokenRef, find_broken_refs, remove_broken_ref
from burnish.git.commit_repair import publish_again
from burnish.git.files import write_whole
from burnish.git.project import Project
from burnish.git.refs import read_own_refs
from burnish.git.rescue import ARTIFACTS, keep
from burnish.git.rescue import PREFIX as RESCUES
from burnish.git.rescue_repair import ReadableRescue, write_readable
from burnish.git.soundness import find_unsound
from burnish.git.stale_locks import PACKED_REFS_LOCK, remove_stale_locks
from burnish.git.torn_objects import move_torn_objects_aside
from burnish.proc.identity import boot_id

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
    """At the start of a run: refs and objects of burnish's own that lead to nothing no longer hinder the user's git.

    Objects are read only once after each start of the machine, for that takes time: files are torn by a loss of power.
    `thorough`: read them in any case, because one was found to be unreadable.
    """
    is_restarted = _last_boot(app.repo) != boot_id() and app.store.has_begun_tasks(app.key)
    is_restarted = is_restarted or thorough
    files = read_own_refs(app.repo)
    healed, stale = RepairReport(), remove_stale_locks(app.repo, [*files.locks, PACKED_REFS_LOCK])
    healed.notes += [f"Removed {ref}: it is from before this machine started." for ref in stale]
    torn = move_torn_objects_aside(app.repo) if is_restarted else []
    if torn:
        healed.notes.append(
            f"{len(torn)} damaged git objects of burnish were moved to {_kept(app.repo, 'torn-objects')}"
        )
    broken_refs = find_broken_refs(app.repo, files, thorough=is_restarted)
    needed = _needed_branches(app) if broken_refs else set()
    for broken in broken_refs:
        if broken.commit and is_published_again(app.repo, broken):
            healed.notes.append(f"{broken.name} {broken.words}: restored from copies in the burnish home.")
        elif broken.name in needed:
            healed.branches.append(broken.name)  # put right with its task
        else:
            healed.notes.append(_remove(app, broken))
            healed.unarchived += _owners(app, broken)
    write_whole(_boot_file(app.repo), boot_id().encode())
    return replace(healed, tips={} if broken_refs else files.tips, is_thorough=is_restarted)


def _needed_branches(app: App) -> set[str]:
    """Refs of open tasks with work in them."""
    tasks = app.store.tasks(app.key, statuses=OPEN)
    return {f"refs/heads/{task.branch}" for task in tasks if is_concerned(task)}


def is_published_again(project: Project, broken: BrokenRef) -> bool:
    """Burnish keeps copies of new objects in its own store for some time."""
    publish_again(project, broken.commit)
    return not find_unsound(project, {broken.name: broken.commit})


def _remove(app: App, broken: BrokenRef) -> str:
    if broken.commit and broken.name.startswith(RESCUES) and (left := write_readable(app.repo, broken.commit)):
        return _replace_rescue(app.repo, broken, left)
    remove_broken_ref(app.repo, broken)
    if not broken.name.startswith(ARTIFACTS):
        return f"{broken.name} {broken.words}: it was removed, a note of it is in {_kept(app.repo, 'broken-refs')}."
    return f"{broken.name} {broken.words}: it is written again from the files in the burnish home."


def _replace_rescue(project: Project, broken: BrokenRef, left: ReadableRescue) -> str:
    remove_broken_ref(project, broken)
    # a rescue without its base is never given to an agent as unfinished work
    label = broken.name.removeprefix(RESCUES) + ("" if left.has_base else "-partial")
    ref = keep(project, label, left.commit)
    names = ", ".join(left.unreadable[:5]) + (" and others" if len(left.unreadable) > 5 else "")
    saved = f"{ref} has what can be read, without {names}"
    return f"{broken.name} {broken.words}: {saved}. A note of it is in {_kept(project, 'broken-refs')}."


def _owners(app: App, broken: BrokenRef) -> list[int]:
    """The task whose artifacts the ref held."""
    return [task.id for task in app.store.tasks(app.key, brief=True) if broken.name == f"{ARTIFACTS}{task.name}"]


def _kept(project: Project, name: str) -> Path:
    return project.own / "kept" / name


def _boot_file(project: Project) -> Path:
    return project.own / "checked-in-boot"


def _last_boot(project: Project) -> str:
    try:
        return _boot_file(project).read_text("ascii", "replace")
    except OSError:
        return ""
