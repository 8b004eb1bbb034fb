"""Finds the members of a uv workspace, which `uv sync --all-packages` at its root installs. Pure."""

from __future__ import annotations

import fnmatch
import posixpath
from pathlib import PurePosixPath
from typing import Any

from burnish.checks.tools import Read
from burnish.regular_files import parse_toml


def is_workspace(root: str, read: Read) -> bool:
    return _workspace(root, read) is not None


def is_member(folder: str, root: str, read: Read) -> bool:
    """True if the workspace of `root` lists this folder in `members` and not in `exclude`."""
    start = f"{root}/" if root else ""
    if folder == root or not folder.startswith(start):
        return False
    workspace = _workspace(root, read)
    if workspace is None:
        return False
    inside = folder.removeprefix(start)
    is_listed, is_excluded = (_matches(inside, workspace.get(key)) for key in ("members", "exclude"))
    return is_listed and not is_excluded


def _workspace(root: str, read: Read) -> dict[str, Any] | None:
    try:
        table: Any = parse_toml(read(f"{root}/pyproject.toml" if root else "pyproject.toml") or "")
    except (ValueError, RecursionError):
        return None
    for key in ("tool", "uv", "workspace"):
        table = table.get(key)
        if not isinstance(table, dict):
            return None
    return dict(table)


def _matches(folder: str, patterns: object) -> bool:
    if not isinstance(patterns, list):
        return False
    return any(_fits(folder, posixpath.normpath(pattern)) for pattern in patterns if isinstance(pattern, str))


def _fits(folder: str, pattern: str) -> bool:
    if "**" in pattern:
        return fnmatch.fnmatchcase(folder, pattern)
    # `*` does not match `/`.
    return folder.count("/") == pattern.count("/") and PurePosixPath(folder).match(pattern)
