"""Small file work that trusts nothing it finds: no links followed, nothing half written."""

from __future__ import annotations

import errno
import itertools
import math
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from burnish.core.status import ErrorCode
from burnish.durability import sync_wanted
from burnish.errors import PhaseFailed
from burnish.folder_walk import walk_folders
from burnish.proc.folders import remove_folder, sync_folder

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def disk_errors(doing: str) -> Iterator[None]:
    """A full or forbidden disk becomes a failed phase with words."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise PhaseFailed(
                ErrorCode.DISK_FULL,
                f"The disk is full: {doing}.",
                hint="Free some space, then `burnish retry`.",
            ) from error
        raise PhaseFailed(
            ErrorCode.GIT_ERROR,
            f"{doing} failed: {error.strerror or error}.",
            hint=f"Check the rights on {error.filename or 'the burnish home and the repository'}.",
        ) from error


def write_whole(
    path: Path, data: bytes, *, mode: int = 0o600, prefix: str = "", durable: bool = True, sync_name: bool = True
) -> None:
    """All of it or nothing, also after a loss of power if it is `durable`: written beside, synced, then renamed.

    Without `sync_name` the caller syncs the folder, once for several files.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=prefix or f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if durable:
                sync_file(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if durable and sync_name:
        sync_folder(path.parent)


def sync_file(handle: int) -> None:
    if sync_wanted():
        os.fsync(handle)


def write_if_changed(path: Path, data: bytes) -> None:
    try:
        if path.read_bytes() == data:
            return
    except FileNotFoundError:
        pass
    write_whole(path, data)


def copy_index(source: Path, target: Path) -> None:
    """With its time: a copy that looks younger makes git miss a file changed in the same tick to the same size."""
    shutil.copy2(source, target)


def is_real_dir(path: Path) -> bool:
    """A directory, not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def move_off(path: Path) -> Path:
    """Make room without deleting anything; returns where it is now."""
    for number in itertools.count(1):
        target = path.with_name(f"{path.name}.replaced-{number}")
        if not os.path.lexists(target):
            return path.rename(target)
    raise AssertionError("unreachable")


def remove_tree(path: Path) -> None:
    """Remove whatever stands there; a link is removed, never followed."""
    if not is_real_dir(path):
        path.unlink(missing_ok=True)
        return
    remove_folder(path)


def open_rights(root: Path) -> None:
    """Give the owner back the right to list and change every directory below (never through a link)."""
    for here, dirs, _files in walk_folders(root):
        for name in dirs:
            target = Path(here) / name
            if is_real_dir(target) and target.lstat().st_mode & 0o700 != 0o700:
                target.chmod(target.lstat().st_mode | 0o700)


def disk_usage(folder: Path, *, deadline: float = math.inf) -> int:
    """What it takes on the disk; links are not followed. After `deadline` (of `time.monotonic`) nothing is counted."""
    total, waiting = 0, [folder]
    # not os.walk: an agent may nest folders deeper than Python calls itself
    while waiting:
        here = waiting.pop()
        try:
            total += here.lstat().st_blocks * 512
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue  # gone in the meantime
    return total
