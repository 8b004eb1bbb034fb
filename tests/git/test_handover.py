"""The files of a verified task become those of the next one: killed at any step, nothing is lost."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish.adapters.repository import GitRepository
from burnish.core.task import Spec, Task
from testing.gitworld import ME, GitWorld
from testing.userrepo import UserRepo

# Before each of these a run may end.
STEPS = ("os.rename", "os.rmdir")
FILES = {".gitignore": "left*\n", "app.py": "x = 1\n", "folder/other.txt": "sound\n"}


@pytest.fixture
def large(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> GitWorld:
    """Every repository counts as a large one."""
    monkeypatch.setattr("burnish.adapters.repository.LARGE", 1)
    world.repo.commit(FILES)
    return GitWorld.make(world.repo, world.home)


def repository_of(world: GitWorld) -> GitRepository:
    return GitRepository(world.project, world.home, "repo", release_over_files=1)


def begin(world: GitWorld, number: int) -> Task:
    base = repository_of(world).base(None, ())
    assert base
    task = Task("repo", number, Spec(f"Task {number}"), target="main", base=base.commit)
    return replace(task, branch=f"burnish/{task.name}")


def verified(world: GitWorld, number: int) -> Task:
    """A task with one commit, whose workspace is there."""
    repository, task = repository_of(world), begin(world, number)
    workspace = repository.workspace(task)
    workspace.create(repository.base_of(task))
    (workspace.path / "app.py").write_text(f"x = 1\ny = {number}\n")
    commit = workspace.commit("feat: work", {}, author=ME, expect=str(task.base))
    assert commit
    return replace(task, commit=commit.sha)


def release(world: GitWorld, task: Task) -> None:
    """As a run does at its end."""
    repository = repository_of(world)
    assert repository.release_workspace(task, leave_files=True)
    repository.remove_spare_trees(keep_one=True)


def killed_before(step: int, action: Callable[[], None]) -> bool:
    """Carry it out in a process that is killed before its step with this number; False if it has fewer."""
    child = os.fork()
    if not child:
        steps = iter(range(step + 1))

        def hook(event: str, _args: tuple[Any, ...]) -> None:
            if event in STEPS and next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        code = 1
        try:
            action()
            code = 0
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status != 0


def files_below(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*") if ".git" not in path.parts and path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def leftovers(world: GitWorld) -> list[str]:
    """Trees and indexes without an owner."""
    places = [*(world.home / "snapshots").glob("*/*"), *(world.project.own / "index").iterdir()]
    return sorted(place.name for place in places if "spare" in place.name)


@pytest.mark.slow
def test_a_run_that_is_killed_while_it_leaves_the_files_of_a_task_loses_nothing(large: GitWorld) -> None:
    step = 0
    while True:
        task = verified(large, step + 1)
        was_killed = killed_before(step, lambda task=task: release(large, task))  # type: ignore[misc]
        repository = repository_of(large)
        repository.remove_trees(task)  # the next run begins so
        assert repository.workspace(task).tip() == task.commit, step
        assert repository.make_workspace(task), step
        workspace = repository.workspace(task)
        assert not workspace.is_dirty(), step
        expected = {**FILES, "app.py": f"x = 1\ny = {step + 1}\n"}
        found = files_below(workspace.path)
        assert {name: found.get(name) for name in expected} == expected, step
        release(large, task)
        repository.remove_kept_trees()
        assert leftovers(large) == [], step
        step += 1
        if not was_killed:
            break
    assert step > 4


@pytest.mark.slow
def test_a_run_that_is_killed_while_it_takes_the_files_of_another_task_goes_on(large: GitWorld) -> None:
    step = 0
    while True:
        first = verified(large, 2 * step + 1)
        release(large, first)
        task = begin(large, 2 * step + 2)

        def create(task: Task = task) -> None:
            repository = repository_of(large)
            repository.workspace(task).create(repository.base_of(task))

        was_killed = killed_before(step, create)
        repository = repository_of(large)
        repository.remove_trees(task)
        create()
        workspace = repository.workspace(task)
        assert not workspace.is_dirty() and workspace.exists(), step
        found = files_below(workspace.path)
        assert {name: found.get(name) for name in FILES} == FILES, step
        assert repository.workspace(first).tip() == first.commit, step
        workspace.remove()
        repository.remove_kept_trees()
        assert leftovers(large) == [], step
        step += 1
        if not was_killed:
            break
    assert step > 4


def leave_ignored(folder: Path) -> None:
    (folder / "left").write_text("x")
    (folder / "folder" / "left.pyc").write_text("x")


def leave_modes(folder: Path) -> None:
    (folder / "folder").chmod(0o777)
    (folder / "left").mkdir()
    (folder / "left" / "left").write_text("x")
    (folder / "left").chmod(0)


def leave_attributes(folder: Path) -> None:
    try:
        for name in ("", "app.py", "folder", "folder/other.txt"):
            os.setxattr(folder / name, "user.left", b"x")
    except OSError:
        pytest.skip("the file system has no extended attributes")


def leave_false_times(folder: Path) -> None:
    place = folder / "folder" / "other.txt"
    times = place.stat()
    place.write_text("wrong\n")  # as long as before
    os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))


def leave_hard_links(folder: Path) -> None:
    (folder / "folder" / "left").hardlink_to(folder / "folder" / "other.txt")
    (folder / "left").hardlink_to(folder / "app.py")


def leave_repositories(folder: Path) -> None:
    for place in (folder / "left", folder / "folder"):
        UserRepo.make(place / "new", {"a": "x"})
    UserRepo.make(folder / "folder", {"other.txt": "wrong\n"})


def facts_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """What an author can see of each file and folder, without its own `.git` and the times."""
    places = [folder, *(path for path in folder.rglob("*") if path.relative_to(folder).parts[0] != ".git")]
    return {
        str(place.relative_to(folder)): (
            place.lstat().st_mode,
            place.lstat().st_nlink,
            place.read_bytes() if place.is_file() else b"",
            os.listxattr(place),
        )
        for place in places
    }


KINDS = [
    leave_ignored,
    leave_modes,
    leave_attributes,
    leave_false_times,
    leave_hard_links,
    leave_repositories,
]


@pytest.mark.parametrize("leave", KINDS, ids=lambda one: one.__name__)
def test_nothing_that_an_author_left_reaches_the_next_one(large: GitWorld, leave: Callable[[Path], None]) -> None:
    fresh = repository_of(large).workspace(begin(large, 1))
    fresh.create(large.base)
    before = facts_of(fresh.path)
    first = verified(large, 2)
    release(large, first)
    (kept,) = (large.home / "snapshots").glob("*/.kept-files-*")
    inode = (kept / ".gitignore").stat().st_ino
    leave(kept)
    second = repository_of(large).workspace(begin(large, 3))
    second.create(large.base)
    assert facts_of(second.path) == before and not second.is_dirty()
    assert (second.path / ".gitignore").stat().st_ino == inode, "it began with the same directory"


def test_attributes_of_files_that_an_author_committed_do_not_reach_the_next_one(large: GitWorld) -> None:
    repository, task = repository_of(large), begin(large, 1)
    workspace = repository.workspace(task)
    workspace.create(repository.base_of(task))
    (workspace.path / "app.py").write_text("x = 1\ny = 1\n")
    leave_attributes(workspace.path)
    time.sleep(1.1)  # git compares whole seconds: the index is of a later one than the files
    commit = workspace.commit("feat: work", {}, author=ME, expect=str(task.base))
    assert commit
    release(large, replace(task, commit=commit.sha))
    large.repo.git("merge", "-q", task.branch or "")
    second = repository_of(large).workspace(begin(large, 2))
    second.create(replace(large.base, commit=commit.sha))
    assert (second.path / "app.py").read_text() == "x = 1\ny = 1\n"
    assert {name: os.listxattr(second.path / name) for name in ("", "app.py", "folder", "folder/other.txt")} == {
        name: [] for name in ("", "app.py", "folder", "folder/other.txt")
    }
