"""State of a workspace between calls: stored beside its index, out of the agent's reach."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from burnish.git.files import disk_errors, write_whole


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """Inode of the directory, commit of its index, and base and target of its `.git`.

    `began`: when it was given to a program first, in nanoseconds; 0 if that is not known.
    """

    inode: int = 0
    commit: str = ""
    base: str = ""
    target: str | None = None
    began: int = 0


def load(path: Path) -> WorkspaceState | None:
    try:
        fields = json.loads(path.read_text())
        fields.pop("device", None)  # written by earlier versions
        return WorkspaceState(**fields)
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        # a damaged file counts as missing: the workspace is then reset to its commit
        return None


def save(path: Path, state: WorkspaceState) -> None:
    with disk_errors(f"writing {path}"):
        write_whole(path, json.dumps(asdict(state)).encode())
