"""Resets a tree after a check, if there is no overlay to remove."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from burnish.folder_walk import walk_folders
from burnish.git.files import remove_tree

# Large folders in which tests do not leave data.
_SKIPPED = frozenset((".git", ".venv", "venv", "node_modules"))


def remember_tree(root: Path) -> Callable[[], None]:
    """A function that removes all files added since: data of the first run must not affect the second."""
    before = _paths(root)

    def reset() -> None:
        for path in sorted(_paths(root) - before):
            place = root / path
            if place.is_dir() and not place.is_symlink():
                remove_tree(place)
            else:
                place.unlink(missing_ok=True)

    return reset


def _paths(root: Path) -> set[str]:
    found = set()
    for place, folders, files in walk_folders(root):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        found |= {os.path.relpath(Path(place, name), root) for name in (*folders, *files)}
    return found
