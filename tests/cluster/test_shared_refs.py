"""Refs of tasks on a git remote: two clones of one bare repository."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from burnish.cluster.shared_refs import (
    SHARED,
    PushRejected,
    RemoteAway,
    SharedRefs,
    adopt_id,
    has_remote,
    publish_id,
)
from burnish.cluster.task_share import restore_artifacts
from burnish.core.task import Spec, Task
from burnish.git.discovery import discover
from burnish.git.project import open_project
from burnish.git.publishing import MAX_PACKS
from burnish.git.refs import read_ref
from burnish.git.repository_id import read_id, write_new_id
from testing.userrepo import UserRepo

BRANCH = "refs/heads/burnish/1-x"


@dataclass
class Clone:
    repo: UserRepo
    refs: SharedRefs

    @classmethod
    def make(cls, root: Path, name: str) -> Clone:
        subprocess.run(["git", "clone", "-q", root / "remote.git", root / name], check=True)
        project = open_project(discover(root / name), home=root / f"home-{name}", key="app", exclude=())
        return cls(UserRepo(root / name), SharedRefs(project, "origin"))

    def commit(self, text: str, parent: str = "HEAD") -> str:
        tree = self.repo.git("rev-parse", "HEAD^{tree}")
        return self.repo.git("commit-tree", tree, "-p", parent, "-m", text)

    def move(self, commit: str) -> str:
        self.repo.git("update-ref", BRANCH, commit)
        return commit

    @property
    def tip(self) -> str | None:
        return read_ref(self.refs.project, BRANCH)

    def bring(self) -> list[str]:
        self.refs.fetch([1])
        return self.refs.bring([1])


@pytest.fixture
def clones(tmp_path: Path) -> tuple[Clone, Clone]:
    UserRepo.make(tmp_path / "first")
    subprocess.run(["git", "clone", "-q", "--bare", tmp_path / "first", tmp_path / "remote.git"], check=True)
    return Clone.make(tmp_path, "a"), Clone.make(tmp_path, "b")


def test_a_branch_goes_from_clone_to_clone_and_no_branch_of_the_user_is_pushed(clones: tuple[Clone, Clone]) -> None:
    a, b = clones
    a.refs.push({BRANCH: a.move(a.commit("one"))})
    assert b.bring() == [] and b.tip == a.tip
    heads = b.repo.git("ls-remote", "--heads", "origin").splitlines()
    assert [line.split("\t")[1] for line in heads] == ["refs/heads/main"]


def test_a_push_over_the_work_of_another_machine_is_refused_and_its_work_stays(clones: tuple[Clone, Clone]) -> None:
    a, b = clones
    a.refs.push({BRANCH: a.move(a.commit("one"))})
    b.bring()
    theirs = b.move(b.commit("two", str(b.tip)))
    b.refs.push({BRANCH: theirs})
    with pytest.raises(PushRejected):
        a.refs.push({BRANCH: a.move(a.commit("three", str(a.tip)))})
    assert theirs in a.repo.git("ls-remote", "origin", "refs/burnish/shared/*")


def test_what_only_this_clone_has_is_kept_when_the_remote_has_something_else(clones: tuple[Clone, Clone]) -> None:
    a, b = clones
    own = a.move(a.commit("mine"))
    b.refs.push({BRANCH: b.move(b.commit("theirs"))})
    (note,) = a.bring()
    assert a.tip == b.tip and "refs/burnish/rescue/" in note
    assert own in a.repo.git("for-each-ref", "refs/burnish/rescue/")


def test_commits_beyond_those_of_the_remote_stay(clones: tuple[Clone, Clone]) -> None:
    a, _ = clones
    first = a.move(a.commit("one"))
    a.refs.push({BRANCH: first})
    second = a.move(a.commit("two", first))
    assert a.bring() == [] and a.tip == second


def test_a_remote_that_is_away_is_told_from_one_that_refuses(clones: tuple[Clone, Clone], tmp_path: Path) -> None:
    a, _ = clones
    (tmp_path / "remote.git").rename(tmp_path / "away.git")
    with pytest.raises(RemoteAway, match="could not be reached"):
        a.refs.push({BRANCH: a.move(a.commit("one"))})
    with pytest.raises(RemoteAway):
        a.refs.fetch([1])


def test_packs_of_many_fetches_are_merged_and_stay_small_in_number(clones: tuple[Clone, Clone]) -> None:
    a, b = clones
    commit = a.repo.git("rev-parse", "HEAD")
    for number in range(MAX_PACKS + 4):
        commit = a.move(a.commit(f"number {number}", commit))
        a.refs.push({BRANCH: commit})
        assert b.bring() == []
    assert b.tip == commit
    packs = list((b.repo.path / ".git/objects/pack").glob("*.pack"))
    assert len(packs) <= MAX_PACKS + 1
    b.repo.git("gc", "-q", "--prune=now")
    b.repo.git("fsck", "--strict")


def test_an_error_of_the_remote_in_a_fetch_is_shown_without_talk_of_a_push(
    clones: tuple[Clone, Clone], tmp_path: Path
) -> None:
    a, b = clones
    commit = a.commit("one")
    a.refs.push({BRANCH: a.move(a.commit("two", commit))})
    (tmp_path / "remote.git/objects" / commit[:2] / commit[2:]).unlink()
    with pytest.raises(RemoteAway, match=r"reports an error: (?!.*push)") as caught:
        b.bring()
    assert "git fsck" in caught.value.hint


def test_a_ref_below_the_name_of_a_branch_on_the_remote_is_named_with_the_command_that_removes_it(
    clones: tuple[Clone, Clone],
) -> None:
    a, _ = clones
    blocking_ref = f"{SHARED}heads/burnish/1-x/y"
    a.repo.git("push", "-q", "origin", f"HEAD:{blocking_ref}")
    with pytest.raises(RemoteAway, match="reports an error") as caught:
        a.refs.push({BRANCH: a.move(a.commit("one"))})
    assert blocking_ref in caught.value.what
    command = caught.value.hint.partition("git ")[2]
    a.repo.git(*command.split())
    a.refs.push({BRANCH: str(a.tip)})


def test_hooks_of_a_clone_do_not_run(clones: tuple[Clone, Clone], tmp_path: Path) -> None:
    a, b = clones
    for clone in clones:
        for name in ("pre-push", "reference-transaction", "post-checkout"):
            hook = clone.repo.path / ".git" / "hooks" / name
            hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
            hook.chmod(0o755)
    commit = a.commit("one")
    (tmp_path / "hooked").unlink(missing_ok=True)
    a.refs.push({BRANCH: commit})
    b.refs.fetch([1])
    b.refs.bring([1])
    assert not (tmp_path / "hooked").exists()


def test_clones_get_the_id_of_their_repository_from_the_remote(clones: tuple[Clone, Clone]) -> None:
    a, b = clones
    assert not adopt_id(b.repo.path, "origin")
    id = write_new_id(a.refs.project, None)
    assert publish_id(a.refs.project.root, "origin", id) and publish_id(a.refs.project.root, "origin", id)
    assert adopt_id(b.repo.path, "origin") and read_id(b.repo.path / ".git") == id
    assert not publish_id(b.refs.project.root, "origin", write_new_id(b.refs.project, id))
    assert has_remote(a.repo.path, "origin") and not has_remote(a.repo.path, "other")


def put_on_remote(remote: Path, name: bytes) -> None:
    """A commit of artifacts with a file of this name, as no git program writes it."""

    def stored(kind: str, data: bytes) -> str:
        argv = ["git", "hash-object", "-w", "--literally", "-t", kind, "--stdin"]
        return subprocess.run(argv, cwd=remote, input=data, capture_output=True, check=True).stdout.decode().strip()

    def entry(mode: bytes, name: bytes, id: str) -> bytes:
        return mode + b" " + name + b"\0" + bytes.fromhex(id)

    files = entry(b"100644", b"plan.md", stored("blob", b"plan")) + entry(b"100644", name, stored("blob", b"forged"))
    tree = stored("tree", entry(b"40000", b"1-x", stored("tree", files)))
    person = b"a <a@b> 1 +0000"
    text = b"tree %s\nauthor %s\ncommitter %s\n\nx\n" % (tree.encode(), person, person)
    ref = f"{SHARED}burnish/artifacts/1-x"
    subprocess.run(["git", "update-ref", ref, stored("commit", text)], cwd=remote, check=True)


@pytest.mark.parametrize("name", [b"..", b"../victim", b".git", b"x" * 300, b"\x1b[2J", b"a\nb", b"-rf", b"/etc/x"])
def test_names_of_artifacts_that_somebody_pushed_neither_lead_elsewhere_nor_end_the_task(
    clones: tuple[Clone, Clone], tmp_path: Path, name: bytes
) -> None:
    put_on_remote(tmp_path / "remote.git", name)
    clone, tasks = clones[0], tmp_path / "tasks"
    (tasks / "1-x").mkdir(parents=True)
    (tasks / "1-x" / "victim").write_text("safe")
    clone.bring()

    restore_artifacts(clone.refs, Task("app", 1, Spec("x"), branch="burnish/1-x"), tasks)

    written = {str(path.relative_to(tasks)): path.read_text() for path in tasks.rglob("*") if path.is_file()}
    assert written == {"1-x/victim": "safe", "1-x/artifacts/plan.md": "plan"}


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
@pytest.mark.parametrize(
    "ref", ["heads/burnish/1-x", "burnish/artifacts/1-x", "burnish/rescue/1-x", "burnish/bases/1-x"]
)
def test_a_ref_that_is_not_a_commit_is_reported_and_not_brought(
    clones: tuple[Clone, Clone], tmp_path: Path, ref: str, kind: str
) -> None:
    first, second = clones
    tip = first.move(first.commit("a"))
    first.refs.push({BRANCH: tip})
    remote = UserRepo(tmp_path / "remote.git")
    remote.git("-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "-m", "x", "forged", tip)
    objects = {"blob": f"{tip}:app.py", "tree": f"{tip}^{{tree}}", "tag": "refs/tags/forged"}
    remote.git("update-ref", f"{SHARED}{ref}", remote.git("rev-parse", objects[kind]))

    for clone in (first, second):
        notes = clone.bring()
        assert notes == [f"refs/{ref} of the remote origin is not used: burnish does not push such a ref"]
    assert first.tip == tip and second.tip == (None if f"refs/{ref}" == BRANCH else tip)

    later = first.move(first.commit("b", tip))
    first.refs.push({f"refs/{ref}": later, BRANCH: later})
    assert second.bring() == [] and second.tip == later


def test_a_ref_below_the_name_of_a_branch_does_not_take_its_place(clones: tuple[Clone, Clone], tmp_path: Path) -> None:
    first, second = clones
    tip = first.move(first.commit("a"))
    first.refs.push({BRANCH: tip})
    remote = UserRepo(tmp_path / "remote.git")
    remote.git("update-ref", "-d", f"{SHARED}heads/burnish/1-x")
    remote.git("update-ref", f"{SHARED}heads/burnish/1-x/y", tip)

    for clone in (first, second):
        assert "heads/burnish/1-x/y of the remote origin is not used" in clone.bring()[0]
    assert first.tip == tip and second.tip is None
    second.move(tip)  # its name is still free
