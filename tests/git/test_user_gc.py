"""The user's own git gc, prune and repack while burnish works: nothing that burnish needs is lost, nothing breaks."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnish.git import kept_packs, publishing
from burnish.git import run as git_run
from burnish.git.artifacts import commit_artifacts, read_artifact
from burnish.git.kept_packs import KEEP_TEXT, list_packs, pack_folder
from burnish.git.publishing import maintain, publish
from testing.gitworld import GitWorld, commit

PRUNE_ALL: tuple[tuple[str, ...], ...] = (
    ("gc", "--prune=now", "-q"),
    ("repack", "-a", "-d", "-q"),
    ("prune", "--expire=now"),
    ("worktree", "prune", "--expire=now"),
)


def before_each_process(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Real git does the work; only the moment before each of its processes is used."""
    real = git_run.capture

    def capture(*args: Any, **kwargs: Any) -> Any:
        act()
        return real(*args, **kwargs)

    monkeypatch.setattr(git_run, "capture", capture)


@pytest.mark.representatives(1)
@pytest.mark.parametrize("words", PRUNE_ALL, ids=lambda words: words[0])
def test_the_users_git_may_prune_before_each_git_process(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    before_each_process(monkeypatch, lambda: world.repo.git(*words))
    workspace = world.workspace()
    for number in range(2):
        (workspace.path / "sub").mkdir(exist_ok=True)
        (workspace.path / "sub" / "file").write_text(f"content {number}\n")
        made = commit(workspace)
        commit_artifacts(world.project, "refs/burnish/artifacts/1-task", {f"1/{number}.md": b"text"}, message="x")
    (workspace.path / "unsaved").write_text("to be rescued\n")
    rescued = workspace.rescue("2-improve")

    assert workspace.head() == made and rescued
    world.repo.git(*words)
    assert world.repo.git("show", f"{workspace.branch}:sub/file") == "content 1"
    assert world.repo.git("show", f"{rescued}:unsaved") == "to be rescued"
    assert read_artifact(world.project, "refs/burnish/artifacts/1-task", "1/1.md") == b"text"
    world.repo.git("fsck", "--strict", "--no-dangling")


@pytest.mark.long
@pytest.mark.parametrize("words", PRUNE_ALL, ids=lambda words: words[0])
def test_the_users_git_may_prune_while_a_pack_is_copied(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    real, moments = kept_packs.sync_file, []

    def sync(descriptor: int) -> None:
        real(descriptor)
        # every part was written under its temporary name, and has not got its own yet
        moments.append(descriptor)
        world.repo.git(*words)

    monkeypatch.setattr(kept_packs, "sync_file", sync)
    workspace = world.workspace()
    (workspace.path / "file").write_text("content\n")
    made = commit(workspace)
    assert len(moments) >= 2 and workspace.head() == made
    world.repo.git("fsck", "--strict", "--no-dangling")


def test_a_prune_that_looked_at_the_refs_before_deletes_nothing_of_the_commit(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / "file").write_text("content\n")
    made = commit(workspace)
    # what such a prune deletes: every loose object, and every pack without a .keep that no ref led to
    for file in world.project.user_objects.glob("??/*"):
        assert file.parent.name + file.name not in {made.sha, made.tree}
    assert world.repo.git("rev-list", "--objects", workspace.branch, "^main")
    assert any(pack.has(made.sha) and pack.has(made.tree) for pack in list_packs(world.project))
    assert not any(pack.has("f" * 40) or pack.has("0" * 40) for pack in list_packs(world.project))


def commit_often(world: GitWorld, count: int) -> None:
    workspace = world.workspace()
    for number in range(count):
        (workspace.path / "file").write_text(f"content {number}\n")
        commit(workspace)


@pytest.mark.slow
def test_packs_are_merged_and_the_users_packs_stay(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "MAX_PACKS", 4)
    world.repo.git("repack", "-a", "-d", "-q")
    users = {file.name: file.read_bytes() for file in pack_folder(world.project).iterdir()}
    assert users
    commit_often(world, 30)
    assert len(list_packs(world.project)) <= 5
    assert {name: (pack_folder(world.project) / name).read_bytes() for name in users} == users
    assert not list(world.project.user_objects.glob("??/*"))
    assert len(world.repo.git("rev-list", "main..burnish/1-task").split()) == 30
    world.repo.git("fsck", "--strict", "--no-dangling")


def test_a_pack_that_a_multi_pack_index_names_is_not_merged_away(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_often(world, 4)
    world.repo.git("multi-pack-index", "write")
    before = {pack.index.name for pack in list_packs(world.project)}
    monkeypatch.setattr(publishing, "MAX_PACKS", 2)
    maintain(world.project)
    assert before <= {pack.index.name for pack in list_packs(world.project)}
    world.repo.git("multi-pack-index", "verify")


@pytest.mark.long
@pytest.mark.parametrize("part", [".idx", ".rev", ".pack", ".keep"])
def test_a_merge_that_is_killed_while_it_removes_packs_loses_nothing(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    commit_often(world, 5)
    real = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == part and path.parent == pack_folder(world.project):
            raise KeyboardInterrupt
        real(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            maintain(world.project)
    world.repo.git("fsck", "--strict", "--no-dangling")
    world.repo.git("gc", "--prune=now", "-q")
    for file in pack_folder(world.project).glob("*.keep"):
        os.utime(file, (time.time() - 7200,) * 2)
    maintain(world.project)
    whole = {pack.index.stem for pack in list_packs(world.project)}
    assert {file.stem for file in pack_folder(world.project).glob("*.keep")} == whole
    assert len(world.repo.git("rev-list", "main..burnish/1-task").split()) == 5
    world.repo.git("fsck", "--strict", "--no-dangling")


def test_a_keep_of_the_users_is_not_taken_for_our_own(world: GitWorld) -> None:
    commit_often(world, 2)
    world.repo.git("gc", "-q")
    (users,) = {f.stem for f in pack_folder(world.project).glob("*.pack")} - {
        pack.index.stem for pack in list_packs(world.project)
    }
    (pack_folder(world.project) / f"{users}.keep").write_text("mine\n")
    maintain(world.project)
    assert (pack_folder(world.project) / f"{users}.idx").is_file()
    assert len(list_packs(world.project)) == 1
    assert KEEP_TEXT.startswith(b"burnish")


def test_a_commit_is_published_once(world: GitWorld) -> None:
    commit_often(world, 1)
    before = [pack.index for pack in list_packs(world.project)]
    publish(world.project, world.repo.git("rev-parse", "burnish/1-task"))
    publish(world.project, world.base.commit)
    assert [pack.index for pack in list_packs(world.project)] == before


def test_own_copies_of_published_objects_are_dropped_after_a_while(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "MAX_LOOSE_FILES", 1)
    commit_often(world, 3)
    files = list(world.project.objects.glob("??/*"))
    maintain(world.project)
    assert all(file.is_file() for file in files)
    for file in files:
        os.utime(file, (time.time() - 7200,) * 2)
    unpublished = world.project.git("hash-object", "-w", "--stdin", stdin=b"not yet", durable=False).stdout.decode()
    maintain(world.project)
    left = [file.parent.name + file.name for file in world.project.objects.glob("??/*")]
    assert left == [unpublished.strip()]
    commit_again = world.workspace(create=False)
    assert commit_again.head() is not None


def test_a_disk_that_is_full_while_a_pack_is_copied_leaves_no_half_of_it(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    from burnish.core.status import ErrorCode
    from burnish.errors import PhaseFailed

    workspace = world.workspace()
    (workspace.path / "file").write_text("content\n")

    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(kept_packs.shutil, "copyfileobj", full)
        with pytest.raises(PhaseFailed) as caught:
            commit(workspace)
    assert caught.value.code == ErrorCode.DISK_FULL
    assert list_packs(world.project) == [] and not list(pack_folder(world.project).glob(".burnish-*"))
    assert commit(workspace).sha
    subprocess.run(["git", "fsck", "--strict", "--no-dangling"], cwd=world.repo.path, check=True, capture_output=True)
