"""Which paths of the user's checkout git ignores or does not track."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from burnish.git.discovery import FoundRepository
from burnish.git.project import open_project


def is_ignored(found: FoundRepository, path: str) -> bool:
    """Whether git ignores `path`, with the ignore rules of workspaces; relative to the root, a folder ends in /."""
    with tempfile.TemporaryDirectory(prefix="burnish-ignored-") as place:
        project = open_project(found, home=Path(place).resolve(), key="ignored")
        answer = project.git("check-ignore", "-q", "--no-index", "--", path, work_tree=found.root, ok=(0, 1))
        return answer.exit_code == 0


def find_uncommittable(found: FoundRepository, paths: Sequence[str]) -> set[str]:
    """Those of `paths` that git ignores and does not track."""
    with tempfile.TemporaryDirectory(prefix="burnish-ignored-") as place:
        project = open_project(found, home=Path(place).resolve(), key="ignored")
        args = ("check-ignore", "-z", "--stdin", "--no-index")
        answer = project.git(*args, work_tree=found.root, stdin=_join(paths), ok=(0, 1))
        ignored_paths = _split(answer.stdout)
        return ignored_paths - _split(project.user_git("ls-files", "-z", here=True).stdout) if ignored_paths else set()


def find_untracked(found: FoundRepository, paths: Sequence[str]) -> set[str]:
    """Those of `paths` that git does not track; none in a repository without any tracked file."""
    with tempfile.TemporaryDirectory(prefix="burnish-tracked-") as place:
        project = open_project(found, home=Path(place).resolve(), key="tracked")
        tracked_paths = _split(project.user_git("ls-files", "-z", here=True).stdout)
        return set(paths) - tracked_paths if tracked_paths else set()


def _join(paths: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _split(output: bytes) -> set[str]:
    return {os.fsdecode(path) for path in output.split(b"\0") if path}
