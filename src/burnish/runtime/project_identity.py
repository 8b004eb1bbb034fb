"""Finds the project of a repository, also after it was moved, copied or replaced."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.errors import BurnishError, Refused, Untrusted
from burnish.git.discovery import FoundRepository
from burnish.git.repository_id import read_id, repoint_object_links, write_new_id
from burnish.store import Store
from burnish.store.rows import ProjectRow
from burnish.user_settings import remote_name

if TYPE_CHECKING:
    from burnish.git.project import Project


@dataclass(frozen=True, slots=True)
class LocatedProject:
    """The project of a repository, None if it has none yet, and a note for the user if something changed."""

    project: ProjectRow | None
    note: str = ""


def locate(
    store: Store, found: FoundRepository, home: Path, *, create: bool, is_trusted: bool = False
) -> LocatedProject:
    """Find the project by its path, else by its id. A project that was moved here is relinked.

    Only of a checkout that `is_trusted` is the remote asked for the id: `.git` names programs that reach it.
    """
    here = store.project_for(found.common_dir, found.root, create=False)
    repository = read_id(found.common_dir)
    if store.is_shared and (here is None or _is_unknown_elsewhere(store, here, found)):
        if row := _of_another_machine(store, found, create and here is None, is_trusted):
            if here is not None:
                store.forget(here.key)
            return LocatedProject(store.add_checkout(row, found.common_dir, found.root))
        repository = read_id(found.common_dir)
    if here is not None and (repository in (None, here.repository_id) or not here.repository_id):
        return LocatedProject(_with_root(store, here, found) if create else here)
    others = [row for row in store.projects() if row.repository_id == repository and row != here] if repository else []
    if same := next((row for row in others if _is_same(row, found)), None):
        return LocatedProject(same)  # another path of the same folder, e.g. of a bind mount
    missing_rows = [row for row in others if is_gone(row)]
    if len(others) == len(missing_rows) == 1 and not _inside_phase():
        return LocatedProject(*_moved(store, missing_rows[0], found, home))
    if here is not None or not others:
        return LocatedProject(
            here or (store.project_for(found.common_dir, found.root, create=True) if create else None)
        )
    if not missing_rows and all(read_id(row.common_dir) == repository for row in others):
        # A copy: the other repository still exists.
        return LocatedProject(store.project_for(found.common_dir, found.root, create=True) if create else None)
    problem = _ambiguous(found, others)
    if create:
        raise problem
    return LocatedProject(None, f"{problem.what} {problem.hint}")


def _is_unknown_elsewhere(store: Store, here: ProjectRow, found: FoundRepository) -> bool:
    """Whether the project has no task, and the remote does not have its id: then another machine's may come first."""
    from burnish.cluster.shared_refs import FETCHED_ID

    is_published = here.repository_id and read_id(found.common_dir, FETCHED_ID) == here.repository_id
    return not is_published and not store.task_totals(here.key)


def may_be_of_another_machine(store: Store, found: FoundRepository) -> bool:
    """Whether the remote of this clone may have the id of a project that other machines share."""
    from burnish.cluster.shared_refs import has_remote

    has_others = store.is_shared and any(row.repository_id and row.is_elsewhere for row in store.projects())
    return has_others and has_remote(found.root, remote_name())


def _of_another_machine(store: Store, found: FoundRepository, create: bool, is_trusted: bool) -> ProjectRow | None:
    """The project of this repository if machines that share the database know it, but this one does not yet."""
    from burnish.cluster.shared_refs import adopt_id, has_remote, remote_id

    rows = {row.repository_id: row for row in store.projects() if row.repository_id and row.is_elsewhere}
    if not rows:
        return None
    if (current := read_id(found.common_dir)) in rows:
        return rows[str(current)]
    remote = remote_name()
    if not has_remote(found.root, remote):
        return None
    if not is_trusted:
        if create:
            # a project of its own now would hide the tasks of the other machines later
            raise Untrusted(
                f"{found.root} may be a clone of a project of another machine. Its git remote is not asked before the "
                "checkout is trusted.",
                hint=f"See what it would run: burnish -C {shlex.quote(str(found.root))} trust --show. Then accept it: "
                f"burnish -C {shlex.quote(str(found.root))} trust",
                root=str(found.root),
            )
        return None
    with suppress(BurnishError):  # the remote is away
        if remote_id(found.root, remote) in rows and adopt_id(found.root, remote):
            return rows.get(read_id(found.common_dir) or "")
    return None


def publish_project(store: Store, row: ProjectRow, remote: str) -> str:
    """Let other machines find the project by the remote. Returns what could not be done.

    A project of the same remote that has no task gives way: a second machine may have been faster than the first.
    """
    from burnish.cluster.shared_refs import FETCHED_ID, publish_id, remote_id

    id = row.repository_id
    if not id or read_id(row.common_dir, FETCHED_ID) == id:
        return ""
    if not publish_id(row.root, remote, id):
        there = remote_id(row.root, remote)
        other = next((one for one in store.projects() if one.repository_id == there and one.key != row.key), None)
        if other is None:
            return (
                f"The remote {remote} is used with another database of burnish: other machines do not find the tasks "
                "of this clone. Name another remote in your config.yaml: `machine: {remote: NAME}`. If that database "
                f"is gone: git push {remote} --delete refs/burnish/shared/id"
            )
        if store.task_totals(other.key) or not publish_id(row.root, remote, id, old_id=str(there)):
            return (
                f"The remote {remote} belongs to another project of this database, {other.key} ({other.root}): other "
                "machines do not find the tasks of this clone."
            )
        store.forget(other.key)
    # a row that came from SQLite does not have the machine of its path
    store.add_checkout(row, row.common_dir, row.root)
    return ""


def ensure_id(store: Store, row: ProjectRow, repo: Project) -> ProjectRow:
    """Give the project an id, unless its repository is not writable."""
    current = read_id(repo.common_dir)
    if current and current == row.repository_id:
        return row
    is_taken = any(other.repository_id == current and other.key != row.key for other in store.projects())
    if current is None or is_taken:
        try:
            current = write_new_id(repo, current)
        except (BurnishError, OSError):
            return row
    store.set_repository_id(row.key, current)
    return replace(row, repository_id=current)


def link(store: Store, row: ProjectRow, found: FoundRepository, home: Path) -> ProjectRow:
    """Set the project's new location, and let the workspaces of its tasks use its objects."""
    new_row = store.relink(row, found.common_dir, found.root)
    with suppress(OSError):  # the next run repeats this
        repoint_object_links(home / "projects" / row.key / "git", row.common_dir, new_row.common_dir)
    return new_row


def is_gone(row: ProjectRow) -> bool:
    """True if its old path is empty or has a repository with another id; False if it cannot be read."""
    if row.is_detached:
        return True
    if row.is_elsewhere:
        return False
    try:
        row.common_dir.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return read_id(row.common_dir) not in (None, row.repository_id)


def is_still_there(row: ProjectRow) -> bool:
    """True if the repository itself, and not another one, is still at its old path."""
    if is_gone(row):
        return False
    return not row.repository_id or read_id(row.common_dir) == row.repository_id


def _moved(store: Store, row: ProjectRow, found: FoundRepository, home: Path) -> tuple[ProjectRow, str]:
    try:
        new_row = link(store, row, found, home)
    except BurnishError:
        # The home is not writable: the project can still be read.
        return replace(row, root=found.root, common_dir=found.common_dir), ""
    return new_row, moved_text(row, new_row)


def moved_text(old: ProjectRow, new: ProjectRow) -> str:
    return f"This repository moved from {old.root} to {new.root}, and its tasks with it. Trust does not follow a move."


def _is_same(row: ProjectRow, found: FoundRepository) -> bool:
    try:
        return row.common_dir.samefile(found.common_dir)
    except OSError:
        return False


def _with_root(store: Store, row: ProjectRow, found: FoundRepository) -> ProjectRow:
    """Update the root if the checkout was moved or removed without its git directory."""
    if row.root == found.root or os.path.lexists(row.root / ".git"):
        return row
    return store.set_root(row, found.root)


def _ambiguous(found: FoundRepository, others: list[ProjectRow]) -> Refused:
    names = ", ".join(f"{row.key} ({row.root})" for row in others)
    return Refused(
        f"{found.root} has the id of a known project, but may not be it: {names}.",
        hint="If it was moved: burnish projects relink NAME. If it is a copy: burnish projects relink --new",
    )


def _inside_phase() -> bool:
    from burnish.proc.inside import inside_phase

    return inside_phase()
