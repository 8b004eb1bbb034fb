"""Other paths of a folder, through a bind mount or a second mount of the same file system."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_MOUNT_TABLE = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class MountedFolder:
    """One line of the mount table: `root` of a file system (a device number) is seen at `target`."""

    device: str
    root: Path
    target: Path


def mounted_folders() -> list[MountedFolder]:
    """The mount table in the order of mounting; empty if it cannot be read."""
    try:
        lines = _MOUNT_TABLE.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    rows = [line.split(" ") for line in lines]
    return [MountedFolder(row[2], _path(row[3]), _path(row[4])) for row in rows if len(row) > 4]


def other_names(folder: Path, table: list[MountedFolder]) -> list[Path]:
    """Other paths that lead to this folder (a real path) through a mount."""
    holders = [mount for mount in table if folder.is_relative_to(mount.target)]
    if not holders:
        return []
    # Of several mounts at the same target, the last one is visible.
    holder = max(reversed(holders), key=lambda mount: len(mount.target.parts))
    path_on_device = holder.root / folder.relative_to(holder.target)
    same = [mount for mount in table if mount.device == holder.device and path_on_device.is_relative_to(mount.root)]
    names = [mount.target / path_on_device.relative_to(mount.root) for mount in same]
    # Another mount above a path may hide it.
    return [name for name in names if name != folder and _is_same(name, folder)]


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.stat(), other.stat())
    except OSError:
        return False  # not readable for this user, nor for programs that the user starts


def _path(text: str) -> Path:
    return Path(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), text))
