"""The files of a commit for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from burnish.git import agent_gitdir as agentgit
from burnish.git.files import disk_errors, remove_tree
from burnish.git.layout import lay_files
from burnish.git.project import Project
from burnish.git.task_tree import TaskTree
from burnish.proc.folders import private_folder


def throwaway_index(path: Path) -> Path:
    return path.with_name(f".{path.name}.index")


@contextmanager
def throwaway(project: Project, commit: str, path: Path, *, reused: TaskTree | None = None) -> Iterator[Path]:
    """Lay the commit at `path`, where nothing is kept; gone afterwards, whatever happened in it.

    `reused`: a clean tree that is moved there first.
    """
    path = path.absolute()
    index = throwaway_index(path)
    try:
        with disk_errors(f"making {path}"):
            remove_tree(path)
            index.unlink(missing_ok=True)
            private_folder(path.parent)
        if reused:
            reused.move_to(path, index)
        with disk_errors(f"making {path}"):
            path.mkdir(mode=0o700, exist_ok=True)
        lay_files(project, index, path, commit, everything=True)
        agentgit.create_agent_gitdir(
            project, path, index, agentgit.AgentGitDir("refs/heads/burnish/baseline", commit, commit)
        )
        yield path
    finally:
        remove_tree(path)
        for part in path.parent.glob(f".{path.name}.index*"):
            part.unlink(missing_ok=True)
