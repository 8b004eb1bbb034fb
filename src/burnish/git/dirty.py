"""What is not committed, in a workspace or in the user's own checkout."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from burnish.errors import BadInput
from burnish.git.base import copy_shared, file_mode
from burnish.git.files import copy_index, disk_errors
from burnish.git.layout import gitlinks
from burnish.git.project import Project
from burnish.git.staging import look, stage, write_tree
from burnish.git.workspace import Workspace


def dirty_paths(project: Project, workspace: Workspace) -> list[str]:
    """Changed, deleted and new paths, ignored ones aside, sorted."""
    return workspace.dirt().paths


def user_tree(project: Project, *, staged: bool) -> str:
    """The tree that the user's index holds, or with `staged=False` their whole checkout; both are only read."""
    source = project.git_dir / "index"
    if not source.is_file():
        raise BadInput(f"{project.root} has nothing staged.", hint="`git add` something first.")
    with TemporaryDirectory(dir=project.own, prefix="look-") as folder, disk_errors("copying the index"):
        copy = Path(folder) / "index"
        copy_index(source, copy)
        copy_shared(project)
        if not staged:
            links = b"".join(path + b"\0" for path in gitlinks(project, copy))
            if links:
                args = ("update-index", "--skip-worktree", "-z", "--stdin")
                project.git(*args, index=copy, work_tree=project.root, stdin=links)
            stage(project, copy, project.root, look(project, copy, project.root, file_mode=file_mode(project)))
        return write_tree(project, copy)
