"""Reading files that may turn out to be something else."""

from __future__ import annotations

import os
import stat
from pathlib import Path


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
