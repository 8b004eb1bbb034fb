"""Repositories as people really have them."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from burnish.agents.registry import PROJECT_FILES
from burnish.errors import BadInput, BurnishError, PhaseFailed
from burnish.git.base import resolve_base, uncommitted
from burnish.git.discovery import discover
from burnish.git.project import open_project
from burnish.git.snapshot import snapshot
from testing.gitworld import ME, GitWorld, commit
from testing.userrepo import UserRepo

ODD = [
    "with space",
    "new\nline",
    'qu"ote',
    "-dash",
    "tab\there",
    "back\\slash",
    ":(top)x",
    "*",
    "ünïcode",
    b"\xff\xfe.bin",
]


def go_round(world: GitWorld) -> None:
    """The whole way once: work, commit, diff, snapshot, put right; the user notices nothing."""
    before = world.repo.fingerprint()
    workspace = world.workspace()
    assert not workspace.is_dirty()
    (workspace.path / "made.txt").write_text("made\n")
    made = commit(workspace)
    assert workspace.changes(world.base.commit, made.sha).paths == ("made.txt",)
    with snapshot(
        workspace, made.sha, base=world.base, path=world.home / "snap" / "1", from_base=PROJECT_FILES
    ) as files:
        assert (files.path / "made.txt").read_text() == "made\n"
        assert files.breaches() == []
    (workspace.path / "made.txt").write_text("spoiled\n")
    workspace.reset_to(made.sha, base=world.base)
    assert not workspace.is_dirty()
    plain = UserRepo(workspace.path)
    assert plain.git("status", "--porcelain") == ""
    assert plain.git("rev-parse", "HEAD") == made.sha
    assert plain.git("rev-parse", "--abbrev-ref", "HEAD") == workspace.branch
    world.repo.git("fsck", "--strict", "--no-dangling")
    assert world.repo.fingerprint() == before


def test_odd_names_survive_the_whole_way(world: GitWorld, hermetic: Path) -> None:
    workspace = world.workspace()
    root = os.fsencode(workspace.path)
    for name in ODD:
        Path(os.fsdecode(root + b"/" + os.fsencode(name))).write_text("first\n")
    first = commit(workspace)
    names = sorted(os.fsdecode(name) for name in ODD)
    assert sorted(workspace.changes(world.base.commit, first.sha).paths) == names
    assert sorted(set(workspace.files(first.sha)) - {"app.py"}) == names
    assert set(workspace.read(first.sha, names).values()) == {b"first\n"}

    for name in ODD:
        Path(os.fsdecode(root + b"/" + os.fsencode(name))).write_text("second\n")
    second = commit(workspace)
    changed = workspace.changes(first.sha, second.sha)
    assert sorted(changed.paths) == names
    assert all(file.added == 1 and file.removed == 1 for file in changed.files)
    assert world.repo.git("show", f"{second.sha}:with space") == "second"


def test_no_commits_yet_says_what_to_do(tmp_path: Path, hermetic: Path) -> None:
    repo = UserRepo(tmp_path / "empty")
    repo.path.mkdir()
    repo.git("init", "-q")
    project = open_project(discover(repo.path), home=hermetic / "b", key="k")
    with pytest.raises(BurnishError, match="no commits yet") as caught:
        resolve_base(project, None)
    assert caught.value.exit_code == 3
    assert "commit" in caught.value.hint
    assert uncommitted(project) == 0


def test_a_detached_head_is_a_base_without_a_target(user_repo: UserRepo, hermetic: Path) -> None:
    user_repo.git("checkout", "-q", "--detach")
    world = GitWorld.make(user_repo, hermetic / "b")
    assert world.base.target is None
    go_round(world)


def test_a_linked_worktree_is_a_checkout_like_any_other(user_repo: UserRepo, tmp_path: Path, hermetic: Path) -> None:
    linked = tmp_path / "linked"
    user_repo.git("worktree", "add", "-q", "-b", "feature", str(linked))
    UserRepo(linked).commit({"linked.txt": "here\n"})
    world = GitWorld.make(user_repo, hermetic / "b", checkout=linked)
    assert world.project.root == linked.resolve()
    assert world.project.common_dir == (user_repo.path / ".git").resolve()
    assert world.base.target == "feature"
    before = UserRepo(linked).fingerprint()
    go_round(world)
    assert UserRepo(linked).fingerprint() == before
    assert (world.workspace("2-other").path / "linked.txt").exists()


def test_a_shallow_clone_works_and_stays_shallow(user_repo: UserRepo, tmp_path: Path, hermetic: Path) -> None:
    user_repo.commit({"b.txt": "b\n"})
    user_repo.git("clone", "-q", "--depth=1", f"file://{user_repo.path}", str(tmp_path / "shallow"))
    shallow = UserRepo(tmp_path / "shallow")
    world = GitWorld.make(shallow, hermetic / "b")
    go_round(world)
    workspace = world.workspace("2-again")
    assert UserRepo(workspace.path).git("log", "--oneline").count("\n") == 0


def test_sha256_objects_are_written_in_kind(tmp_path: Path, hermetic: Path) -> None:
    repo = UserRepo.make(tmp_path / "long", {"a.txt": "a\n"}, "--object-format=sha256")
    world = GitWorld.make(repo, hermetic / "b")
    assert len(world.base.commit) == 64
    go_round(world)


def test_a_sparse_checkout_does_not_thin_the_workspace(tmp_path: Path, hermetic: Path) -> None:
    repo = UserRepo.make(tmp_path / "sparse", {"in/a.txt": "a\n", "out/b.txt": "b\n"})
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
    assert not (repo.path / "out").exists()
    world = GitWorld.make(repo, hermetic / "b")
    assert uncommitted(world.project) == 0
    go_round(world)
    assert (world.workspace("2-full").path / "out" / "b.txt").read_text() == "b\n"


def test_a_split_index_is_only_read(user_repo: UserRepo, hermetic: Path) -> None:
    user_repo.git("update-index", "--split-index")
    user_repo.write({"app.py": "changed\n"})
    world = GitWorld.make(user_repo, hermetic / "b")
    before = user_repo.fingerprint()
    assert uncommitted(world.project) == 1
    assert user_repo.fingerprint() == before


def test_settings_of_the_user_do_not_leak_in(user_repo: UserRepo, hermetic: Path) -> None:
    for key, value in {"core.fileMode": "false", "core.autocrlf": "true", "core.sparseCheckout": "true"}.items():
        user_repo.git("config", key, value)
    world = GitWorld.make(user_repo, hermetic / "b")
    workspace = world.workspace()
    assert (workspace.path / "app.py").read_bytes().count(b"\r") == 0
    (workspace.path / "app.py").chmod(0o755)
    made = commit(workspace)
    assert workspace.changes(world.base.commit, made.sha).files[0].new_mode == "100755"


@pytest.fixture
def with_submodule(tmp_path: Path) -> UserRepo:
    library = UserRepo.make(tmp_path / "library", {"lib.py": "lib = 1\n", "deep/x.txt": "x\n"})
    repo = UserRepo.make(tmp_path / "outer", {"app.py": "app = 1\n"})
    repo.git("submodule", "add", "-q", "--name", "named", str(library.path), "vendor/lib")
    repo.commit({}, "submodule")
    return repo


def test_submodules_are_there_as_plain_files(with_submodule: UserRepo, hermetic: Path) -> None:
    world = GitWorld.make(with_submodule, hermetic / "b")
    workspace = world.workspace()
    assert (workspace.path / "vendor/lib/lib.py").read_text() == "lib = 1\n"
    assert not (workspace.path / "vendor/lib/.git").exists()
    (workspace.path / "vendor/lib/lib.py").write_text("spoiled\n")
    (workspace.path / "vendor/lib/new.py").write_text("new\n")
    assert not workspace.is_dirty()
    go_round(world)
    assert (workspace.path / "vendor/lib/lib.py").read_text() == "lib = 1\n"
    assert not (workspace.path / "vendor/lib/new.py").exists()
    assert with_submodule.git("ls-tree", workspace.ref, "vendor/lib").startswith("160000 commit")


def test_a_submodule_never_fetched_is_an_empty_folder(with_submodule: UserRepo, tmp_path: Path, hermetic: Path) -> None:
    with_submodule.git("clone", "-q", str(with_submodule.path), str(tmp_path / "clone"))
    world = GitWorld.make(UserRepo(tmp_path / "clone"), hermetic / "b")
    workspace = world.workspace()
    assert list((workspace.path / "vendor/lib").iterdir()) == []
    go_round(world)


def test_a_checkout_of_a_submodule_is_a_project_of_its_own(with_submodule: UserRepo, hermetic: Path) -> None:
    inner = with_submodule.path / "vendor/lib"
    found = discover(inner / "deep")
    assert found.root == inner.resolve()
    world = GitWorld.make(UserRepo(inner), hermetic / "b", checkout=inner)
    workspace = world.workspace()
    assert (workspace.path / "lib.py").exists()
    (workspace.path / "lib.py").write_text("lib = 2\n")
    commit(workspace)


@pytest.mark.parametrize("with_commit", [True, False])
def test_a_repository_made_inside_is_committed_as_files(world: GitWorld, with_commit: bool) -> None:
    workspace = world.workspace()
    (workspace.path / ".gitignore").write_text("*.log\n")
    inner = UserRepo(workspace.path / "fixtures" / "repo")
    inner.path.mkdir(parents=True)
    inner.git("init", "-q")
    inner.write({"a.txt": "a\n", "deep/b.txt": "b\n", "noise.log": "n\n"})
    if with_commit:
        inner.commit({})

    made = commit(workspace)

    assert set(workspace.files(made.sha)) == {"app.py", ".gitignore", "fixtures/repo/a.txt", "fixtures/repo/deep/b.txt"}
    assert not workspace.is_dirty()
    inner.write({"a.txt": "changed\n", "c.txt": "c\n"})
    again = commit(workspace)
    assert set(workspace.changes(made.sha, again.sha).paths) == {"fixtures/repo/a.txt", "fixtures/repo/c.txt"}


def test_links_modes_binaries_and_renames_are_told_apart(world: GitWorld) -> None:
    workspace = world.workspace()
    text = "".join(f"line {n}\n" for n in range(40))
    for name, content in {"old.txt": text, "tool.sh": "#!/bin/sh\n", "turns.txt": "file\n"}.items():
        (workspace.path / name).write_text(content)
    (workspace.path / "blob.bin").write_bytes(b"\0\1\2")
    (workspace.path / "link").symlink_to("old.txt")
    first = commit(workspace)

    (workspace.path / "old.txt").rename(workspace.path / "new.txt")
    (workspace.path / "new.txt").write_text(text.replace("line 7\n", "line seven\n"))
    (workspace.path / "tool.sh").chmod(0o755)
    (workspace.path / "turns.txt").unlink()
    (workspace.path / "turns.txt").symlink_to("tool.sh")
    (workspace.path / "blob.bin").write_bytes(b"\0\3")
    (workspace.path / "link").unlink()
    (workspace.path / "latin.txt").write_bytes(b"caf\xe9\n")
    second = commit(workspace)

    change = workspace.changes(first.sha, second.sha)
    seen = {file.path: file for file in change.files}
    assert (seen["new.txt"].status, seen["new.txt"].old_path) == ("R", "old.txt")
    assert seen["new.txt"].added == seen["new.txt"].removed == 1
    assert (seen["tool.sh"].old_mode, seen["tool.sh"].new_mode) == ("100644", "100755")
    assert seen["turns.txt"].status == "T" and seen["turns.txt"].is_symlink
    assert seen["turns.txt"].added == seen["turns.txt"].removed == 1
    assert seen["blob.bin"].binary and not seen["blob.bin"].hunks
    assert seen["link"].status == "D"
    assert "café" in seen["latin.txt"].hunks[0].text and "latin-1" in seen["latin.txt"].note
    assert set(seen) == {"new.txt", "tool.sh", "turns.txt", "blob.bin", "link", "latin.txt"}


def test_files_and_folders_may_change_places(world: GitWorld, tmp_path: Path) -> None:
    workspace = world.workspace()
    root = workspace.path
    (root / "folder").mkdir()
    for name in ("folder/a", "folder/b", "file", "linked/x"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("1\n")
    commit(workspace)

    shutil.rmtree(root / "folder")
    (root / "folder").write_text("now a file\n")
    (root / "file").unlink()
    (root / "file").mkdir()
    (root / "file" / "inside").write_text("2\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("not ours\n")
    shutil.rmtree(root / "linked")
    (root / "linked").symlink_to(outside)
    made = commit(workspace)

    assert set(workspace.files(made.sha)) == {"app.py", "folder", "file/inside", "linked"}
    assert workspace.read(made.sha, ["linked"])["linked"] == os.fsencode(outside)


def test_pipes_and_unreadable_files_stop_nobody(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / "app.py").unlink()
    os.mkfifo(workspace.path / "app.py")
    os.mkfifo(workspace.path / "pipe")
    (workspace.path / "locked").mkdir()
    (workspace.path / "locked" / "f").write_text("f\n")
    (workspace.path / "locked" / "f").chmod(0)
    (workspace.path / "locked").chmod(0)
    made = commit(workspace)
    assert workspace.files(made.sha) == ["locked/f"]
    assert stat.S_ISFIFO((workspace.path / "pipe").lstat().st_mode)


def test_names_that_git_refuses_are_left_out(world: GitWorld) -> None:
    workspace = world.workspace()
    for name in (".GIT", "git~1"):
        (workspace.path / "sub" / name).mkdir(parents=True)
        (workspace.path / "sub" / name / "config").write_text("x\n")
    (workspace.path / "fine").write_text("x\n")
    (workspace.path / ".git.sh").write_text("x\n")
    made = commit(workspace)
    assert set(workspace.files(made.sha)) == {"app.py", "fine", ".git.sh"}


def test_large_file_pointers_stay_and_the_real_thing_is_refused(tmp_path: Path, hermetic: Path) -> None:
    if shutil.which("git-lfs"):
        pytest.skip("git-lfs is installed: its filter does the work")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 5\n"
    repo = UserRepo.make(
        tmp_path / "lfs", {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.bin": pointer}
    )
    world = GitWorld.make(repo, hermetic / "b")
    go_round(world)
    workspace = world.workspace("2-large")
    assert (workspace.path / "a.bin").read_text() == pointer
    (workspace.path / "b.bin").write_bytes(b"\0" * 5000)
    with pytest.raises(PhaseFailed, match="Git LFS") as caught:
        workspace.commit("x", {}, author=ME, expect=world.base.commit)
    assert "git-lfs" in caught.value.hint


def test_a_hostile_attribute_cannot_hide_text_as_binary(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / ".gitattributes").write_text("* binary -diff\n")
    (workspace.path / "evil.py").write_text("steal()\n")
    made = commit(workspace)
    shown = workspace.changes(world.base.commit, made.sha).file("evil.py")
    assert shown is not None and not shown.binary and "steal()" in shown.hunks[0].text


def test_secrets_and_the_users_ignored_files_are_not_swept_in(user_repo: UserRepo, hermetic: Path) -> None:
    (user_repo.path / ".git/info/exclude").write_text("*.private\n")
    (hermetic / ".config/git").mkdir(parents=True)
    (hermetic / ".config/git/ignore").write_text("*.swp\n")
    world = GitWorld.make(user_repo, hermetic / "b")
    workspace = world.workspace()
    for name in (".env", ".env.local", "key.pem", "x.private", "y.swp", ".env.example"):
        (workspace.path / name).write_text("x\n")
    made = commit(workspace)
    assert set(workspace.files(made.sha)) == {"app.py", ".env.example"}
    workspace.reset_to(made.sha, base=world.base)
    assert (workspace.path / ".env").exists()


@pytest.mark.parametrize("where", ["nowhere", "bare", "inside"])
def test_where_there_is_no_checkout_it_says_so(where: str, tmp_path: Path, user_repo: UserRepo) -> None:
    place = {"nowhere": tmp_path / "x", "bare": tmp_path / "bare.git", "inside": user_repo.path / ".git" / "objects"}[
        where
    ]
    place.mkdir(exist_ok=True)
    if where == "bare":
        user_repo.git("init", "-q", "--bare", str(place))
    with pytest.raises(BadInput) as caught:
        discover(place)
    assert caught.value.hint
