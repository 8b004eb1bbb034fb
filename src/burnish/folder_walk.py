"""Walks folders of any depth, e.g. those that an agent or a check created."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def walk_folders(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Like `os.walk`, but without recursion: before Python 3.12 `os.walk` fails at a depth of about a thousand.

    Folders that the caller removes from the second list are not entered; links are not followed.
    """
    waiting = [str(root)]
    while waiting:
        here = waiting.pop()
        folders: list[str] = []
        files: list[str] = []
        links: set[str] = set()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.is_file(follow_symlinks=False):
                        files.append(entry.name)  # almost every entry
                        continue
                    (folders if _is_folder(entry) else files).append(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
        except OSError:
            continue  # removed, not readable, or the path is too long
        yield here, folders, files
        waiting += [os.path.join(here, name) for name in reversed(folders) if name not in links]  # noqa: PTH118


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
