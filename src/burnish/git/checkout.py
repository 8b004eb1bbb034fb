"""The files of a commit for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from burnish.git import agentgit
from burnish.git.files import disk_errors, remove_tree
from burnish.git.layout import lay_files
from burnish.git.project import Project
from burnish.proc.folders import private_folder


@contextmanager
def throwaway(project: Project, commit: str, path: Path) -> Iterator[Path]:
    """Lay the commit at `path`, where nothing is kept; gone afterwards, whatever happened in it."""
    path = path.absolute()
    index = path.with_name(f".{path.name}.index")
    try:
        with disk_errors(f"making {path}"):
            remove_tree(path)
            index.unlink(missing_ok=True)
            private_folder(path.parent)
            path.mkdir(mode=0o700)
        lay_files(project, index, path, commit, everything=True)
        agentgit.lay(project, path, index, agentgit.Laid("refs/heads/burnish/baseline", commit, commit))
        yield path
    finally:
        remove_tree(path)
        for part in path.parent.glob(f".{path.name}.index*"):
            part.unlink(missing_ok=True)
