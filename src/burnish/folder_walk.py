"""Walks folders of any depth, e.g. those that an agent or a check created."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FolderEntries:
    """The names in a folder. A link to a folder is in `folders` and in `links`."""

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    links: frozenset[str] = frozenset()


ReadFolder = Callable[[str], FolderEntries | None]


def read_folder(folder: str) -> FolderEntries | None:
    """The entries; None if the folder was removed or is not readable, or its path is too long."""
    try:
        with os.scandir(folder) as entries:
            everything = list(entries)
    except OSError:
        return None
    # the type comes with the name: there is no system call for files and folders
    files = [entry.name for entry in everything if entry.is_file(follow_symlinks=False)]
    if len(files) == len(everything):
        return FolderEntries(files=tuple(files))
    others = [entry for entry in everything if not entry.is_file(follow_symlinks=False)]
    folders = tuple(entry.name for entry in others if _is_folder(entry))
    below = frozenset(folders)
    return FolderEntries(
        folders,
        tuple(entry.name for entry in everything if entry.name not in below),
        frozenset(entry.name for entry in others if entry.is_symlink()),
    )


def walk_folders(root: Path, read: ReadFolder = read_folder) -> Iterator[tuple[str, list[str], list[str]]]:
    """Like `os.walk`, but without recursion: before Python 3.12 `os.walk` fails at a depth of about a thousand.

    Folders that the caller removes from the second list are not entered; links are not followed. `read`: for several
    walks of a large tree, `functools.cache(read_folder)` reads each folder once, and does not see later changes.
    """
    waiting = [str(root)]
    while waiting:
        here = waiting.pop()
        found = read(here)
        if found is None:
            continue
        folders = list(found.folders)
        yield here, folders, list(found.files)
        waiting += [os.path.join(here, name) for name in reversed(folders) if name not in found.links]  # noqa: PTH118


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
