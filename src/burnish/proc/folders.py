"""Private folders of the burnish home, and paths as users write them."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from burnish.durability import is_sync_enabled


def expanded(text: str) -> Path:
    """The path with `~` and `~user` replaced. `Path.expanduser` raises for a user that does not exist."""
    return Path(os.path.expanduser(text))  # noqa: PTH111


def private_folder(place: Path, *, durable: bool = True) -> None:
    """Create the folder and its missing parents for this user only; existing folders keep their mode.

    `durable`: sync the folder's name, so that its files survive a power loss.
    `mkdir(parents=True)` applies the mode to the last folder only, and leaves its parents readable for all users.
    """
    if place.is_dir():
        return
    private_folder(place.parent, durable=durable)
    place.mkdir(mode=0o700, exist_ok=True)
    if durable:
        sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Sync new, renamed and removed names in the folder to disk."""
    if not is_sync_enabled():
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_folder(folder: Path) -> None:
    """Remove a folder and its content, if it exists. Links are removed, never followed."""

    def open_up(remove: Callable[..., Any], name: str, info: object) -> None:
        # Files in a directory without write permission (Go's module cache) cannot be removed.
        for target in (Path(name).parent, Path(name)):
            if _is_folder(target):
                target.chmod(0o700)
        if _is_folder(Path(name)):
            _remove_deep(Path(name))
        else:
            Path(name).unlink(missing_ok=True)

    if os.path.lexists(folder):
        try:
            shutil.rmtree(folder, onerror=open_up)
        except RecursionError:
            _remove_deep(folder)


def _remove_deep(folder: Path) -> None:
    """Remove folders without rights or nested deeper than the recursion limit: each is moved to the top first."""
    empty_folders, pending, number = [], [folder], 0
    while pending:
        here = pending.pop()
        here.chmod(0o700)
        empty_folders.append(here)
        for entry in list(os.scandir(here)):
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink(missing_ok=True)
            elif here == folder:
                pending.append(Path(entry.path))
            else:
                while os.path.lexists(target := folder / f"removed-{number}"):
                    number += 1
                # a folder that its owner may not write cannot be moved to another one
                Path(entry.path).chmod(0o700)
                pending.append(Path(entry.path).rename(target))
    for one in reversed(empty_folders):
        one.rmdir()


def _is_folder(path: Path) -> bool:
    """True for a directory, False for a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
