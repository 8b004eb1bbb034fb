"""Registered projects."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from burnish.core.task import slug
from burnish.errors import NotFound
from burnish.store.database import SHARED, Database
from burnish.store.rows import ProjectRow, project_of, to_json


def project_for(db: Database, common_dir: Path, root: Path, *, create: bool, now: str) -> ProjectRow | None:
    """The project of a git common directory, which all checkouts of a repository share."""
    real = common_dir.resolve()
    found = _hash(real)
    row = db.one("project_by_dir", {"dir_hash": found})
    if row is not None and not row["forgotten"]:
        return project_of(row)
    if not create:
        return None
    info = to_json(_info(real, root))
    with db.writing(SHARED):
        key = _free_key(db, real, found)
        # another process may have added it meanwhile
        row = db.one("project_add", {"key": key, "dir_hash": found, "info": info, "now": now})
    return project_of(row) if row else None


def relink(db: Database, project: ProjectRow, common_dir: Path, root: Path, *, now: str) -> ProjectRow:
    """Move the project to this path; a project that was registered there is detached."""
    # imported here, so that commands that only read start faster
    from burnish.core.journal_events import ProjectRelinked, new_event
    from burnish.store.log import append

    real = common_dir.resolve()
    found, info = _hash(real), to_json(_info(real, root))
    data = ProjectRelinked(str(project.root), str(root.resolve()))
    with db.writing(SHARED, project.key):
        db.all("project_detach", {"dir_hash": found, "key": project.key})
        if db.one("project_move", {"key": project.key, "dir_hash": found, "info": info}):
            append(db, project.key, None, [new_event("project.relinked", data)], ts=now)
        row = db.one("project_by_dir", {"dir_hash": found})
    if row is None:
        raise NotFound(f"There is no project {project.key}.", hint="`burnish projects` lists them.")
    return project_of(row)


def set_root(db: Database, project: ProjectRow, root: Path) -> ProjectRow:
    """Use another checkout as the root of the project."""
    info = to_json({"root": root.resolve(), "common_dir": project.common_dir, "name": project.name})
    with db.writing(project.key):
        row = db.one("project_set_info", {"key": project.key, "info": info})
    return project_of(row) if row else project


def set_repository_id(db: Database, key: str, repository_id: str) -> None:
    with db.writing(key):
        db.all("project_set_repository_id", {"key": key, "repository_id": repository_id})


def _hash(real: Path) -> str:
    return hashlib.sha256(os.fsencode(real)).hexdigest()


def _name(real: Path) -> str:
    return real.parent.name if real.name == ".git" else real.name.removesuffix(".git")


def _info(real: Path, root: Path) -> dict[str, object]:
    return {"root": root.resolve(), "common_dir": real, "name": _name(real) or "root"}


def _free_key(db: Database, real: Path, dir_hash: str) -> str:
    """An unused key: a project that was moved away from this path keeps its key."""
    base = f"{slug(_name(real), longest=24)}-{dir_hash[:8]}"
    keys = (base, *(f"{base}-{number}" for number in range(2, 1000)))
    return next(key for key in keys if db.one("project_with_key", {"key": key, "dir_hash": dir_hash}) is None)


def forget(db: Database, key: str) -> None:
    """Remove the project from all lists. Its events stay, and `add` in that repository restores it."""
    with db.writing(key):
        if db.one("project_forget", {"key": key}) is None:
            raise NotFound(f"There is no project {key}.", hint="`burnish projects` lists them.")
