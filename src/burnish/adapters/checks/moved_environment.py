"""Copies an environment to another path than the one that it was made at."""

from __future__ import annotations

import mmap
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.adapters.checks.trees import copy_below
from burnish.checks.installed import EnvironmentFolder
from burnish.folder_walk import walk_folders
from burnish.git.files import disk_errors

# Longer first lines of scripts are cut by older kernels.
MAX_FIRST_LINE_LENGTH = 127
_PYTHON_LINE = re.compile(rb"#!/\S*/python[\d.]*")
# Files here name paths that do not matter after a move: importing corrects them, or the tool writes them again.
_IGNORED_FOLDERS = frozenset(("__pycache__", ".cache"))


@dataclass(frozen=True, slots=True)
class MadeEnvironment:
    """Files that set-up made: `layer` has them now, and `made_at` is the path that they were made at."""

    layer: Path
    made_at: Path
    folders: Sequence[EnvironmentFolder]

    def copy_to(self, workspace: Path) -> bool:
        """Copy it with the paths in its files; False, without a change, if it has to be made there instead.

        It has to be made there if it has no environment folder (set-up installs elsewhere), if the workspace has one,
        or if a file that cannot be edited contains the path, e.g. a compiled library.
        """
        if not self.folders or any(os.path.lexists(workspace / folder.path) for folder in self.folders):
            return False
        names = tuple(dict.fromkeys(os.fsencode(path) for path in (self.made_at, self.made_at.resolve())))
        edits = _edits(self.layer, names, os.fsencode(workspace))
        if edits is None:
            return False
        copy_below(self.layer, workspace)
        with disk_errors(f"writing to {workspace}"):
            for path, content in edits.items():
                _replace(workspace / path, content)
        return True


def _edits(layer: Path, old: Sequence[bytes], new: bytes) -> dict[str, bytes] | None:
    """The new content of files and targets of links that contain the old path; None if one cannot be edited."""
    edits: dict[str, bytes] = {}
    for path in _files(layer):
        content = os.fsencode(path.readlink()) if path.is_symlink() else _content_with(path, old)
        new_content = content
        for name in old:
            new_content = new_content.replace(name, new)
        if new_content == content:
            continue
        if b"\0" in content:
            return None
        edits[str(path.relative_to(layer))] = _with_short_first_line(new_content)
    return edits


def _files(layer: Path) -> Iterator[Path]:
    for folder, names, files in walk_folders(layer):
        links = [name for name in names if (Path(folder) / name).is_symlink()]
        names[:] = [name for name in names if name not in _IGNORED_FOLDERS]
        yield from (Path(folder) / name for name in (*files, *links))


def _content_with(path: Path, words: Sequence[bytes]) -> bytes:
    """The content of a regular file if it contains one of the words; else b""."""
    with disk_errors(f"reading {path}"), path.open("rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return b""
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return bytes(content) if any(content.find(word) >= 0 for word in words) else b""


def _with_short_first_line(content: bytes) -> bytes:
    """A script of Python that the shell starts, if its first line is too long; Python reads these lines as a text."""
    first, _, rest = content.partition(b"\n")
    if len(first) <= MAX_FIRST_LINE_LENGTH or not _PYTHON_LINE.fullmatch(first):
        return content
    return b"#!/bin/sh\n'''exec' \"%s\" \"$0\" \"$@\"\n' '''\n%s" % (first[2:], rest)


def _replace(path: Path, content: bytes) -> None:
    """Replace the file or link, not what other links to the same file see; keeps the mode of a file."""
    fresh = path.with_name(f".{path.name}.moved")
    if path.is_symlink():
        fresh.symlink_to(os.fsdecode(content))
    else:
        fresh.write_bytes(content)
        fresh.chmod(stat.S_IMODE(path.stat().st_mode))
        for bytecode in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            bytecode.unlink()
    fresh.replace(path)
