"""Keeps large files out of commits."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from burnish.core.status import ErrorCode
from burnish.errors import FileTooLarge, PhaseFailed
from burnish.git import lfs
from burnish.git.project import Project
from burnish.git.staging import DirtyPaths
from burnish.regular_files import read_regular

MEGABYTE = 1024 * 1024
# default of `commit.max_file_mb`
MOST_BYTES = 50 * MEGABYTE


def check(project: Project, root: Path, dirt: DirtyPaths) -> None:
    """Refuse to commit the content of a Git LFS file where git-lfs is not installed; pointers are fine."""
    if lfs.program() or not _mentions_lfs(root, dirt):
        return
    query = b"".join(path + b"\0" for path in dirt.to_stage)
    args = ("check-attr", "-z", "--stdin", "filter")
    answer = project.git(*args, work_tree=root, git_dir=project.own / "attributes", stdin=query).stdout
    words = answer.split(b"\0")
    for path, value in zip(words[0::3], words[2::3], strict=False):
        file = root / os.fsdecode(path)
        if value == b"lfs" and read_regular(file, longest=len(lfs.POINTER), follow=False) not in (None, lfs.POINTER):
            raise PhaseFailed(
                ErrorCode.GIT_ERROR,
                f"{os.fsdecode(path)!r} belongs in Git LFS, and git-lfs is not installed.",
                hint="Install git-lfs, then `burnish retry`.",
            )


def too_large(root: Path, dirt: DirtyPaths, most: int) -> dict[bytes, int]:
    """Size by path of the files over `most` bytes that would be committed; links are not followed."""
    found: dict[bytes, int] = {}
    for path in dirt.to_stage:
        try:
            status = os.lstat(os.path.join(os.fsencode(root), path))  # noqa: PTH118 (bytes)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_size > most:
            found[path] = status.st_size
    return found


def refuse(found: Mapping[bytes, int], root: Path, most: int) -> None:
    """Raise before git writes an object, which would stay in the repository."""
    if not found:
        return
    files = [f"{os.fsdecode(path)!r} ({size / MEGABYTE:,.0f} MB)" for path, size in sorted(found.items())]
    names = ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
    verb = "is" if len(files) == 1 else "are"
    raise FileTooLarge(
        f"Nothing was committed: {names} {verb} larger than commit.max_file_mb ({most / MEGABYTE:g} MB).",
        hint=f"The work is in {root}. `burnish retry` asks the agent to leave it out; or raise commit.max_file_mb.",
    )


def refuse_commits(project: Project, agent_objects: Path, revisions: bytes, most: int) -> None:
    """Refuse commits of the agent that contain a file over `most` bytes."""
    objects = project.git("rev-list", "--objects", "--stdin", borrow=agent_objects, stdin=revisions).stdout
    names = b"".join(line.split(b" ")[0] + b"\n" for line in objects.split(b"\n") if line)
    sizes = project.git("cat-file", "--batch-check=%(objectsize)", borrow=agent_objects, stdin=names).stdout.split()
    if any(size.isdigit() and int(size) > most for size in sizes):
        raise FileTooLarge("Commits made by the agent contain a file over `commit.max_file_mb`.")


def _mentions_lfs(root: Path, dirt: DirtyPaths) -> bool:
    folders = {b""}
    for path in dirt.to_stage:
        while (path := path.rpartition(b"/")[0]) not in folders:
            folders.add(path)
    files = (root / os.fsdecode(folder) / ".gitattributes" for folder in folders)
    return any(b"filter=lfs" in (read_regular(file, longest=1 << 20, follow=False) or b"") for file in files)
