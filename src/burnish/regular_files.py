"""Reading files that may turn out to be something else."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePath


def read_regular(path: Path, *, longest: int = 64 * 1024 * 1024, follow: bool = True) -> bytes | None:
    """The first bytes of a regular file; None for anything else, above all a pipe that would wait for a writer.

    `follow`: also through a link in the last part of the path.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read(longest) if stat.S_ISREG(os.fstat(handle).st_mode) else None


def read_below(folder: Path, place: PurePath, *, longest: int = 64 * 1024 * 1024) -> bytes | None:
    """The first bytes of a regular file below a folder; None also where a part of its path below is a link."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    handle = -1
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in place.parts:
            below = os.open(part, flags, dir_fd=handle)
            os.close(handle)
            handle = below
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(longest) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    except OSError:
        return None
    finally:
        if handle >= 0:
            os.close(handle)
