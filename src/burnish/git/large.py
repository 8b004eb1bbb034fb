"""The guard against a large file going into git whole."""

from __future__ import annotations

import os
from pathlib import Path

from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git import lfs
from burnish.git.files import read_plain
from burnish.git.project import Project
from burnish.git.staging import Dirt


def check(project: Project, root: Path, dirt: Dirt) -> None:
    """Without git-lfs only pointers may be committed where the repository asks for it."""
    if lfs.program() or not _mentions_lfs(root, dirt):
        return
    asked = b"".join(path + b"\0" for path in dirt.taken)
    args = ("check-attr", "-z", "--stdin", "filter")
    answer = project.git(*args, work_tree=root, git_dir=project.own / "attributes", stdin=asked).stdout
    words = answer.split(b"\0")
    for path, value in zip(words[0::3], words[2::3], strict=False):
        file = root / os.fsdecode(path)
        if value == b"lfs" and read_plain(file, longest=len(lfs.POINTER)) not in (None, lfs.POINTER):
            raise PhaseFailed(
                ErrorCode.GIT_ERROR,
                f"{os.fsdecode(path)!r} belongs in Git LFS, and git-lfs is not installed.",
                hint="Install git-lfs, then `burnish retry`.",
            )


def _mentions_lfs(root: Path, dirt: Dirt) -> bool:
    folders = {b""}
    for path in dirt.taken:
        while (path := path.rpartition(b"/")[0]) not in folders:
            folders.add(path)
    files = (root / os.fsdecode(folder) / ".gitattributes" for folder in folders)
    return any(b"filter=lfs" in (read_plain(file, longest=1 << 20) or b"") for file in files)
