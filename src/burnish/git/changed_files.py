"""Writes only the changed files of a commit to a folder: checking out a large tree takes seconds."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from burnish.core.change import Change
from burnish.git.files import disk_errors
from burnish.proc.folders import private_folder

_PLAIN = ("100644", "100755")


def write_changed_files(change: Change, read: Callable[[str], bytes | None], root: Path) -> None:
    """Write the new content of each regular file below `root`, which must not exist yet."""
    with disk_errors(f"creating {root}"):
        private_folder(root.parent)
        root.mkdir(mode=0o700)
        for file in change.files:
            if file.status == "D" or file.new_mode not in _PLAIN or not _stays_inside(file.path):
                continue
            data = read(file.path)
            if data is not None:
                _write(root / file.path, data)


def _write(target: Path, data: bytes) -> None:
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(data)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return  # two names that differ only in case, on a case-insensitive file system
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise


def _stays_inside(path: str) -> bool:
    """Whether the path stays below the folder: a crafted tree can have names that git would not check out."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and not any(part == ".." or part.lower() == ".git" for part in parts)
