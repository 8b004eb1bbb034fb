"""What burnish knows of one workspace between calls: kept beside its index, out of the agent's sight."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from burnish.git.files import disk_errors, write_whole


@dataclass(frozen=True, slots=True)
class State:
    """The directory by device and inode, the commit its index holds, and what its `.git` was laid with."""

    device: int = 0
    inode: int = 0
    commit: str = ""
    base: str = ""
    target: str | None = None


def load(path: Path) -> State | None:
    try:
        return State(**json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        # A damaged file is as good as none: the workspace is then put right from its commit.
        return None


def save(path: Path, state: State) -> None:
    with disk_errors(f"writing {path}"):
        write_whole(path, json.dumps(asdict(state)).encode())
