"""A new workspace shares the blocks of a clean tree where the file system can. Real btrfs, which only root mounts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.core.commit import Base
from burnish.git import shared_blocks
from burnish.git.checkout import TaskTree, check_out_files
from burnish.git.discovery import discover
from burnish.git.objects import read_commit
from burnish.git.project import Project, open_project
from burnish.git.workspace import GitWorkspace
from testing.power import disk, why_no_disk
from testing.userrepo import UserRepo

FILES = 40
SIZE = 200_000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if why := why_no_disk("btrfs"):
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("btrfs")
    with disk(folder / "image", folder / "place", "btrfs") as mounted:
        yield mounted


@pytest.fixture
def project(place: Path, request: pytest.FixtureRequest) -> Iterator[Project]:
    folder = place / request.node.name[:40]
    repo = UserRepo.make(folder / "repo")
    for number in range(FILES):
        target = repo.path / f"folder-{number % 3}" / f"ä {number}.bin"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(os.urandom(SIZE))
    (repo.path / "run.sh").write_text("#!/bin/sh\n")
    (repo.path / "run.sh").chmod(0o755)
    (repo.path / "link").symlink_to("run.sh")
    (repo.path / ".gitignore").write_text("*.o\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "many")
    yield open_project(discover(repo.path), home=folder / "home", key="p")
    shutil.rmtree(folder)


def clean_tree(project: Project, commit: str) -> TaskTree:
    tree = TaskTree.of(project, "spare", project.own.parent / "trees" / "one")
    tree.path.mkdir(parents=True)
    tree.index.parent.mkdir(exist_ok=True)
    check_out_files(project, tree.index, tree.path, commit, everything=True)
    return tree


def used(place: Path) -> int:
    os.sync()
    found = os.statvfs(place)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def make_workspace(project: Project, tree: TaskTree | None, name: str = "1-x") -> tuple[GitWorkspace, Base]:
    commit = read_commit(project, head(project))
    base = Base(commit.sha, commit.tree, "main")
    workspace = GitWorkspace(project, project.own.parent / "workspaces" / name, name, clean_tree=tree)
    workspace.create(base)
    return workspace, base


def head(project: Project) -> str:
    return UserRepo(project.root).git("rev-parse", "HEAD").strip()


def test_a_new_workspace_takes_disk_space_only_for_what_differs(project: Project, place: Path) -> None:
    tree = clean_tree(project, head(project))
    before = used(place)
    workspace, _ = make_workspace(project, tree)
    assert used(place) - before < FILES * SIZE / 10
    assert not workspace.is_dirty()
    assert (workspace.path / "run.sh").stat().st_mode & 0o111 and (workspace.path / "link").is_symlink()
    (workspace.path / "folder-0" / "ä 0.bin").write_bytes(b"other")
    assert workspace.is_dirty() and (tree.path / "folder-0" / "ä 0.bin").stat().st_size == SIZE


def test_git_reads_no_file_of_the_copy_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, base = make_workspace(project, clean_tree(project, head(project)))
    before = {path: path.lstat().st_ctime_ns for path in workspace.path.rglob("*.bin")}
    index = workspace.index.read_bytes()
    workspace.project.git("update-index", "-q", "--refresh", index=workspace.index, work_tree=workspace.path)
    assert workspace.index.read_bytes() == index
    workspace.reset_to(base.commit, base=base)
    assert {path: path.lstat().st_ctime_ns for path in workspace.path.rglob("*.bin")} == before


def test_what_was_written_into_the_tree_does_not_reach_the_workspace(project: Project) -> None:
    """Also if times and size are those of the original: the time of the change cannot be set."""
    tree = clean_tree(project, head(project))
    victim = tree.path / "folder-1" / "ä 1.bin"
    before, content = victim.stat(), victim.read_bytes()
    victim.write_bytes(b"x" * SIZE)
    os.utime(victim, ns=(before.st_atime_ns, before.st_mtime_ns))
    (tree.path / "left.o").write_text("ignored")
    (tree.path / "folder-1" / "new.py").write_text("untracked")
    workspace, _ = make_workspace(project, tree)
    assert (workspace.path / "folder-1" / "ä 1.bin").read_bytes() == content
    assert not (workspace.path / "left.o").exists() and not (workspace.path / "folder-1" / "new.py").exists()
    assert not workspace.is_dirty()


def test_the_tree_of_another_commit_is_brought_up_to_date(project: Project) -> None:
    tree = clean_tree(project, head(project))
    root = project.root
    (root / "run.sh").write_text("#!/bin/sh\nexit 1\n")
    UserRepo(root).git("commit", "-qam", "newer")
    workspace, _ = make_workspace(project, tree)
    assert "exit 1" in (workspace.path / "run.sh").read_text() and not workspace.is_dirty()


@pytest.mark.parametrize("what", ["no reflink", "cp fails", "an index of version 4"])
def test_without_shared_blocks_all_files_are_written(
    project: Project, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = clean_tree(project, head(project))
    if what == "no reflink":
        monkeypatch.setattr(shared_blocks, "_FICLONE", 0)
    elif what == "cp fails":
        monkeypatch.setattr(shared_blocks, "_copy_files", lambda source, target: (target / "half").touch() or False)
    else:
        project.git("update-index", "--index-version", "4", index=tree.index, work_tree=tree.path)
    workspace, _ = make_workspace(project, tree)
    assert not workspace.is_dirty() and len(list(workspace.path.rglob("*.bin"))) == FILES
