"""Which paths of a workspace are not committed."""

from __future__ import annotations

from burnish.git.project import Project
from burnish.git.staging import look
from burnish.git.workspace import Workspace


def dirty_paths(project: Project, workspace: Workspace) -> list[str]:
    """Changed, deleted and new paths, ignored ones aside, sorted."""
    return workspace.dirt().paths


def user_dirty_paths(project: Project) -> list[str]:
    """The same for the user's own checkout against its index; the index is only read."""
    return look(project, project.git_dir / "index", project.root).paths
