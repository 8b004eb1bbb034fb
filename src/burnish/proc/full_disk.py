"""Whether a program failed because a disk was full: it often tells only that it could not write, or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from burnish.errors import PhaseFailed

FULL_WORDS = ("No space left on device", "Disk quota exceeded", "ENOSPC", "EDQUOT")
# a program that failed to write may leave a few blocks
_NO_ROOM = 64 * 1024


def is_full(folder: Path) -> bool:
    """No room or no inode left on its file system, for a user without privileges."""
    try:
        found = os.statvfs(folder if folder.is_dir() else folder.parent)
    except OSError:
        return False
    no_room = found.f_blocks > 0 and found.f_bavail * found.f_frsize < _NO_ROOM
    return no_room or (found.f_files > 0 and found.f_favail == 0)


def full_disk_failure(program: str, folders: Iterable[Path], output: str = "") -> PhaseFailed | None:
    """For a program that failed: DISK_FULL if one of the folders or that of temporary files is full, or it printed so.

    When it has ended, its files may be gone and with them the reason; so what it printed counts, too.
    """
    # not `tempfile.gettempdir()`, which leaves out a folder that is full
    temporary = Path(os.environ.get("TMPDIR") or "/tmp")
    full = next((folder for folder in (*folders, temporary) if is_full(folder)), None)
    printed = next((line.strip() for line in output.splitlines() if any(words in line for words in FULL_WORDS)), "")
    if full is None and not printed:
        return None
    where = f"there is no room left in {full}" if full else printed
    return PhaseFailed(
        "DISK_FULL",
        f"The disk is full: {program} failed, {where}" + ("" if where.endswith(".") else "."),
        hint="Free some space (`burnish clean` shows what the workspaces take), then `burnish retry`.",
        output=output,
    )
