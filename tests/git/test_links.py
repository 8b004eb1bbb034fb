"""The links and submodules of a tree are listed with where they lead."""

from __future__ import annotations

from pathlib import Path

from burnish.git import run
from burnish.git.objects import list_entries, list_files, list_links
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


def test_the_files_of_a_tree_are_listed_by_its_differences_from_the_last_one(world: GitWorld) -> None:
    world.repo.commit({"a.c": "1\n", "a/b": "1\n", "z": "1\n"})
    first = world.repo.git("rev-parse", "HEAD").strip()
    (world.repo.path / "a" / "b").chmod(0o755)
    (world.repo.path / "z").unlink()
    (world.repo.path / "z").mkdir()
    world.repo.commit({"a-b": "2\n", "a.c": "2\n", "z/é": "2\n"})
    second = world.repo.git("rev-parse", "HEAD").strip()
    for commit in (first, second, first):
        listing = world.repo.git("ls-tree", "-r", "-z", commit).split("\0")[:-1]
        expected = [tuple(record.split("\t")[::-1]) for record in listing]
        assert list(list_entries(world.project, commit).items()) == expected
        assert list(list_files(world.project, commit)) == [path for path, _ in expected]
