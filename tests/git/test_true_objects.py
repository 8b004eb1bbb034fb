"""A review of a checkout believes neither objects with false content nor what git stores about commits."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.errors import BadInput, BurnishError
from burnish.git.discovery import discover
from burnish.git.project import Project
from burnish.git.review_target import ReviewTarget, changes, choose
from burnish.git.working_tree import private_project
from testing.userrepo import UserRepo

EVIL, GOOD = b"x = 1\nEVIL\n", b"x = 1\nGOOD\n"


@pytest.fixture
def project(user_repo: UserRepo, tmp_path: Path) -> Project:
    return private_project(discover(user_repo.path), tmp_path / "place")


def shown(project: Project, kind: str = "auto", rev: str = "", base: str | None = None) -> str:
    change = changes(project, choose(project, ReviewTarget(kind, rev, base)))
    return "".join(hunk.text for file in change.files for hunk in file.hunks)


def commit(repo: UserRepo, files: dict[str, str]) -> str:
    repo.write(files)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "change")
    return str(repo.git("rev-parse", "HEAD"))


def replace_loose(repo: UserRepo, name: str, kind: str, data: bytes) -> None:
    file = repo.path / ".git/objects" / name[:2] / name[2:]
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_bytes(zlib.compress(f"{kind} {len(data)}".encode() + b"\0" + data))


def raw(repo: UserRepo, kind: str, name: str) -> bytes:
    return subprocess.run(["git", "cat-file", kind, name], cwd=repo.path, capture_output=True, check=True).stdout


def forge_pack(repo: UserRepo, name: str, data: bytes) -> None:
    """A pack whose index has the name for other content."""
    folder = repo.path / ".git/objects/pack"
    (repo.path / "other").write_bytes(data)
    other = repo.git("hash-object", "-w", "other")
    (repo.path / "other").unlink()
    argv = ["git", "pack-objects", "-q", str(folder / "pack")]
    made = subprocess.run(argv, cwd=repo.path, input=f"{other}\n".encode(), capture_output=True, check=True)
    index = folder / f"pack-{made.stdout.decode().strip()}.idx"
    table = bytearray(index.read_bytes()[:-20])
    counts = [int(number >= int(name[:2], 16)) for number in range(256)]
    table[8:1032] = struct.pack(">256I", *counts)
    table[1032:1052] = bytes.fromhex(name)
    index.unlink()
    index.write_bytes(bytes(table) + hashlib.sha1(table, usedforsecurity=False).digest())


@pytest.mark.parametrize("kind", ["auto", "dirty", "staged"])
def test_uncommitted_work_behind_an_object_with_other_content_is_refused(
    user_repo: UserRepo, project: Project, kind: str
) -> None:
    (user_repo.path / "new.py").write_bytes(EVIL)
    user_repo.git("add", "new.py")
    assert "EVIL" in shown(project, kind)
    replace_loose(user_repo, user_repo.git("rev-parse", ":new.py"), "blob", GOOD)
    with pytest.raises(BurnishError, match="does not have the content that its name"):
        shown(project, kind)


@pytest.mark.parametrize("forge", [lambda *args: replace_loose(args[0], args[1], "blob", args[2]), forge_pack])
def test_a_commit_with_an_object_of_other_content_is_refused(
    user_repo: UserRepo, project: Project, forge: Callable[[UserRepo, str, bytes], None]
) -> None:
    commit(user_repo, {"new.py": EVIL.decode()})
    assert "EVIL" in shown(project, "rev", "HEAD")
    forge(user_repo, user_repo.git("rev-parse", "HEAD:new.py"), GOOD)
    with pytest.raises(BurnishError, match="does not have the content that its name"):
        shown(project, "rev", "HEAD")


def test_a_tree_with_other_entries_is_refused(user_repo: UserRepo, project: Project) -> None:
    before = raw(user_repo, "tree", "HEAD^{tree}")
    commit(user_repo, {"new.py": EVIL.decode(), "app.py": "changed\n"})
    tree = user_repo.git("rev-parse", "HEAD^{tree}")
    replace_loose(user_repo, tree, "tree", before)
    with pytest.raises(BurnishError):
        shown(project, "rev", "HEAD")


def test_a_commit_of_the_history_with_another_parent_is_refused(user_repo: UserRepo, project: Project) -> None:
    old = commit(user_repo, {"m.py": "m\n"})
    commit(user_repo, {"n.py": "n\n"})
    user_repo.git("checkout", "-qb", "feature")
    evil = commit(user_repo, {"new.py": EVIL.decode()})
    commit(user_repo, {"b.py": "b\n"})
    assert "EVIL" in shown(project, "rev", "main...feature")
    text = raw(user_repo, "commit", old).replace(user_repo.git("rev-parse", f"{old}~").encode(), evil.encode())
    # so that the history has no circle
    replace_loose(user_repo, old, "commit", text)
    kept = raw(user_repo, "commit", evil).replace(user_repo.git("rev-parse", "main").encode(), b"")
    replace_loose(user_repo, evil, "commit", kept.replace(b"parent \n", b""))
    with pytest.raises(BurnishError, match="does not have the content that its name"):
        shown(project, "rev", "main...feature")


def test_stored_parents_of_commits_do_not_count(user_repo: UserRepo, project: Project) -> None:
    root = user_repo.git("rev-parse", "HEAD")
    old = commit(user_repo, {"m.py": "m\n"})
    main = commit(user_repo, {"n.py": "n\n"})
    user_repo.git("checkout", "-qb", "feature")
    evil = commit(user_repo, {"new.py": EVIL.decode()})
    top = commit(user_repo, {"b.py": "b\n"})
    user_repo.git("-c", "commitGraph.generationVersion=1", "commit-graph", "write", "--reachable")
    graph = user_repo.path / ".git/objects/info/commit-graph"
    data = bytearray(graph.read_bytes()[:-20])
    chunks = {bytes(data[at : at + 4]): int.from_bytes(data[at + 4 : at + 12], "big") for at in range(8, 44, 12)}
    names = [
        data[chunks[b"OIDL"] + 20 * number :][:20].hex()
        for number in range(len(user_repo.git("log", "--format=%H").split()))
    ]
    for number, (name, parent) in enumerate(((root, None), (evil, root), (old, evil), (main, old), (top, evil)), 1):
        at = chunks[b"CDAT"] + 36 * names.index(name)
        if parent:
            data[at + 20 : at + 24] = names.index(parent).to_bytes(4, "big")
        data[at + 28 : at + 36] = struct.pack(">II", number << 2, 1_700_000_000 + number)
    graph.unlink()
    graph.write_bytes(bytes(data) + hashlib.sha1(data, usedforsecurity=False).digest())
    assert user_repo.git("merge-base", "main", "feature") == evil  # git itself believes it
    assert "EVIL" in shown(project, "rev", "main...feature")
    assert "EVIL" in shown(project)


def test_two_entries_of_one_name_are_refused(user_repo: UserRepo, project: Project) -> None:
    entries = raw(user_repo, "tree", "HEAD^{tree}")
    (user_repo.path / "new.py").write_bytes(EVIL)
    blob = user_repo.git("hash-object", "-w", "new.py")
    data = b"100644 app.py\0" + bytes.fromhex(blob) + entries
    name = hashlib.sha1(b"tree %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    replace_loose(user_repo, name, "tree", data)
    made = user_repo.git("commit-tree", name, "-p", "HEAD", "-m", "twice")
    with pytest.raises(BurnishError, match="two entries of one name"):
        shown(project, "rev", made)


def test_a_branch_named_like_a_commit_is_refused(user_repo: UserRepo, project: Project) -> None:
    evil = commit(user_repo, {"new.py": EVIL.decode()})
    user_repo.git("branch", evil[:8], "HEAD~")
    with pytest.raises(BadInput, match="name of a branch or tag"):
        shown(project, "rev", evil[:8])
    assert "EVIL" in shown(project, "rev", evil)
