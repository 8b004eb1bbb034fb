"""Which two trees are compared, and that looking leaves no trace."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.errors import BadInput, BurnishError
from burnish.git.discovery import discover
from burnish.git.project import Project, is_secret
from burnish.git.review_target import CommitRange, ReviewTarget, changes, choose
from burnish.git.working_tree import checkout_tree, private_project
from testing.userrepo import UserRepo


def everything(repo: UserRepo) -> str:
    """Every byte below the checkout, the object store and the index among them."""
    digest = hashlib.sha256()
    for path in sorted(repo.path.rglob("*")):
        told = path.lstat()
        digest.update(os.fsencode(path) + f"{told.st_mode} {told.st_mtime_ns}".encode())
        if path.is_file() and not path.is_symlink():
            digest.update(path.read_bytes())
    return digest.hexdigest()


@pytest.fixture
def project(user_repo: UserRepo, tmp_path: Path) -> Project:
    return opened(user_repo, tmp_path)


def opened(repo: UserRepo, tmp_path: Path, at: Path | None = None) -> Project:
    return private_project(discover(at or repo.path), tmp_path / f"place-{len(list(tmp_path.iterdir()))}")


def paths(project: Project, wish: ReviewTarget) -> list[str]:
    return sorted(changes(project, choose(project, wish)).paths)


def asked(project: Project, kind: str = "auto", rev: str = "", base: str | None = None) -> CommitRange:
    return choose(project, ReviewTarget(kind, rev, base))


def test_uncommitted_work_comes_first_new_files_included_ignored_ones_not(
    user_repo: UserRepo, project: Project
) -> None:
    user_repo.write({".gitignore": "*.log\n", "staged.py": "s\n", "x.log": "l\n"})
    user_repo.git("add", "staged.py")
    user_repo.write({"app.py": "changed\n"})
    before = everything(user_repo)
    assert paths(project, ReviewTarget()) == [".gitignore", "app.py", "staged.py"]
    assert paths(project, ReviewTarget("dirty")) == [".gitignore", "app.py", "staged.py"]
    assert paths(project, ReviewTarget("staged")) == ["staged.py"]
    assert everything(user_repo) == before


def test_a_clean_branch_is_compared_with_where_it_left_the_default_one(user_repo: UserRepo, project: Project) -> None:
    user_repo.git("checkout", "-q", "-b", "feat")
    user_repo.commit({"a.py": "a\n"})
    user_repo.commit({"b.py": "b\n"})
    user_repo.git("checkout", "-q", "main")
    user_repo.commit({"c.py": "c\n"})
    user_repo.git("checkout", "-q", "feat")
    pair = asked(project)
    assert paths(project, ReviewTarget()) == ["a.py", "b.py"]
    assert pair.what == "branch feat, 2 commits" and pair.against.startswith("main at ")
    assert pair.checked_out


def test_on_the_default_branch_it_is_the_last_commit_or_what_was_not_pushed(
    user_repo: UserRepo, project: Project
) -> None:
    user_repo.commit({"a.py": "a\n"}, "second")
    assert paths(project, ReviewTarget()) == ["a.py"]
    assert "second" in asked(project).what
    user_repo.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
    user_repo.commit({"b.py": "b\n"})
    assert paths(project, ReviewTarget()) == ["a.py", "b.py"]
    assert asked(project).against.startswith("origin/main at ")


def test_a_stale_master_is_not_what_main_is_compared_with(user_repo: UserRepo, project: Project) -> None:
    user_repo.git("branch", "master")
    user_repo.commit({"a.py": "a\n"})
    user_repo.commit({"b.py": "b\n"})
    assert paths(project, ReviewTarget()) == ["b.py"]


def test_a_commit_is_compared_with_its_first_parent_and_the_first_one_with_nothing(
    user_repo: UserRepo, project: Project
) -> None:
    first = user_repo.git("rev-parse", "HEAD")
    user_repo.git("checkout", "-q", "-b", "side")
    user_repo.commit({"side.py": "s\n"})
    user_repo.git("checkout", "-q", "main")
    user_repo.commit({"main.py": "m\n"})
    user_repo.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    assert paths(project, ReviewTarget("rev", "HEAD")) == ["side.py"]
    assert "first parent" in asked(project, "rev", "HEAD").against
    assert paths(project, ReviewTarget("rev", first)) == ["app.py"]
    assert "first commit" in asked(project, "rev", first).against


def test_a_branch_as_revision_is_its_last_commit_and_says_so(user_repo: UserRepo, project: Project) -> None:
    user_repo.git("checkout", "-q", "-b", "feat")
    user_repo.commit({"a.py": "a\n"})
    user_repo.commit({"b.py": "b\n"})
    pair = asked(project, "rev", "feat")
    assert sorted(changes(project, pair).paths) == ["b.py"]
    assert "burnish review main...feat" in pair.note


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("text", "expected"),
    [("main..feat", ["a.py", "m.py"]), ("main...feat", ["a.py"]), ("..feat", []), ("main..", ["a.py", "m.py"])],
)
def test_ranges(user_repo: UserRepo, project: Project, text: str, expected: list[str]) -> None:
    user_repo.git("checkout", "-q", "-b", "feat")
    user_repo.commit({"a.py": "a\n"})
    user_repo.git("checkout", "-q", "main")
    user_repo.commit({"m.py": "m\n"})
    user_repo.git("checkout", "-q", "feat")
    assert paths(project, ReviewTarget("rev", text)) == expected


@pytest.mark.representatives(3)
@pytest.mark.parametrize("text", ["..", "...", "nowhere", "nowhere..main", "main..nowhere", "--output=x", "a\nb", ""])
def test_what_is_no_revision_is_refused(project: Project, text: str) -> None:
    with pytest.raises(BadInput):
        choose(project, ReviewTarget("rev", text))


def test_base_moves_the_start_of_branch_commit_and_checkout(user_repo: UserRepo, project: Project) -> None:
    user_repo.git("checkout", "-q", "-b", "dev")
    user_repo.commit({"dev.py": "d\n"})
    user_repo.git("checkout", "-q", "-b", "feat")
    user_repo.commit({"a.py": "a\n"})
    assert paths(project, ReviewTarget()) == ["a.py", "dev.py"]
    assert paths(project, ReviewTarget(base="dev")) == ["a.py"]
    user_repo.write({"new.py": "n\n"})
    assert paths(project, ReviewTarget()) == ["new.py"]
    assert paths(project, ReviewTarget(base="dev")) == ["a.py", "new.py"]
    assert paths(project, ReviewTarget("rev", "feat", "main")) == ["a.py", "dev.py"]


def test_without_a_commit_the_files_are_compared_with_nothing(tmp_path: Path) -> None:
    repo = UserRepo(tmp_path / "fresh")
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    project = opened(repo, tmp_path)
    assert paths(project, ReviewTarget()) == [] == paths(project, ReviewTarget("staged"))
    repo.write({"a.py": "a\n", "b.py": "b\n"})
    repo.git("add", "a.py")
    assert paths(project, ReviewTarget()) == ["a.py", "b.py"]
    assert paths(project, ReviewTarget("staged")) == ["a.py"]
    with pytest.raises(BadInput, match="no commits"):
        asked(project, "rev", "HEAD")


def test_a_shallow_clone_says_what_it_lacks(user_repo: UserRepo, tmp_path: Path) -> None:
    user_repo.commit({"a.py": "a\n"})
    user_repo.git("clone", "-q", "--depth", "1", f"file://{user_repo.path}", str(tmp_path / "shallow"))
    clone = UserRepo(tmp_path / "shallow")
    project = opened(clone, tmp_path)
    with pytest.raises(BurnishError, match="shallow") as caught:
        choose(project, ReviewTarget())
    assert "git fetch" in caught.value.hint
    clone.write({"b.py": "b\n"})
    assert paths(project, ReviewTarget()) == ["b.py"]


def test_linked_checkouts_and_detached_heads(user_repo: UserRepo, tmp_path: Path) -> None:
    user_repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    linked = UserRepo(tmp_path / "linked")
    linked.write({"l.py": "l\n"})
    user_repo.write({"m.py": "m\n"})
    assert paths(opened(user_repo, tmp_path, linked.path), ReviewTarget()) == ["l.py"]
    linked.commit({"l.py": "l\n"})
    linked.git("checkout", "-q", "--detach")
    assert paths(opened(user_repo, tmp_path, linked.path), ReviewTarget()) == ["l.py"]


def test_a_conflict_is_reviewed_as_it_lies_there_and_refused_as_a_staged_tree(
    user_repo: UserRepo, project: Project
) -> None:
    user_repo.git("checkout", "-q", "-b", "side")
    user_repo.commit({"app.py": "side\n"})
    user_repo.git("checkout", "-q", "main")
    user_repo.commit({"app.py": "main\n"})
    user_repo.git("merge", "-q", "side", check=False)
    assert "<<<<<<<" in changes(project, asked(project, "dirty")).text()
    with pytest.raises(BadInput, match="conflicts"):
        asked(project, "staged")


def test_a_submodule_that_moved_is_seen(user_repo: UserRepo, tmp_path: Path, project: Project) -> None:
    other = UserRepo.make(tmp_path / "other")
    user_repo.git("submodule", "add", "-q", f"file://{other.path}", "lib")
    user_repo.git("commit", "-q", "-m", "lib")
    assert "lib" in paths(project, ReviewTarget())  # the last commit
    UserRepo(user_repo.path / "lib").commit({"more.py": "m\n"})
    assert paths(project, ReviewTarget()) == ["lib"]
    assert asked(project).what == "the working tree"


def _same_size_and_time(file: Path) -> None:
    old, times = file.read_bytes(), file.stat()
    file.write_bytes(b"#" * len(old))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


CONTENT_OF_SUBMODULE = {
    "a changed file": lambda lib: lib.write({"app.py": "EVIL\n"}),
    "a new file": lambda lib: lib.write({"new.py": "EVIL\n"}),
    "a staged file": lambda lib: (lib.write({"app.py": "EVIL\n"}), lib.git("add", "-A")),
    "a deleted file": lambda lib: (lib.path / "app.py").unlink(),
    "staged only": lambda lib: (
        lib.write({"app.py": "EVIL\n"}),
        lib.git("add", "-A"),
        lib.write({"app.py": lib.git("show", "HEAD:app.py")}),
    ),
    "assumed unchanged": lambda lib: (
        lib.git("update-index", "--assume-unchanged", "app.py"),
        lib.write({"app.py": "EVIL\n"}),
    ),
    "of a nested one": lambda lib: UserRepo(lib.path / "deep").write({"new.py": "EVIL\n"}),
    "a nested one that moved": lambda lib: UserRepo(lib.path / "deep").commit({"new.py": "EVIL\n"}),
    "no repository any more": lambda lib: (lib.path / ".git").unlink(),
    "no index": lambda lib: (lib.path.parent / ".git/modules/lib/index").unlink(),
    "the old size and time": lambda lib: _same_size_and_time(lib.path / "app.py"),
}


@pytest.mark.slow
@pytest.mark.representatives(4)
@pytest.mark.parametrize("do", CONTENT_OF_SUBMODULE.values(), ids=CONTENT_OF_SUBMODULE.keys())
def test_uncommitted_content_of_a_submodule_is_listed_as_not_reviewed(
    user_repo: UserRepo, tmp_path: Path, do: Callable[[UserRepo], object]
) -> None:
    deep, other = UserRepo.make(tmp_path / "deep"), UserRepo.make(tmp_path / "other")
    other.git("submodule", "add", "-q", f"file://{deep.path}", "deep")
    other.git("commit", "-q", "-m", "deep")
    user_repo.git("submodule", "add", "-q", f"file://{other.path}", "lib")
    user_repo.git("commit", "-q", "-m", "lib")
    project, lib = opened(user_repo, tmp_path), UserRepo(user_repo.path / "lib")
    assert checkout_tree(project).submodules == ()
    lib.git("submodule", "update", "-q", "--init")
    assert checkout_tree(project).submodules == () and asked(project).left_out == ()
    do(lib)
    places = (user_repo.path / "lib", user_repo.path / ".git/modules")
    before = [everything(UserRepo(place)) for place in places]
    for kind in ("auto", "dirty"):
        pair = asked(project, kind)
        assert (pair.what, pair.left_out) == ("the working tree", ("lib",))
    assert [everything(UserRepo(place)) for place in places] == before


@pytest.mark.parametrize("staged", [False, True])
def test_a_file_with_its_old_size_and_time_is_reviewed(user_repo: UserRepo, project: Project, staged: bool) -> None:
    """Git compares whole seconds, and only burnish's git decides whether the change of the inode counts."""
    user_repo.git("config", "core.trustCtime", "false")
    file = user_repo.path / "app.py"
    old, times = file.read_bytes(), file.stat()
    os.utime(file, (times.st_atime - 60, times.st_mtime - 60))
    user_repo.git("update-index", "--refresh")
    times = file.stat()
    file.write_bytes(b"#" * len(old))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    if staged:
        user_repo.write({"new.py": "x = 1\n"})
        user_repo.git("add", "new.py")
    before = everything(user_repo)
    assert paths(project, ReviewTarget("dirty")) == ["app.py", *(["new.py"] if staged else [])]
    assert everything(user_repo) == before


def _signed(index: bytes) -> bytes:
    return index + hashlib.sha1(index).digest()


def _with_false_times(index: bytes, name: str, file: Path) -> bytes:
    """The index with the times and the size of the file as it is now, and the old hash."""
    found, start = file.stat(), index.index(name.encode() + b"\0") - 62
    times = [part for ns in (found.st_ctime_ns, found.st_mtime_ns) for part in divmod(ns, 10**9)]
    numbers = (*times, found.st_dev & 0xFFFFFFFF, found.st_ino & 0xFFFFFFFF, 0o100644, found.st_uid, found.st_gid)
    stat = struct.pack(">10L", *numbers, found.st_size)
    return _signed(index[:start] + stat + index[start + 40 : -20])


@pytest.mark.attacks("hide a change by an index with false times", 2)
@pytest.mark.parametrize("is_in_submodule", [False, True])
def test_a_change_behind_an_index_with_false_times_is_reviewed(
    user_repo: UserRepo, tmp_path: Path, is_in_submodule: bool
) -> None:
    root, git_dir = user_repo.path, user_repo.path / ".git"
    if is_in_submodule:
        other = UserRepo.make(tmp_path / "other")
        user_repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "lib")
        user_repo.git("commit", "-qm", "lib")
        root, git_dir = root / "lib", git_dir / "modules" / "lib"
    text = (root / "app.py").read_text()
    (root / "app.py").write_text(text.replace("a + b", "a - b"))
    index = git_dir / "index"
    index.write_bytes(_with_false_times(index.read_bytes(), "app.py", root / "app.py"))
    later = time.time() + 10
    os.utime(index, (later, later))
    # the control: git itself is deceived
    assert subprocess.run(["git", "-C", root, "status", "-s"], capture_output=True, check=True).stdout == b""
    project = private_project(discover(user_repo.path), tmp_path / "false")
    taken = checkout_tree(project, user_repo.git("rev-parse", "HEAD"))
    if is_in_submodule:
        assert taken.submodules == ("lib",)
    else:
        assert "a - b" in project.git("cat-file", "blob", f"{taken.tree}:app.py").stdout.decode()


@pytest.mark.attacks("hide a change by an index with false trees", 2)
def test_a_change_behind_an_index_with_false_trees_is_reviewed_or_refused(
    user_repo: UserRepo, project: Project
) -> None:
    index = user_repo.path / ".git" / "index"
    user_repo.git("write-tree")
    data = index.read_bytes()
    trees = data[data.index(b"TREE") : -20]
    user_repo.write({"app.py": "import evil\n"})
    user_repo.git("add", "app.py")
    data = index.read_bytes()
    index.write_bytes(_signed(data[: data.index(b"TREE")] + trees))
    head = user_repo.git("rev-parse", "HEAD^{tree}")
    assert user_repo.git("write-tree") == head, "the control: git itself is deceived"
    assert asked(project, "dirty").new.tree != head
    with pytest.raises(BadInput, match="The index is damaged"):
        asked(project, "staged")


def test_files_of_a_filter_and_converted_line_ends_are_not_changes(user_repo: UserRepo, project: Project) -> None:
    user_repo.write({".gitattributes": "*.key filter=crypt\n", "a.key": "plain text\n", "b.txt": "x\r\n"})
    user_repo.git("config", "filter.crypt.clean", "tr a-z n-za-m")
    user_repo.git("add", ".")
    user_repo.git("commit", "-qm", "files of a filter")
    user_repo.write({".gitattributes": "*.key filter=crypt\n*.txt text\n"})
    user_repo.git("add", ".gitattributes")
    user_repo.git("commit", "-qm", "line ends")
    index = user_repo.path / ".git" / "index"
    later = time.time() + 10
    os.utime(index, (later, later))
    head = user_repo.git("rev-parse", "HEAD")
    taken = checkout_tree(project, head).tree
    assert project.git("diff-tree", "-r", "--name-only", head, taken).stdout == b""


@pytest.mark.attacks("hide a change by a filter of its own", 1)
def test_a_change_cannot_declare_a_filter_for_itself(user_repo: UserRepo, project: Project) -> None:
    text = (user_repo.path / "app.py").read_text()
    user_repo.write({"app.py": text.replace("a + b", "a - b"), ".gitattributes": "app.py filter=crypt\n"})
    index = user_repo.path / ".git" / "index"
    index.write_bytes(_with_false_times(index.read_bytes(), "app.py", user_repo.path / "app.py"))
    later = time.time() + 10
    os.utime(index, (later, later))
    taken = checkout_tree(project, user_repo.git("rev-parse", "HEAD"))
    assert "a - b" in project.git("cat-file", "blob", f"{taken.tree}:app.py").stdout.decode()


def test_new_files_that_look_like_secrets_are_left_out_by_name(user_repo: UserRepo, project: Project) -> None:
    user_repo.write({".env": "KEY=1\n", ".env.example": "KEY=\n", "deep/id_rsa": "x\n", "a.py": "a\n"})
    taken = checkout_tree(project)
    assert taken.secrets == (".env", "deep/id_rsa")
    assert paths(project, ReviewTarget()) == [".env.example", "a.py"]
    assert is_secret("a/.env.local") and not is_secret(".envrc") and not is_secret("a/.env.example")


def test_odd_names_are_only_names(user_repo: UserRepo, project: Project) -> None:
    names = [
        "sp ace",
        "new\nline",
        ":(top)x",
        "-n",
        "tab\t",
        "quote\"'",
        b"\xff\xfe".decode("utf-8", "surrogateescape"),
    ]
    for name in names:
        (user_repo.path / name).write_text("x\n")
    before = everything(user_repo)
    assert paths(project, ReviewTarget()) == sorted(names)
    assert everything(user_repo) == before


def test_nothing_is_written_into_the_users_object_store(user_repo: UserRepo, project: Project) -> None:
    user_repo.write({"big.py": "x = 1\n" * 1000})
    before = everything(user_repo)
    for wish in (
        ReviewTarget(),
        ReviewTarget("dirty"),
        ReviewTarget("staged"),
        ReviewTarget("rev", "HEAD"),
        ReviewTarget("rev", "main..HEAD"),
    ):
        changes(project, choose(project, wish))
    assert everything(user_repo) == before


def test_line_ends_that_git_would_convert_are_no_change(user_repo: UserRepo, tmp_path: Path) -> None:
    user_repo.git("config", "core.autocrlf", "true")
    (user_repo.path / "app.py").write_bytes(b"def add(a, b):\r\n    return a - b\r\n")
    change = changes(project := opened(user_repo, tmp_path), choose(project, ReviewTarget()))
    assert [(file.added, file.removed) for file in change.files] == [(1, 1)]


def test_in_a_commit_hook_the_index_of_that_commit_is_meant(
    user_repo: UserRepo, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_repo.write({"app.py": "changed\n"})
    assert paths(project, ReviewTarget("staged")) == []
    index = user_repo.path / ".git" / "next-index-1.lock"
    index.write_bytes((user_repo.path / ".git" / "index").read_bytes())
    monkeypatch.setenv("GIT_INDEX_FILE", str(index))
    subprocess.run(["git", "update-index", "app.py"], cwd=user_repo.path, check=True)
    assert paths(project, ReviewTarget("staged")) == ["app.py"]
    monkeypatch.setenv("GIT_INDEX_FILE", "/etc/passwd")
    assert paths(project, ReviewTarget("staged")) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_named_and_its_rights_stay(user_repo: UserRepo, project: Project) -> None:
    user_repo.write({"closed.py": "x\n", "open.py": "x\n"})
    (user_repo.path / "closed.py").chmod(0)
    pair = asked(project)
    assert (
        pair.taken and pair.taken.unreadable == ("closed.py",) and sorted(changes(project, pair).paths) == ["open.py"]
    )
    assert (user_repo.path / "closed.py").stat().st_mode & 0o777 == 0


def test_a_repository_inside_the_checkout_is_another_projects_business(user_repo: UserRepo, project: Project) -> None:
    UserRepo.make(user_repo.path / "deps" / "other", {"pkg/x.py": "x\n"})
    user_repo.write({"deps/mine.py": "m\n"})
    assert paths(project, ReviewTarget()) == ["deps/mine.py"]
    assert checkout_tree(project).nested == ("deps/other",)


@pytest.mark.parametrize("name", [".git.sh", ".git x.py", "git~1.py", ".GIT.d/a.py", "sub/.git-run"])
@pytest.mark.parametrize("tracked", [False, True])
def test_a_file_whose_name_only_begins_like_the_git_folder_is_reviewed(
    user_repo: UserRepo, project: Project, name: str, tracked: bool
) -> None:
    if tracked:
        user_repo.commit({name: "fine\n"})
    user_repo.write({name: "EVIL\n"})
    assert paths(project, ReviewTarget("dirty")) == [name]


@pytest.mark.parametrize("name", ["git~1", "sub/GIT~1", ".git."])
def test_a_file_with_a_name_that_git_refuses_is_listed_as_not_reviewed(
    user_repo: UserRepo, project: Project, name: str
) -> None:
    user_repo.write({name: "EVIL\n", "open.py": "x\n"})
    pair = asked(project)
    assert pair.taken and pair.taken.unreadable == (name,)
    assert list(changes(project, pair).paths) == ["open.py"]


def test_what_was_left_out_is_named_where_nothing_else_changed(user_repo: UserRepo, project: Project) -> None:
    user_repo.write({"git~1": "x\n"})
    (user_repo.path / "deps").mkdir()
    UserRepo.make(user_repo.path / "deps" / "other", {"x.py": "x\n"}).write({"new.py": "x\n"})
    pair = asked(project)
    assert pair.what.startswith("commit ") and pair.taken
    assert (pair.taken.unreadable, pair.taken.nested) == (("git~1",), ("deps/other",))


def test_what_a_program_installed_does_not_drown_the_rest(user_repo: UserRepo, project: Project) -> None:
    user_repo.write({"web/node_modules/p/i.js": "i\n", "a/__pycache__/x.pyc": "x\n", "web/a.js": "a\n"})
    user_repo.write({"env/pyvenv.cfg": "home = x\n", "env/bin/python": "x\n"})
    assert paths(project, ReviewTarget()) == ["web/a.js"]
    assert checkout_tree(project).installed == ("a/__pycache__", "env", "web/node_modules")
    user_repo.commit({"web/node_modules/p/i.js": "i\n"})
    user_repo.write({"web/node_modules/p/i.js": "patched\n"})
    assert "web/node_modules/p/i.js" in paths(project, ReviewTarget())  # tracked: somebody wants it there


@pytest.mark.representatives(1)
@pytest.mark.parametrize("option", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_git_status_is_told_to_skip_is_reviewed(user_repo: UserRepo, project: Project, option: str) -> None:
    user_repo.commit({"absent.py": "x\n"}, "one more")
    user_repo.write({"app.py": "EVIL\n", "ok.py": "x = 1\n"})
    user_repo.git("update-index", option, "app.py")
    user_repo.git("update-index", "--skip-worktree", "absent.py")
    (user_repo.path / "absent.py").unlink()
    before = everything(user_repo)
    assert paths(project, ReviewTarget()) == ["app.py", "ok.py"]
    assert everything(user_repo) == before


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "attributes",
    ["*.sh working-tree-encoding=UTF-16BE\n", "[attr]other working-tree-encoding=UTF-16BE\n*.sh other\n"],
    ids=["plain", "macro"],
)
def test_a_file_that_a_checkout_re_encodes_is_described(user_repo: UserRepo, project: Project, attributes: str) -> None:
    user_repo.write({".gitattributes": attributes, "run.sh": "EVIL", "a.py": "x = 1\n"})
    hidden = {file.path: file.hidden.type for file in changes(project, asked(project)).files if file.hidden}
    assert hidden.keys() == {".gitattributes", "run.sh"}
    assert hidden["run.sh"] == "text that git writes to a checkout as UTF-16BE"


ENCODED = "*.sh working-tree-encoding=UTF-16BE\n"
MACRO = "[attr]wide working-tree-encoding=UTF-16BE\n"


@pytest.mark.parametrize(
    ("root", "before", "after"),
    [
        (MACRO, None, "*.sh wide\n"),
        (f"\ufeff{MACRO}", None, "*.sh wide\n"),
        (f"{MACRO}*.sh wide\n", "*.sh -wide\n", None),
        (ENCODED, "*.sh -working-tree-encoding\n", None),
        (ENCODED, "*.sh -working-tree-encoding\n", "*.sh text\n"),
    ],
    ids=["macro used", "macro after a mark", "macro no longer withdrawn", "deleted", "replaced"],
)
def test_attributes_that_change_the_encoding_of_other_files_are_described(
    user_repo: UserRepo, project: Project, root: str, before: str | None, after: str | None
) -> None:
    """A file that did not change becomes another program in a checkout."""
    other = {"d/.gitattributes": before} if before else {}
    user_repo.commit({".gitattributes": root, "d/a.py": "x = 1\n", **other}, "base")
    if after:
        user_repo.commit({"d/.gitattributes": after}, "change")
    else:
        user_repo.git("rm", "-q", "d/.gitattributes")
        user_repo.git("commit", "-q", "-m", "change")
    (file,) = changes(project, asked(project, "range", "HEAD", "HEAD~1")).files
    assert file.hidden and file.hidden.type.startswith("attributes that make git re-encode")
    assert file.hidden.hash.strip("git:0")


def test_attributes_that_moved_away_are_described(user_repo: UserRepo, project: Project) -> None:
    user_repo.commit({"d/.gitattributes": f"# long enough to be found again\n{ENCODED}"}, "base")
    user_repo.git("mv", "d/.gitattributes", "d/old-attributes")
    user_repo.git("commit", "-q", "-m", "change")
    (file,) = changes(project, asked(project, "range", "HEAD", "HEAD~1")).files
    assert file.status == "R" and file.hidden


def test_other_attributes_are_text_beside_those_of_an_encoding(user_repo: UserRepo, project: Project) -> None:
    user_repo.commit({".gitattributes": f"{ENCODED}[attr]plain -text\n"}, "base")
    user_repo.commit({"d/.gitattributes": "*.py plain\n"}, "change")
    (file,) = changes(project, asked(project, "range", "HEAD", "HEAD~1")).files
    assert file.hidden is None and "*.py plain" in file.hunks[0].text


@pytest.mark.representatives(1)
@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
@pytest.mark.parametrize("megabytes", [5, 17])
def test_an_encoding_that_a_large_file_declares_is_noticed(
    user_repo: UserRepo, project: Project, megabytes: int, packed: bool
) -> None:
    large = "x = 1  # aaaaaaaaaaaaaaaaaaaaaaaa\n" * (megabytes * 31_000)
    user_repo.commit({"a.py": f"# coding: utf_7\n{large}"}, "base")
    user_repo.commit({"a.py": f"# coding: utf_7\n{large}# +AAo-EVIL()\n"}, "change")
    if packed:
        user_repo.git("repack", "-adq", "--window=0")
    (file,) = changes(project, asked(project, "range", "HEAD", "HEAD~1")).files
    assert file.hidden and not file.hunks


def test_utf_8_as_the_encoding_of_a_checkout_is_plain_text(user_repo: UserRepo, project: Project) -> None:
    user_repo.commit({".gitattributes": "*.sh working-tree-encoding=UTF-8\n*.py -working-tree-encoding\n"}, "base")
    user_repo.write({"run.sh": "x\n", "a.py": "x = 1\n", "odd\nfolder/a.sh": "x\n"})
    change = changes(project, asked(project))
    assert len(change.files) == 3 and not any(file.hidden for file in change.files)


def test_staged_content_that_the_file_no_longer_has_is_named_or_reviewed(user_repo: UserRepo, project: Project) -> None:
    before = (user_repo.path / "app.py").read_text()
    (user_repo.path / "app.py").write_text("staged = True\n")
    user_repo.git("add", "app.py")
    (user_repo.path / "app.py").write_text(before)
    alone = asked(project)
    assert alone.what == "what is staged" and "staged = True" in changes(project, alone).text()

    (user_repo.path / "other.py").write_text("x = 1\n")
    for pair in (asked(project), asked(project, "dirty")):
        assert pair.what == "the working tree" and pair.taken and pair.taken.staged == ("app.py",)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize("mode", [0o000, 0o111, 0o333])
def test_a_folder_that_cannot_be_listed_is_named(user_repo: UserRepo, project: Project, mode: int) -> None:
    user_repo.write({"closed/new.py": "x\n", "app.py": "changed\n"})
    closed = user_repo.path / "closed"
    closed.chmod(mode)
    try:
        found = asked(project, "dirty")
    finally:
        closed.chmod(0o755)
    assert found.taken is not None
    assert found.taken.unreadable == ("closed/",)


def test_a_folder_with_too_long_a_path_is_named(user_repo: UserRepo, project: Project) -> None:
    user_repo.write({"app.py": "changed\n"})
    here = os.open(user_repo.path, os.O_RDONLY)
    for _ in range(25):  # one path of 5,000 bytes cannot be created at once
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("new.py", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)
    found = asked(project, "dirty")
    assert found.taken is not None
    assert [path[:200] for path in found.taken.unreadable] == ["d" * 200]
