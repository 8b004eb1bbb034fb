"""Removes lock files of refs that are older than the last boot: their owner cannot be running."""

from __future__ import annotations

import time
from collections.abc import Iterable

from burnish.git.project import Project
from burnish.proc.identity import boot_time

# git locks this file to delete a ref
PACKED_REFS_LOCK = "packed-refs.lock"


def remove_stale_locks(project: Project, names: Iterable[str]) -> list[str]:
    """Remove locks that are older than the last boot; names are relative to the git directory. Returns the removed."""
    removed_names = []
    for name in names:
        path = project.common_dir / name
        try:
            if path.stat().st_mtime < min(boot_time(), time.time()):
                path.unlink()
                removed_names.append(name)
        except (FileNotFoundError, NotADirectoryError):
            continue
    return removed_names
