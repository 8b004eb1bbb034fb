"""Submodules of the user's checkout: the commit that is checked out, and whether it holds more than that commit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from burnish.errors import BurnishError
from burnish.git.base import file_mode
from burnish.git.files import copy_index, disk_errors
from burnish.git.layout import gitlinks
from burnish.git.project import Project
from burnish.git.run import bare_env, git
from burnish.git.staging import find_dirty_paths
from burnish.git.stale_stat import forget_stale_stat

# submodules inside of each other
_DEEPEST = 10


def take_submodules(project: Project, index: Path) -> set[bytes]:
    """Stage the checked-out commit of each submodule; returns those with content that is not in that commit.

    Their files are not part of the tree: only their commits can be reviewed here.
    """
    links = gitlinks(project, index)
    if not links:
        return set()
    new_heads = {
        path: head
        for path, sha in links.items()
        if (head := _head(project, _place(project.root, path), "commit")) not in (None, sha)
    }
    lines = b"".join(f"160000 {head}\t".encode() + path + b"\0" for path, head in new_heads.items())
    if lines:
        project.git("update-index", "-z", "--index-info", index=index, work_tree=project.root, stdin=lines)
    _skip(project, index, project.root, links)
    return {path for path in links if _has_more(project, _place(project.root, path), _DEEPEST)}


def look_at_every_file(project: Project, index: Path, root: Path) -> None:
    """Clear `assume-unchanged`, and `skip-worktree` where the file exists: a sparse checkout does not have it."""
    records = project.git("ls-files", "-v", "-z", index=index, work_tree=root).stdout.split(b"\0")[:-1]
    base = os.fsencode(root)
    assumed_unchanged = [record[2:] for record in records if record[:1].islower()]
    skip_worktree = [r[2:] for r in records if r[:1] in b"Ss" and os.path.lexists(os.path.join(base, r[2:]))]  # noqa: PTH118
    for option, paths in (("--no-assume-unchanged", assumed_unchanged), ("--no-skip-worktree", skip_worktree)):
        if paths:
            names = b"".join(path + b"\0" for path in paths)
            project.git("update-index", option, "-z", "--stdin", index=index, work_tree=root, stdin=names)


def _skip(project: Project, index: Path, root: Path, links: Mapping[bytes, str]) -> None:
    names = b"".join(path + b"\0" for path in links)
    project.git("update-index", "--skip-worktree", "-z", "--stdin", index=index, work_tree=root, stdin=names)


def _place(root: Path, path: bytes) -> Path:
    return root / os.fsdecode(path)


def _has_more(project: Project, root: Path, levels: int) -> bool:
    """Whether the folder has changed, new or staged content. What cannot be looked at counts as such."""
    if root.is_symlink() or not root.is_dir():
        # an absent one is an empty folder, or none
        return os.path.lexists(root)
    git_dir = _git_dir(root)
    if git_dir is None:
        return any(root.iterdir())
    try:
        return levels == 0 or _differs(project, root, git_dir, levels)
    except (BurnishError, OSError):
        return True


def _differs(project: Project, root: Path, git_dir: Path, levels: int) -> bool:
    """Compares by a copy of its index, with burnish's own settings: its own could name programs to start."""
    with TemporaryDirectory(dir=project.own, prefix="look-") as folder, disk_errors("copying the index"):
        copy = Path(folder) / "index"
        if not (git_dir / "index").is_file():
            return True
        copy_index(git_dir / "index", copy)
        look_at_every_file(project, copy, root)
        forget_stale_stat(project, copy, root)
        links = gitlinks(project, copy)
        if links:
            _skip(project, copy, root, links)
        if find_dirty_paths(project, copy, root, file_mode=file_mode(project), ours=False):
            return True
        staged_tree = project.git("write-tree", "--missing-ok", index=copy).stdout.decode().strip()
    if staged_tree != _head(project, root, "tree"):
        return True
    return any(
        _head(project, _place(root, path), "commit") not in (None, sha)
        or _has_more(project, _place(root, path), levels - 1)
        for path, sha in links.items()
    )


def _git_dir(root: Path) -> Path | None:
    dot_git = root / ".git"
    git_dir = dot_git
    if dot_git.is_file():
        text = os.fsdecode(dot_git.read_bytes())
        git_dir = dot_git.parent / text.removeprefix("gitdir:").strip("\n\r ")
    return git_dir if (git_dir / "HEAD").is_file() else None


def _head(project: Project, root: Path, kind: str) -> str | None:
    git_dir = _git_dir(root)
    if git_dir is None:
        return None
    env = bare_env(project.own) | {"GIT_DIR": str(git_dir)}
    name = f"HEAD^{{{kind}}}"
    result = git("rev-parse", "--verify", "--quiet", name, cwd=project.own, env=env, ok=(0, 1, 128))
    return result.stdout.decode().strip() or None
