"""The guard against a large file going into git whole."""

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
# `commit.max_file_mb`, where nothing else is said
MOST_BYTES = 50 * MEGABYTE


def check(project: Project, root: Path, dirt: DirtyPaths) -> None:
    """Without git-lfs only pointers may be committed where the repository asks for it."""
    if lfs.program() or not _mentions_lfs(root, dirt):
        return
    asked = b"".join(path + b"\0" for path in dirt.taken)
    args = ("check-attr", "-z", "--stdin", "filter")
    answer = project.git(*args, work_tree=root, git_dir=project.own / "attributes", stdin=asked).stdout
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
    """The files over `most` bytes that would be committed, with their sizes; links are never followed."""
    found: dict[bytes, int] = {}
    for path in dirt.taken:
        try:
            status = os.lstat(os.path.join(os.fsencode(root), path))  # noqa: PTH118 (bytes)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_size > most:
            found[path] = status.st_size
    return found


def refuse(found: Mapping[bytes, int], root: Path, most: int) -> None:
    """Before git has seen any of it: an object that was written stays in the repository."""
    if not found:
        return
    files = [f"{os.fsdecode(path)!r} ({size / MEGABYTE:,.0f} MB)" for path, size in sorted(found.items())]
    names = ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
    verb = "is" if len(files) == 1 else "are"
    raise FileTooLarge(
        f"Nothing was committed: {names} {verb} larger than commit.max_file_mb ({most / MEGABYTE:g} MB).",
        hint=f"The work is in {root}. `burnish retry` asks the agent to leave it out; or raise commit.max_file_mb.",
    )


def refuse_commits(project: Project, lent: Path, revisions: bytes, most: int) -> None:
    """The same for commits that an agent made itself."""
    listed = project.git("rev-list", "--objects", "--stdin", borrow=lent, stdin=revisions).stdout
    names = b"".join(line.split(b" ")[0] + b"\n" for line in listed.split(b"\n") if line)
    sizes = project.git("cat-file", "--batch-check=%(objectsize)", borrow=lent, stdin=names).stdout.split()
    if any(size.isdigit() and int(size) > most for size in sizes):
        raise FileTooLarge("Commits that the agent made hold a file over `commit.max_file_mb`.")


def _mentions_lfs(root: Path, dirt: DirtyPaths) -> bool:
    folders = {b""}
    for path in dirt.taken:
        while (path := path.rpartition(b"/")[0]) not in folders:
            folders.add(path)
    files = (root / os.fsdecode(folder) / ".gitattributes" for folder in folders)
    return any(b"filter=lfs" in (read_regular(file, longest=1 << 20, follow=False) or b"") for file in files)
