"""burnish's own refs: only those, and only by compare-and-swap."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from burnish.errors import BadInput, BurnishError, PhaseFailed, Refused
from burnish.git import refs
from burnish.git.artifacts import commit_artifacts, read_artifact
from burnish.git.base import identity, merged_base, resolve_base, uncommitted
from burnish.git.discovery import discover
from burnish.git.project import open_project
from burnish.git.refs import KnownRefs, StaleRef, delete_ref, list_refs, read_branches, read_ref, update_ref
from burnish.git.run import calls
from testing.gitworld import ME, GitWorld, commit

ARTIFACTS = "refs/burnish/artifacts/1-task"


@pytest.mark.representatives(4)
@pytest.mark.parametrize(
    "ref",
    ["refs/heads/main", "HEAD", "refs/heads/burnish", "refs/heads/burnish/../main", "refs/burnish/a b", "refs/burnish/",
     "refs/burnish/x.lock", "refs/tags/burnish/x", "refs/burnish/a\nb", "--stdin", "refs/burnish/-x"],
)  # fmt: skip
def test_no_ref_of_the_users_is_ever_moved(world: GitWorld, ref: str) -> None:
    before = world.repo.fingerprint()
    with pytest.raises(Refused):
        update_ref(world.project, ref, world.base.commit, world.project.zero)
    with pytest.raises(Refused):
        delete_ref(world.project, ref, world.base.commit)
    assert world.repo.fingerprint() == before


def test_compare_and_swap_refuses_what_is_stale(world: GitWorld) -> None:
    ref, second = "refs/burnish/x", world.repo.commit({"b": "b"})
    update_ref(world.project, ref, world.base.commit, world.project.zero)
    with pytest.raises(StaleRef):
        update_ref(world.project, ref, second, world.project.zero)
    update_ref(world.project, ref, second, world.base.commit)
    assert read_ref(world.project, ref) == second
    world.repo.git("pack-refs", "--all")
    assert read_ref(world.project, ref) == second
    assert list_refs(world.project, "refs/burnish/") == {ref: second}
    world.repo.git("update-ref", "refs/burnish/a\u2028b\u0085c", second)
    assert set(list_refs(world.project, "refs/burnish/")) == {ref, "refs/burnish/a\u2028b\u0085c"}
    with pytest.raises(StaleRef):
        delete_ref(world.project, ref, world.base.commit)
    delete_ref(world.project, ref, second)
    assert read_ref(world.project, ref) is None


def test_a_known_ref_file_is_read_again_after_any_change(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refs, "SETTLED_NANOSECONDS", 0)
    known, first, second = KnownRefs(), world.base.commit, world.repo.commit({"b": "b"})
    ref, symbolic = "refs/heads/burnish/x", "refs/heads/burnish/y"
    update_ref(world.project, ref, first, world.project.zero)
    world.repo.git("symbolic-ref", symbolic, ref)
    file = world.project.common_dir / ref
    for commit_hash in (first, first, second, first):
        world.repo.git("update-ref", ref, commit_hash)
        assert read_branches(world.project, known).tips == {ref: commit_hash, symbolic: commit_hash}
    before = file.stat()
    file.write_text(f"{second}\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read_branches(world.project, known).tips[ref] == second
    file.write_text("")
    assert ref in read_branches(world.project, known).torn
    file.unlink()
    assert ref not in read_branches(world.project, known).tips


def test_a_ref_file_that_was_changed_just_now_is_not_taken_as_known(world: GitWorld) -> None:
    known, ref = KnownRefs(), "refs/heads/burnish/x"
    update_ref(world.project, ref, world.base.commit, world.project.zero)
    read_branches(world.project, known)
    state = refs.file_state((world.project.common_dir / ref).stat())
    assert known.commit(ref, state) is None


def test_a_branch_checked_out_anywhere_stays(world: GitWorld, tmp_path: Path) -> None:
    workspace = world.workspace()
    world.repo.git("worktree", "add", "-q", str(tmp_path / "looking"), workspace.branch)
    (workspace.path / "x").write_text("x\n")
    with pytest.raises(Refused, match="looking"):
        commit(workspace)
    world.repo.git("worktree", "remove", "--force", str(tmp_path / "looking"))
    commit(workspace)
    world.repo.git("checkout", "-q", workspace.branch)
    (workspace.path / "y").write_text("y\n")
    with pytest.raises(Refused, match="checked out"):
        commit(workspace)


def test_a_branch_called_burnish_is_noticed(world: GitWorld) -> None:
    world.repo.git("branch", "burnish")
    with pytest.raises(BurnishError, match="conflicts with") as caught:
        world.workspace()
    assert "git branch -m" in caught.value.hint


def test_a_branch_below_the_name_of_a_task_is_named_as_the_obstacle(world: GitWorld) -> None:
    world.repo.git("branch", "burnish/1-task/mine")
    with pytest.raises(PhaseFailed, match="'burnish/1-task/mine' conflicts with 'burnish/1-task'") as caught:
        update_ref(world.project, "refs/heads/burnish/1-task", world.base.commit, world.project.zero)
    assert "git branch -m burnish/1-task/mine" in caught.value.hint


def test_a_symbolic_ref_in_our_place_leads_nowhere(world: GitWorld) -> None:
    world.repo.git("symbolic-ref", "refs/heads/burnish/1-task", "refs/heads/main")
    other = world.repo.commit({"b": "b"})
    main = world.repo.git("rev-parse", "main")
    update_ref(world.project, "refs/heads/burnish/1-task", world.base.commit, other)
    assert world.repo.git("rev-parse", "main") == main


def test_artifacts_pile_up_on_their_ref(world: GitWorld) -> None:
    first = commit_artifacts(world.project, ARTIFACTS, {"1/a.md": b"a", "1/deep/b.md": b"b"}, message="m1", author=ME)
    again = commit_artifacts(world.project, ARTIFACTS, {"1/a.md": b"a"}, message="m2", author=ME)
    assert again == first
    world.repo.git("gc", "-q")
    second = commit_artifacts(world.project, ARTIFACTS, {"1/a.md": b"A", "1/deep-er": b"x"}, message="m3")
    assert world.repo.git("rev-parse", f"{ARTIFACTS}^") == first
    assert read_artifact(world.project, ARTIFACTS, "1/a.md") == b"A"
    assert read_artifact(world.project, ARTIFACTS, "1/deep/b.md") == b"b"
    assert read_artifact(world.project, ARTIFACTS, "none") is None
    assert read_artifact(world.project, "refs/burnish/none", "a") is None
    assert second != first
    world.repo.git("fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", ".git/config", "a/.GIT/x", ""])
def test_an_artifact_stays_inside(world: GitWorld, path: str) -> None:
    with pytest.raises(BadInput):
        commit_artifacts(world.project, ARTIFACTS, {path: b"x"}, message="m", author=ME)


def test_bases_are_found_by_name_and_unknown_ones_refused(world: GitWorld) -> None:
    world.repo.git("tag", "-a", "v1", "-m", "v1")
    assert resolve_base(world.project, "main") == world.base
    assert resolve_base(world.project, "v1").commit == world.base.commit
    assert resolve_base(world.project, "v1").target is None
    assert resolve_base(world.project, world.base.commit[:10]).commit == world.base.commit
    for bad in ("nope", "--output=x", "", "a\nb", "main:app.py"):
        with pytest.raises(BadInput):
            resolve_base(world.project, bad)


@pytest.mark.parametrize("head", ["branch", "detached", "link", "worktree", "unborn"])
def test_the_branch_of_head_is_found_as_git_names_it(world: GitWorld, tmp_path: Path, head: str) -> None:
    repo, head_file = world.repo, world.repo.path / ".git" / "HEAD"
    if head == "detached":
        repo.git("checkout", "-q", "--detach")
    if head == "worktree":
        repo.git("worktree", "add", "-q", "-b", "feature/a", str(tmp_path / "other"))
    if head == "link":  # as git wrote it long ago
        head_file.unlink()
        head_file.symlink_to("refs/heads/main")
    if head == "unborn":
        repo.git("symbolic-ref", "HEAD", "refs/heads/none")
        with pytest.raises(BurnishError, match="no commits yet"):
            resolve_base(world.project, None)
        return
    checkout = tmp_path / "other" if head == "worktree" else repo.path
    project = open_project(discover(checkout), home=world.home, key="repo")
    calls.reset()
    base = resolve_base(project, None)
    assert base.target == {"detached": None, "worktree": "feature/a"}.get(head, "main")
    assert base.commit == world.base.commit
    # every run asks many times: only the link needs a process
    assert calls.by_command["symbolic-ref"] == (head == "link")


def test_several_dependencies_merge_or_conflict(world: GitWorld) -> None:
    tips = []
    for name, file in (("1-a", "a.py"), ("2-b", "b.py"), ("3-c", "a.py")):
        workspace = world.workspace(name)
        (workspace.path / file).write_text(f"{name}\n")
        tips.append(commit(workspace).sha)
    merged = merged_base(world.project, tips[:2])
    assert merged is not None
    assert world.repo.git("ls-tree", "--name-only", merged.commit).split() == ["a.py", "app.py", "b.py"]
    assert world.repo.git("rev-list", "--parents", "-1", merged.commit).split()[1:] == tips[:2]
    assert merged_base(world.project, tips) is None
    same = merged_base(world.project, [world.base.commit, tips[0]])
    assert same is not None and same.commit == tips[0]


def test_uncommitted_work_is_counted_and_left_alone(world: GitWorld) -> None:
    assert uncommitted(world.project) == 0
    world.repo.write({"app.py": "changed\n", "new file": "n\n", "staged": "s\n"})
    world.repo.git("add", "staged")
    before = world.repo.fingerprint()
    assert uncommitted(world.project) == 3
    assert world.repo.fingerprint() == before


def test_the_user_is_known_by_name(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    assert identity(world.project) == ("burnish", "burnish@localhost")
    world.repo.git("config", "user.name", "Ada Lovelace")
    world.repo.git("config", "user.email", "ada@example.org")
    assert identity(world.project) == ("Ada Lovelace", "ada@example.org")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace")
    assert identity(world.project) == ("Grace", "ada@example.org")
