"""A user's repository, burnish's git dir for it, and one task's workspace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from burnish.core.commit import Base, Commit
from burnish.git.base import resolve_base
from burnish.git.discovery import discover
from burnish.git.project import Project, open_project
from burnish.git.workspace import GitWorkspace
from testing.userrepo import UserRepo

ME = ("Ada", "ada@example.org")


@dataclass(frozen=True)
class GitWorld:
    repo: UserRepo
    home: Path
    project: Project
    base: Base

    @classmethod
    def make(cls, repo: UserRepo, home: Path, *, checkout: Path | None = None) -> GitWorld:
        project = open_project(discover(checkout or repo.path), home=home, key="repo")
        return cls(repo, home, project, resolve_base(project, None))

    def workspace(self, name: str = "1-task", *, create: bool = True) -> GitWorkspace:
        made = GitWorkspace(self.project, self.home / "workspaces" / "repo" / name, name, author=ME)
        if create:
            made.create(self.base)
        return made


def commit(workspace: GitWorkspace, message: str = "feat: work") -> Commit:
    """Commit what lies in the workspace on top of its branch; it must be something."""
    head = workspace.head()
    assert head is not None
    made = workspace.commit(message, {"Burnish-Task": "1"}, author=ME, expect=head.sha)
    assert made is not None
    return made
