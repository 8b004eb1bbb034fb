"""Detects that a program failed because a disk was full, even if its output does not say so."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from burnish.errors import PhaseFailed

FULL_WORDS = ("No space left on device", "Disk quota exceeded", "ENOSPC", "EDQUOT")
# A program that failed to write may leave a few free blocks.
_NO_ROOM = 64 * 1024


def is_full(folder: Path) -> bool:
    """True if its file system has no space or no inodes left for normal users."""
    try:
        found = os.statvfs(folder if folder.is_dir() else folder.parent)
    except OSError:
        return False
    no_room = found.f_blocks > 0 and found.f_bavail * found.f_frsize < _NO_ROOM
    return no_room or (found.f_files > 0 and found.f_favail == 0)


def full_disk_failure(program: str, folders: Iterable[Path], output: str = "") -> PhaseFailed | None:
    """DISK_FULL for a failed program if one of the folders or TMPDIR is full, or its output says so; else None.

    Its files may be removed when it ends, which frees space, so the output counts as well.
    """
    # Not `tempfile.gettempdir()`, which skips a full folder.
    temporary = Path(os.environ.get("TMPDIR") or "/tmp")
    full = next((folder for folder in (*folders, temporary) if is_full(folder)), None)
    message = next((line.strip() for line in output.splitlines() if any(words in line for words in FULL_WORDS)), "")
    if full is None and not message:
        return None
    where = f"no space left in {full}" if full else message
    return PhaseFailed(
        "DISK_FULL",
        f"The disk is full: {program} failed, {where}" + ("" if where.endswith(".") else "."),
        hint="Free some space (`burnish clean` shows the size of the workspaces), then run `burnish retry`.",
        output=output,
    )
