"""The links and submodules of a tree are listed with where they lead."""

from __future__ import annotations

from pathlib import Path

from burnish.git import run
from burnish.git.objects import list_links
from testing.gitworld import GitWorld
from testing.userrepo import UserRepo


def test_links_are_listed_with_their_targets_and_submodules_as_outside(tmp_path: Path, hermetic: Path) -> None:
    repo = UserRepo.make(tmp_path / "repo", {"app.py": "x = 1\n", "fake/__init__.py": ""})
    (repo.path / "pytest").symlink_to("fake")
    (repo.path / "out").symlink_to("/usr/share")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.git('rev-parse', 'HEAD').strip()},attr")
    repo.git("add", "pytest", "out")
    repo.git("commit", "-qm", "links")
    world = GitWorld.make(repo, hermetic / "burnish")
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    project = world.workspace().project
    found = list_links(project, tree)
    assert found == {"app.py": "", "attr": "/", "fake/__init__.py": "", "out": "/usr/share", "pytest": "fake"}
    found.clear()
    run.calls.reset()
    assert list_links(project, tree)["pytest"] == "fake"
    assert run.calls.total == 0, "the tree is remembered, and a caller cannot change it"
