"""What an author sees at the path of the user's checkout."""

from __future__ import annotations

from pathlib import Path

from burnish.adapters.checks.trees import author_view
from testing.gitworld import GitWorld
from testing.userrepo import UserRepo


def test_a_link_in_place_of_the_workspaces_git_file_is_not_mounted(tmp_path: Path) -> None:
    """bubblewrap would follow it, and show the author its target with the right to write."""
    project = GitWorld.make(UserRepo.make(tmp_path / "repo", {"app.py": "x = 1\n"}), tmp_path / "home").project
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (workspace / ".git").write_text("gitdir: elsewhere\n")
    places = [mount.target for mount in author_view(project, (), workspace, tmp_path / "scratch").mounts]
    assert places == [project.root, project.root / ".git"]

    (workspace / ".git").unlink()
    (workspace / ".git").symlink_to(outside)
    places = [mount.target for mount in author_view(project, (), workspace, tmp_path / "scratch").mounts]
    assert places == [project.root]
