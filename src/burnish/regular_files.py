"""Reads files safely: only regular files, so that a pipe or device cannot block."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePath

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_LONGEST = 64 * 1024 * 1024


def read_regular(path: Path, *, longest: int = _LONGEST, start: int = 0, follow: bool = True) -> bytes | None:
    """At most `longest` bytes of a regular file from `start` on; None for anything else.

    `follow`: whether the last part of the path may be a link.
    """
    try:
        handle = os.open(path, _FLAGS | (0 if follow else os.O_NOFOLLOW))
    except OSError:
        return None
    try:
        return _read(handle, longest, start)
    finally:
        os.close(handle)


def read_below(folder: Path, place: PurePath, *, longest: int = _LONGEST) -> bytes | None:
    """The first bytes of a regular file below a folder; None also if a part of the path below it is a link."""
    handle = -1
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in place.parts:
            below = os.open(part, _FLAGS | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = below
        return _read(handle, longest)
    except OSError:
        return None
    finally:
        if handle >= 0:
            os.close(handle)


def _read(handle: int, longest: int, start: int = 0) -> bytes | None:
    # before `fdopen`, which raises for a directory
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        return None
    with os.fdopen(handle, "rb", closefd=False) as file:
        file.seek(start)
        return file.read(longest)
