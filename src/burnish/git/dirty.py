"""Uncommitted paths of a workspace."""

from __future__ import annotations

from burnish.git.project import Project
from burnish.git.workspace import GitWorkspace


def dirty_paths(project: Project, workspace: GitWorkspace) -> list[str]:
    """Changed, deleted and new paths, sorted; without ignored ones."""
    return workspace.dirt().paths
