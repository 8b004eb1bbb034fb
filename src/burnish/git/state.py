"""What burnish knows of one workspace between calls: kept beside its index, out of the agent's sight."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from burnish.git.files import disk_errors, write_whole


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """The directory by its inode, the commit its index holds, and what its `.git` was laid with."""

    inode: int = 0
    commit: str = ""
    base: str = ""
    target: str | None = None


def load(path: Path) -> WorkspaceState | None:
    try:
        known = json.loads(path.read_text())
        known.pop("device", None)  # written by earlier versions
        return WorkspaceState(**known)
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        # A damaged file is as good as none: the workspace is then put right from its commit.
        return None


def save(path: Path, state: WorkspaceState) -> None:
    with disk_errors(f"writing {path}"):
        write_whole(path, json.dumps(asdict(state)).encode())
