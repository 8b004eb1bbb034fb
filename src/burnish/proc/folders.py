"""Folders of the burnish home: nobody else's to look into."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from burnish.durability import is_sync_enabled


def private_folder(place: Path, *, durable: bool = True) -> None:
    """Made, with every folder above it that is missing, for this user alone; what is there keeps its mode.

    `durable`: what is written into it is relied on after a loss of power, and is lost with the folder's name.

    `mkdir(parents=True)` gives its mode to the last folder only, and leaves those above it open to everybody.
    """
    if place.is_dir():
        return
    private_folder(place.parent, durable=durable)
    place.mkdir(mode=0o700, exist_ok=True)
    if durable:
        sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """New, renamed and removed names in it are on the disk."""
    if not is_sync_enabled():
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_folder(folder: Path) -> None:
    """Remove a folder and all that is in it; links are removed, never followed. One that is not there is fine."""

    def open_up(remove: Callable[..., Any], name: str, info: object) -> None:
        # A directory without write permission (Go's module cache, a test's leavings) keeps its files.
        for target in (Path(name).parent, Path(name)):
            if _is_folder(target):
                target.chmod(0o700)
        if _is_folder(Path(name)):
            shutil.rmtree(name, ignore_errors=True)
        else:
            Path(name).unlink(missing_ok=True)

    if os.path.lexists(folder):
        try:
            shutil.rmtree(folder, onerror=open_up)
        except RecursionError:
            _remove_deep(folder)


def _remove_deep(folder: Path) -> None:
    """Remove folders that are nested deeper than Python calls itself: each is moved to the top before it is opened."""
    emptied, waiting, number = [], [folder], 0
    while waiting:
        here = waiting.pop()
        here.chmod(0o700)
        emptied.append(here)
        for entry in list(os.scandir(here)):
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
            elif here == folder:
                waiting.append(Path(entry.path))
            else:
                while os.path.lexists(target := folder / f"removed-{number}"):
                    number += 1
                waiting.append(Path(entry.path).rename(target))
    for one in reversed(emptied):
        one.rmdir()


def _is_folder(path: Path) -> bool:
    """A directory, not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
