"""Registered projects."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from burnish.core.task import slug
from burnish.errors import NotFound
from burnish.store.database import SHARED, Database, ResultRow
from burnish.store.rows import ProjectRow, project_of, to_json


def project_for(
    db: Database, common_dir: Path, root: Path, *, create: bool, now: str, machine: str = ""
) -> ProjectRow | None:
    """The project of a git common directory, which all checkouts of a repository share.

    `machine`: its paths are kept apart from those of others that share the database; "" has the database for itself.
    """
    real = common_dir.resolve()
    own = db.one("checkout_by_dir", {"machine": machine, "dir_hash": _hash(real)}) if machine else None
    # with a shared database: from before the paths of machines were kept apart
    row = own or db.one("project_of_no_machine" if db.is_shared else "project_by_dir", {"dir_hash": _hash(real)})
    if row is not None and not row["forgotten"]:
        return project_of(row)
    if not create:
        return None
    info = to_json(_info(real, root))
    with db.writing(SHARED):
        if own is not None:
            db.all("project_restore", {"key": own["key"]})
            return project_of(own)
        dir_hash = _hash(real, machine)
        key = _free_key(db, real, dir_hash)
        # another process may have added it meanwhile
        row = db.one("project_add", {"key": key, "dir_hash": dir_hash, "info": info, "now": now})
        if row and machine:
            place = {"machine": machine, "key": row["key"], "dir_hash": _hash(real), "info": info}
            db.all("checkout_set", place)
    return project_of(row) if row else None


def add_checkout(db: Database, project: ProjectRow, common_dir: Path, root: Path, *, machine: str) -> ProjectRow:
    """Record where the project is on this machine, instead of where it was here before."""
    real = common_dir.resolve()
    place = {"machine": machine, "key": project.key, "dir_hash": _hash(real)}
    with db.writing(SHARED, project.key):
        db.all("checkout_leave", place)
        db.all("checkout_set", {**place, "info": to_json(_info(real, root))})
    return replace(project, root=root.resolve(), common_dir=real, is_detached=False, is_elsewhere=False)


def relink(
    db: Database, project: ProjectRow, common_dir: Path, root: Path, *, now: str, machine: str = ""
) -> ProjectRow:
    """Move the project to this path; a project that was registered there is detached."""
    # imported here, so that commands that only read start faster
    from burnish.core.journal_events import ProjectRelinked, new_event
    from burnish.store.log import append

    event = new_event("project.relinked", ProjectRelinked(str(project.root), str(root.resolve())))
    if machine:
        new_row = add_checkout(db, project, common_dir, root, machine=machine)
        with db.writing(project.key):
            append(db, project.key, None, [event], ts=now)
        return new_row
    real = common_dir.resolve()
    found, info = _hash(real), to_json(_info(real, root))
    with db.writing(SHARED, project.key):
        db.all("project_detach", {"dir_hash": found, "key": project.key})
        if db.one("project_move", {"key": project.key, "dir_hash": found, "info": info}):
            append(db, project.key, None, [event], ts=now)
        row = db.one("project_by_dir", {"dir_hash": found})
    if row is None:
        raise NotFound(f"There is no project {project.key}.", hint="`burnish projects` lists them.")
    return project_of(row)


def set_root(db: Database, project: ProjectRow, root: Path, *, machine: str = "") -> ProjectRow:
    """Use another checkout as the root of the project."""
    if machine:
        return add_checkout(db, project, project.common_dir, root, machine=machine)
    info = to_json({"root": root.resolve(), "common_dir": project.common_dir, "name": project.name})
    with db.writing(project.key):
        row = db.one("project_set_info", {"key": project.key, "info": info})
    return project_of(row) if row else project


def all_projects(db: Database, *, machine: str = "") -> list[ProjectRow]:
    """All projects, each with its path on this machine."""
    found = [(row, project_of(row)) for row in db.all("project_list", {"machine": machine})]
    if not db.is_shared:
        return [project for _, project in found]
    return [
        replace(project, is_elsewhere=row["here"] is None and not _was_here(row, project)) for row, project in found
    ]


def _was_here(row: ResultRow, project: ProjectRow) -> bool:
    """Whether a row from before the paths of machines were kept apart is of this one."""
    if row["has_checkout"]:
        return False
    return bool(row["dir_hash"] == _hash(project.common_dir)) and project.common_dir.exists()


def set_repository_id(db: Database, key: str, repository_id: str) -> None:
    with db.writing(key):
        db.all("project_set_repository_id", {"key": key, "repository_id": repository_id})


def _hash(real: Path, machine: str = "") -> str:
    place = os.fsencode(real)
    return hashlib.sha256(f"{machine}\0".encode() + place if machine else place).hexdigest()


def _name(real: Path) -> str:
    return real.parent.name if real.name == ".git" else real.name.removesuffix(".git")


def _info(real: Path, root: Path) -> dict[str, object]:
    return {"root": root.resolve(), "common_dir": real, "name": _name(real) or "root"}


def _free_key(db: Database, real: Path, dir_hash: str) -> str:
    """An unused key: a project that was moved away from this path keeps its key."""
    base = f"{slug(_name(real), longest=24)}-{_hash(real)[:8]}"
    keys = (base, *(f"{base}-{number}" for number in range(2, 1000)))
    return next(key for key in keys if db.one("project_with_key", {"key": key, "dir_hash": dir_hash}) is None)


def forget(db: Database, key: str) -> None:
    """Remove the project from all lists. Its events stay, and `add` in that repository restores it."""
    with db.writing(key):
        if db.one("project_forget", {"key": key}) is None:
            raise NotFound(f"There is no project {key}.", hint="`burnish projects` lists them.")
