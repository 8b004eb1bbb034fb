"""Temporary checkouts of a commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from burnish.git import agent_gitdir
from burnish.git.files import disk_errors, remove_tree
from burnish.git.layout import check_out_files
from burnish.git.project import Project
from burnish.git.task_tree import TaskTree
from burnish.proc.folders import private_folder


def temporary_index(path: Path) -> Path:
    return path.with_name(f".{path.name}.index")


@contextmanager
def throwaway(project: Project, commit: str, path: Path, *, clean_tree: TaskTree | None = None) -> Iterator[Path]:
    """Check out the commit at `path`, replacing what is there, and remove it afterwards.

    `clean_tree`: a tree that is moved there first, so that fewer files have to be written.
    """
    path = path.absolute()
    index = temporary_index(path)
    try:
        with disk_errors(f"creating {path}"):
            remove_tree(path)
            index.unlink(missing_ok=True)
            private_folder(path.parent)
        if clean_tree:
            clean_tree.move_to(path, index)
        with disk_errors(f"creating {path}"):
            path.mkdir(mode=0o700, exist_ok=True)
        check_out_files(project, index, path, commit, everything=True)
        agent_gitdir.create_agent_gitdir(
            project, path, index, agent_gitdir.AgentGitDir("refs/heads/burnish/baseline", commit, commit)
        )
        yield path
    finally:
        remove_tree(path)
        for part in path.parent.glob(f".{path.name}.index*"):
            part.unlink(missing_ok=True)
