"""Lock files of refs that a git process left when the power was cut: removed on the proof that their owner is dead."""

from __future__ import annotations

import time
from collections.abc import Iterable

from burnish.git.project import Project
from burnish.proc.identity import boot_time

# git takes this one to delete a ref
PACKED_REFS_LOCK = "packed-refs.lock"


def remove_stale_locks(project: Project, names: Iterable[str]) -> list[str]:
    """Remove those that are older than the start of this machine; names are relative to the git directory."""
    removed = []
    for name in names:
        path = project.common_dir / name
        try:
            if path.stat().st_mtime < min(boot_time(), time.time()):
                path.unlink()
                removed.append(name)
        except (FileNotFoundError, NotADirectoryError):
            continue
    return removed
