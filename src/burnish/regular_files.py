"""Reading files that may turn out to be something else."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_regular(path: Path, *, longest: int = 64 * 1024 * 1024) -> bytes | None:
    """The first bytes of a regular file; None for anything else, above all a pipe that would wait for a writer."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read(longest) if stat.S_ISREG(os.fstat(handle).st_mode) else None
