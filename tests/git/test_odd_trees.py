"""What an author leaves behind that git or the file system refuse: it is taken, or the failure names the cause."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from burnish.errors import PhaseFailed
from burnish.git.checkout import may_have_gitlinks
from burnish.git.diff import SIZE_ARGS, read_size
from testing.gitworld import GitWorld, commit
from testing.other_user import as_ordinary_user, open_directory
from testing.userrepo import UserRepo


@pytest.mark.representatives(1)
@pytest.mark.parametrize("closed", [".", "sub", "app.py", ".git"])
def test_work_behind_rights_that_the_author_took_away_is_committed(closed: str) -> None:
    with open_directory() as root:

        def work() -> list[str]:
            os.environ.update(HOME=str(root), BURNISH_HOME=str(root / "home"))
            world = GitWorld.make(UserRepo.make(root / "repo"), root / "home")
            workspace = world.workspace()
            (workspace.path / "sub").mkdir()
            (workspace.path / "sub" / "new.py").write_text("x = 1\n")
            (workspace.path / "app.py").write_text("y = 1\n")
            (workspace.path / closed).chmod(0)
            workspace.collect_agent_git("1-implement")
            made = commit(workspace)
            (workspace.path / closed).chmod(0)
            workspace.reset_to(made.sha, base=world.base)
            return workspace.files(made.sha)

        assert {"app.py", "sub/new.py"} <= set(as_ordinary_user(work))


@pytest.mark.representatives(1)
@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-32", "no-such-encoding"])
def test_a_file_that_does_not_fit_its_encoding_is_named_and_kept(world: GitWorld, encoding: str) -> None:
    workspace = world.workspace()
    (workspace.path / ".gitattributes").write_text(f"*.py working-tree-encoding={encoding}\n")
    (workspace.path / "app.py").write_bytes(b"y = 1\n")
    (workspace.path / "other.txt").write_text("kept\n")
    head = workspace.head()
    assert head is not None
    with pytest.raises(PhaseFailed) as failed:
        commit(workspace)
    assert failed.value.what.startswith("app.py cannot be committed: .gitattributes sets working-tree-encoding=")
    assert "burnish retry" in failed.value.hint

    ref = workspace.rescue("1-implement")
    assert ref is not None
    kept = world.repo.git("rev-parse", ref).strip()
    assert workspace.read(kept, ["app.py", "other.txt"]) == {"app.py": b"y = 1\n", "other.txt": b"kept\n"}
    workspace.reset_to(head.sha, base=world.base)
    assert not workspace.is_dirty()


def test_attributes_that_an_author_left_do_not_change_the_files_that_are_laid(world: GitWorld) -> None:
    workspace = world.workspace()
    head = workspace.head()
    assert head is not None
    before = (workspace.path / "app.py").read_bytes()
    (workspace.path / ".gitattributes").write_text("*.py text eol=crlf\n")
    (workspace.path / "app.py").write_text("y = 1\n")
    workspace.reset_to(head.sha, base=world.base)
    assert (workspace.path / "app.py").read_bytes() == before
    assert not workspace.is_dirty()


def test_a_file_that_fits_its_encoding_is_committed_as_git_does(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / ".gitattributes").write_text("*.txt working-tree-encoding=UTF-16\n")
    (workspace.path / "a.txt").write_bytes("hello\n".encode("utf-16"))
    made = commit(workspace)
    assert workspace.read(made.sha, ["a.txt"]) == {"a.txt": b"hello\n"}


@pytest.fixture
def world(user_repo: UserRepo, tmp_path: Path) -> GitWorld:
    return GitWorld.make(user_repo, tmp_path / "home" / "burnish")


@pytest.mark.parametrize(("field", "expected"), [(20, False), (24, True)])
def test_a_file_number_that_looks_like_the_mode_of_a_submodule_is_none(
    tmp_path: Path, field: int, expected: bool
) -> None:
    index = tmp_path / "index"
    entry = bytearray(72)
    entry[field : field + 4] = bytes((0, 0, 0xE0, 0))
    index.write_bytes(b"DIRC" + (2).to_bytes(4) + (1).to_bytes(4) + entry)
    assert may_have_gitlinks(index) is expected


def test_the_size_of_a_change_counts_renamed_and_binary_files_once(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / "old.txt").write_text("".join(f"line {number}\n" for number in range(20)))
    start = commit(workspace)
    (workspace.path / "old.txt").rename(workspace.path / "1\t2\tnew.txt")
    with (workspace.path / "1\t2\tnew.txt").open("a") as file:
        file.write("one more\n")
    (workspace.path / "picture.bin").write_bytes(b"\0\1\2")
    (workspace.path / "app.py").write_text("y = 1\ny = 2\n")
    end = commit(workspace)
    files, additions, deletions = read_size(workspace.project.git(*SIZE_ARGS, start.tree, end.tree).stdout)
    change = workspace.changes(start.sha, end.sha)
    assert files == len(change.files) == 3
    assert (additions, deletions) == (3, 2)
