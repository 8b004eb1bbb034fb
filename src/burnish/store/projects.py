"""The repositories burnish knows."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from burnish.core.task import slug
from burnish.errors import NotFound
from burnish.store.database import Database
from burnish.store.rows import ProjectRow, project_of, to_json


def project_for(db: Database, common_dir: Path, root: Path, *, create: bool, now: str) -> ProjectRow | None:
    """The project of a git common directory: every checkout of one repository has the same."""
    real = common_dir.resolve()
    found = hashlib.sha256(os.fsencode(real)).hexdigest()
    row = db.one("project_by_dir", {"dir_hash": found})
    if row is not None and not row["forgotten"]:
        return project_of(row)
    if not create:
        return None
    name = real.parent.name if real.name == ".git" else real.name.removesuffix(".git")
    key = f"{slug(name, longest=24)}-{found[:8]}"
    info = to_json({"root": root.resolve(), "common_dir": real, "name": name or key})
    with db.writing():
        # somebody else's first `add` may have been quicker
        row = db.one("project_add", {"key": key, "dir_hash": found, "info": info, "now": now})
    return project_of(row) if row else None


def forget(db: Database, key: str) -> None:
    """Leave it out of every list. Its events stay, and `add` in that repository brings it back."""
    with db.writing():
        if db.one("project_forget", {"key": key}) is None:
            raise NotFound(f"There is no project {key}.", hint="`burnish projects` lists them.")
