"""A reviewer gets the tree of the checks: as committed, and reset where a program could have written to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from burnish.adapters.checks.environments import CheckEnvironment
from burnish.adapters.checks.trees import check_tree
from burnish.git.checkout import TaskTree
from burnish.git.files import copy_index
from burnish.git.snapshot import SnapshotFolder, snapshot
from burnish.proc.mounts import overlay_works
from burnish.proc.sandbox import Sandbox
from testing.bubblewrap import needs_bubblewrap
from testing.gitworld import GitWorld
from testing.userrepo import UserRepo

FILES = {".gitignore": "*.log\n", "app.py": "x = 1\n", "folder/other.txt": "sound\n"}
WRITES = "echo bad >app.py; echo bad >new.py; echo bad >left.log; rm folder/other.txt"


class ReviewedTask:
    """One task whose checks and reviewers use the same tree in turn."""

    def __init__(self, world: GitWorld) -> None:
        self.world, self.workspace = world, world.workspace()
        self.tree = TaskTree.of(world.project, self.workspace.name, world.home / "snapshots" / "repo" / "1-task")
        self.out = world.home / "out"
        self.out.mkdir()

    def check(self, *, is_confined: bool = True, adds_files: bool = False) -> None:
        """A check that writes to all files that it sees."""
        project, home = self.world.project, Path(os.environ["HOME"])
        sandbox = Sandbox(home, project.root, self.world.home) if is_confined else None
        place, env = self.world.home / "throwaway" / "check", {"PATH": "/usr/bin:/bin", "HOME": str(home)}
        with check_tree(
            project,
            self.world.base.commit,
            place,
            CheckEnvironment(""),
            sandbox,
            task_tree=self.tree,
            adds_files=adds_files,
        ) as tree:
            folder = tree.path if is_confined else tree.files
            argv: tuple[str, ...] = ("/bin/sh", "-c", f"cd '{folder}'; {WRITES}")
            if is_confined:
                argv = tree.confined_argv(argv, "check", env, self.out)
            done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            assert (tree.uppers.get("check", tree.files) / "app.py").read_text() == "bad\n"
            if adds_files:
                (tree.files / "copied.log").write_text("of the checkout\n")

    def review(self) -> AbstractContextManager[SnapshotFolder]:
        base = self.world.base
        return snapshot(self.workspace, base.commit, base=base, path=self.tree.path, from_base=())

    def is_reset(self) -> bool:
        """Whether git wrote the index again before the reviewer began. The files are as committed in any case."""
        before = self.tree.index.stat().st_ino if self.tree.index.exists() else None
        with self.review() as folder:
            assert contents(folder.path) == FILES
            assert folder.breaches() == []
        return self.tree.index.stat().st_ino != before


def contents(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*") if ".git" not in path.parts and path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


@pytest.fixture
def task(tmp_path: Path, hermetic: Path) -> ReviewedTask:
    needs_bubblewrap()
    if not overlay_works(tmp_path):
        pytest.skip("no overlays here")
    return ReviewedTask(GitWorld.make(UserRepo.make(tmp_path / "repo", FILES), hermetic / "burnish"))


def test_a_check_in_an_overlay_leaves_the_tree_of_the_reviewer_as_committed(task: ReviewedTask) -> None:
    task.check()
    assert not task.is_reset()


def test_a_tree_is_reset_after_each_reviewer(task: ReviewedTask) -> None:
    task.check()
    with task.review() as folder:
        # a reviewer without a sandbox can do this
        (folder.path / "app.py").write_text("bad\n")
        (folder.path / "left.log").write_text("bad\n")
    assert task.is_reset()


def test_a_tree_is_reset_if_checks_ran_without_a_sandbox(task: ReviewedTask) -> None:
    task.check()
    task.check(is_confined=False)
    assert task.is_reset()


def test_a_tree_is_reset_if_checks_ran_without_an_overlay(task: ReviewedTask, monkeypatch: pytest.MonkeyPatch) -> None:
    task.check()
    monkeypatch.setattr("burnish.adapters.checks.trees.overlay_works", lambda folder: False)
    task.check()
    assert task.is_reset()


def test_a_tree_is_reset_if_files_were_copied_into_it_for_the_checks(task: ReviewedTask) -> None:
    task.check(adds_files=True)
    assert (task.tree.path / "copied.log").exists()
    assert task.is_reset()


def replace_files(tree: TaskTree) -> None:
    """Another folder, with the same index."""
    tree.path.rename(tree.path.with_name("aside"))
    tree.path.mkdir(mode=0o700)
    (tree.path / "app.py").write_text("bad\n")
    (tree.path / "left.log").write_text("bad\n")


def replace_index(tree: TaskTree) -> None:
    """The same content and mtime in another file, beside a file that changed."""
    copy = tree.index.with_name("copy")
    copy_index(tree.index, copy)
    copy.replace(tree.index)
    (tree.path / "app.py").write_text("bad\n")


def remove_index(tree: TaskTree) -> None:
    tree.index.unlink()
    (tree.path / "app.py").write_text("bad\n")


def remove_all(tree: TaskTree) -> None:
    tree.remove()


def hand_over_and_back(tree: TaskTree) -> None:
    """As for another task of the same run, whose programs may have written to it."""
    other = TaskTree(tree.path.with_name("other"), tree.index.with_name("other"))
    assert tree.hand_over(other)
    (other.path / "app.py").write_text("bad\n")
    assert other.hand_over(tree)


@pytest.mark.parametrize("change", [replace_files, replace_index, remove_index, remove_all, hand_over_and_back])
def test_a_tree_that_is_not_the_one_of_the_checks_is_reset(
    task: ReviewedTask, change: Callable[[TaskTree], None]
) -> None:
    task.check()
    change(task.tree)
    assert task.is_reset()


def test_a_tree_of_another_commit_is_reset(task: ReviewedTask) -> None:
    task.check()
    task.world.repo.commit({"app.py": "x = 2\n"})
    other = GitWorld.make(task.world.repo, task.world.home)
    with snapshot(
        other.workspace("1-task", create=False), other.base.commit, base=other.base, path=task.tree.path, from_base=()
    ) as folder:
        assert contents(folder.path) == {**FILES, "app.py": "x = 2\n"}
