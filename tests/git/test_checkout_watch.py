"""What changed in the user's checkout meanwhile: named, whatever it is, and not what changes all the time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from burnish.git import run
from burnish.git.checkout_watch import changed_checkouts, read_checkouts
from burnish.git.discovery import discover, list_checkouts
from testing.gitworld import GitWorld


def test_every_kind_of_change_is_named_and_what_git_ignores_is_not(world: GitWorld) -> None:
    user_repo, project = world.repo, world.project
    user_repo.commit({"app.py": "1\n", "lib/a.py": "2\n", "lib/gone.py": "3\n", ".gitignore": "*.pyc\n"})
    tracked = ["app.py", "lib/a.py", "lib/gone.py", ".gitignore"]
    fingerprint = user_repo.fingerprint()
    run.calls.reset()
    before = read_checkouts(project, tracked)
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == []
    assert run.calls.total == 0 and user_repo.fingerprint() == fingerprint

    user_repo.write({"lib/a.py": "other\n", "lib/new.py": "", "lib/x.pyc": "", ".env": "K=1\n"})
    (user_repo.path / "lib/gone.py").unlink()
    (user_repo.path / ".git/hooks").mkdir(exist_ok=True)
    (user_repo.path / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
    user_repo.git("branch", "other")
    user_repo.git("branch", "burnish/1-task")
    user_repo.git("status")

    named = [".env", ".git/hooks/pre-commit", ".git/refs/heads/other", "lib/a.py", "lib/gone.py", "lib/new.py"]
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == named


def test_a_file_whose_size_and_time_are_as_before_is_named(world: GitWorld) -> None:
    user_repo, project = world.repo, world.project
    user_repo.commit({"app.py": "1\n"})
    file = user_repo.path / "app.py"
    before, was = read_checkouts(project, ["app.py"]), file.stat()
    user_repo.write({"app.py": "2\n"})
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))

    assert (file.stat().st_size, file.stat().st_mtime_ns) == (was.st_size, was.st_mtime_ns)
    assert changed_checkouts(project, before, read_checkouts(project, ["app.py"]), ["app.py"]) == ["app.py"]


def test_every_file_of_settings_in_the_git_folder_is_watched(world: GitWorld, tmp_path: Path) -> None:
    user_repo, project = world.repo, world.project
    user_repo.commit({"app.py": "1\n"})
    user_repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    before = read_checkouts(project, ["app.py"])
    folder = user_repo.path / ".git"
    (folder / "info").mkdir(exist_ok=True)
    names = ["config", "config.worktree", "info/attributes", "info/exclude", "worktrees/other/config.worktree"]
    for name in names:
        with (folder / name).open("a") as file:
            file.write("# more\n")

    changed = changed_checkouts(project, before, read_checkouts(project, ["app.py"]), ["app.py"])
    assert changed == [f".git/{name}" for name in names]


def test_the_users_gc_is_not_a_change_of_branches_and_one_behind_it_is(world: GitWorld) -> None:
    user_repo, project = world.repo, world.project
    user_repo.commit({"app.py": "1\n"})
    user_repo.git("branch", "other")
    user_repo.write({"app.py": "2\n"})
    user_repo.git("stash")
    before = read_checkouts(project, ["app.py"])
    user_repo.git("gc", "-q")
    packed = (user_repo.path / ".git/packed-refs").read_text()
    assert "refs/heads/other" in packed and "refs/stash" in packed
    lock = user_repo.path / ".git/refs/heads/other.lock"
    lock.write_text("")  # as by a command of the user's at this moment
    assert changed_checkouts(project, before, read_checkouts(project, ["app.py"]), ["app.py"]) == []
    lock.unlink()
    user_repo.git("branch", "-D", "other")
    user_repo.git("stash", "drop", "-q")
    named = [".git/refs/heads/other", ".git/refs/stash"]
    assert changed_checkouts(project, before, read_checkouts(project, ["app.py"]), ["app.py"]) == named


def test_other_work_trees_of_the_repository_are_watched_too(world: GitWorld, tmp_path: Path) -> None:
    user_repo, project = world.repo, world.project
    user_repo.commit({"app.py": "1\n", ".gitignore": "*.pyc\n"})
    tracked, other = ["app.py", ".gitignore"], tmp_path / "other"
    user_repo.git("worktree", "add", "-q", "--detach", str(other))
    before = read_checkouts(project, tracked)
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == []
    (other / "app.py").write_text("changed\n")
    (other / "x.pyc").write_text("ignored")
    (other / "new.py").write_text("new")
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == [
        f"{other}/app.py",
        f"{other}/new.py",
    ]
    before = read_checkouts(project, tracked)
    user_repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "third"))
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == [f"{tmp_path}/third/"]


def test_checkouts_are_found_from_each_of_them_wherever_their_places_are_written(
    world: GitWorld, tmp_path: Path
) -> None:
    user_repo, other = world.repo, tmp_path / "other"
    user_repo.git("worktree", "add", "-q", "--detach", str(other))
    assert list_checkouts(discover(other).common_dir) == [user_repo.path, other]
    pointer = user_repo.path / ".git" / "worktrees" / "other" / "gitdir"
    pointer.write_text(os.path.relpath(other / ".git", pointer.parent) + "\n")
    assert list_checkouts(discover(user_repo.path).common_dir) == [user_repo.path, other]
    shutil.rmtree(other)
    assert list_checkouts(discover(user_repo.path).common_dir) == [user_repo.path]


def test_files_in_folders_without_tracked_files_are_watched_and_ignored_ones_are_not(world: GitWorld) -> None:
    user_repo, project = world.repo, world.project
    user_repo.commit({"src/lib/a.py": "1\n", ".gitignore": "/installed/\n*.pyc\n"})
    user_repo.write({"notes/old.md": "1\n", "notes/deep/er/b.sh": "1\n", "installed/x/y.py": "1\n"})
    user_repo.git("init", "-q", str(user_repo.path / "notes/other"))
    tracked = ["src/lib/a.py", ".gitignore"]
    before = read_checkouts(project, tracked)
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == []

    changes = (
        "notes/deep/er/b.sh",
        "notes/x.pyc",
        "src/new.py",
        "installed/x/y.py",
        "notes/other/z",
        "new/a/b",
        "new/c",
    )
    user_repo.write(dict.fromkeys(changes, "2\n"))
    (user_repo.path / "notes/old.md").unlink()
    named = ["new", "notes/deep/er/b.sh", "notes/old.md", "src/new.py"]
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == named


def test_with_too_many_untracked_files_only_those_are_compared_that_were_read_twice(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.git.checkout_watch.MAX_UNTRACKED", 30)
    user_repo, project = world.repo, world.project
    user_repo.commit({"app.py": "1\n"})
    user_repo.write({f"data/{folder}/{number}": "1" for folder in "bcdef" for number in range(10)})
    before = read_checkouts(project, ["app.py"])
    assert before.cut == {""}
    user_repo.write({"data/a/1": "1", "data/b/1": "2", "new.py": "2", "app.py": "2"})
    changed = changed_checkouts(project, before, read_checkouts(project, ["app.py"]), ["app.py"])
    assert changed == ["app.py", "data/b/1", "new.py"]


def test_the_index_counts_by_its_entries_and_tags_by_what_they_point_to(world: GitWorld) -> None:
    user_repo, project = world.repo, world.project
    user_repo.commit({"app.py": "1\n", "b.py": "1\n"})
    user_repo.git("tag", "packed")
    user_repo.git("pack-refs", "--all")
    index, tracked = user_repo.path / ".git/index", ["app.py", "b.py"]

    def changed_by(*command: str) -> list[str]:
        before = read_checkouts(project, tracked)
        user_repo.git(*command)
        return changed_checkouts(project, before, read_checkouts(project, tracked), tracked)

    os.utime(user_repo.path / "app.py", (1, 1))
    before, data = read_checkouts(project, tracked), index.read_bytes()
    user_repo.git("status")
    assert index.read_bytes() != data
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == []
    assert changed_by("update-index", "--assume-unchanged", "b.py") == [".git/index"]
    assert changed_by("rm", "-q", "--cached", "app.py") == [".git/index"]
    assert changed_by("tag", "new") == [".git/refs/tags/new"]
    assert changed_by("tag", "-d", "packed") == [".git/refs/tags/packed"]
    blob, other = user_repo.git("rev-parse", "HEAD:b.py"), user_repo.git("rev-parse", "HEAD^{tree}")
    assert changed_by("replace", "-f", blob, other) == [f".git/refs/replace/{blob}"]


def test_a_change_of_a_split_index_is_named(world: GitWorld) -> None:
    user_repo, project = world.repo, world.project
    user_repo.commit({"app.py": "1\n", "b.py": "1\n"})
    user_repo.git("update-index", "--split-index")
    tracked = ["app.py", "b.py"]
    before = read_checkouts(project, tracked)
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == []
    user_repo.git("update-index", "--assume-unchanged", "b.py")
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == [".git/index"]


def test_a_deleted_folder_that_has_tracked_files_is_named_although_git_ignores_it(world: GitWorld) -> None:
    user_repo, project = world.repo, world.project
    user_repo.commit({".gitignore": "build\n", "app.py": "1\n"})
    user_repo.write({"build/kept.txt": "1\n"})
    user_repo.git("add", "-f", "build/kept.txt")
    user_repo.git("commit", "-qm", "kept")
    tracked = [".gitignore", "app.py", "build/kept.txt"]
    before = read_checkouts(project, tracked)
    shutil.rmtree(user_repo.path / "build")
    assert changed_checkouts(project, before, read_checkouts(project, tracked), tracked) == ["build"]


def test_too_many_untracked_files_in_one_checkout_hide_nothing_in_another(
    world: GitWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.git.checkout_watch.MAX_UNTRACKED", 10)
    user_repo, project = world.repo, world.project
    user_repo.commit({"app.py": "1\n"})
    other = tmp_path / "other"
    user_repo.git("worktree", "add", "-q", "--detach", str(other))
    user_repo.write({f"data/{folder}/{number}": "1" for folder in "bcdef" for number in range(10)})
    before = read_checkouts(project, ["app.py"])
    assert before.cut == {""}
    (other / "new.py").write_text("1\n")
    assert changed_checkouts(project, before, read_checkouts(project, ["app.py"]), ["app.py"]) == [f"{other}/new.py"]
