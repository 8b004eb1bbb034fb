"""One task's files: made, put right, committed, rescued, removed."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from burnish.agents.registry import PROJECT_FILES
from burnish.errors import PhaseFailed, Refused
from burnish.features.review.handoff import dirty_paths
from burnish.git import run
from burnish.git.artifacts import commit_artifacts
from burnish.git.refs import read_ref, update_ref
from burnish.git.snapshot import snapshot
from burnish.git.workspace import GitWorkspace
from testing.gitworld import ME, GitWorld, commit
from testing.userrepo import UserRepo


def test_a_new_workspace_holds_the_base_and_a_git_that_works(world: GitWorld) -> None:
    workspace = world.workspace()
    assert workspace.exists()
    agent = UserRepo(workspace.path)
    assert agent.git("status", "--porcelain") == ""
    assert agent.git("rev-parse", "main", "burnish/1-task") == f"{world.base.commit}\n{world.base.commit}"
    head = workspace.head()
    assert head is not None and (head.sha, head.tree) == (world.base.commit, world.base.tree)


def test_create_may_be_repeated_but_not_over_other_work(world: GitWorld) -> None:
    workspace = world.workspace()
    workspace.create(world.base)
    (workspace.path / "x").write_text("x\n")
    commit(workspace)
    with pytest.raises(Refused, match="already exists"):
        workspace.create(world.base)


def test_a_commit_carries_message_trailers_and_author(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / "x").write_text("x\n")
    trailers = {"Burnish-Task": "29", "Burnish-Agent": "two\nlines"}
    made = workspace.commit("feat: Ünïcode\n\nBody", trailers, author=("Zoë <x>", "z@e"), expect=world.base.commit)
    assert made is not None
    assert made.trailers == {"Burnish-Task": "29", "Burnish-Agent": "two lines"}
    log = world.repo.git("log", "-1", "--format=%an|%ae|%s|%b|%(trailers:key=Burnish-Task,valueonly)", workspace.branch)
    assert log.startswith("Zoë x|z@e|feat: Ünïcode|Body\n")
    assert read_ref(world.project, workspace.ref) == made.sha
    assert made.parents == (world.base.commit,)


def test_a_message_cannot_forge_trailers(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / "x").write_text("x\n")
    forged = "feat: x\n\nBurnish-Task: 99"
    made = workspace.commit(forged, {"Burnish-Task": "1"}, author=ME, expect=world.base.commit)
    assert made is not None and made.trailers == {"Burnish-Task": "1"}


def test_nothing_changed_is_no_commit(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / "app.py").touch()
    assert workspace.commit("x", {}, author=ME, expect=world.base.commit) is None
    (workspace.path / "new").write_text("x")
    (workspace.path / "new").unlink()
    assert workspace.commit("x", {}, author=ME, expect=world.base.commit) is None


def test_a_change_of_the_same_size_in_the_same_tick_is_seen(world: GitWorld) -> None:
    workspace = world.workspace()
    for number in range(10, 40):
        (workspace.path / "app.py").write_text(f"x = {number}\n")
        commit(workspace)


def test_a_branch_that_moved_is_not_overwritten(world: GitWorld) -> None:
    workspace = world.workspace()
    other = world.repo.commit({"other.txt": "o\n"})
    world.repo.git("update-ref", workspace.ref, other)
    (workspace.path / "x").write_text("x\n")
    with pytest.raises(Refused, match="another process moved it"):
        workspace.commit("x", {}, author=ME, expect=world.base.commit)
    assert read_ref(world.project, workspace.ref) == other
    assert workspace.is_dirty()


def test_left_out_paths_stay_uncommitted(world: GitWorld) -> None:
    workspace = world.workspace()
    for name in (".burnish/tasks/1-task/a.md", "code.py"):
        (workspace.path / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.path / name).write_text("x\n")
    made = workspace.commit("x", {}, author=ME, expect=world.base.commit, exclude_prefix=".burnish/tasks/1-task/")
    assert made is not None and set(workspace.files(made.sha)) == {"app.py", "code.py"}
    assert dirty_paths(world.project, workspace) == [".burnish/tasks/1-task/a.md"]


def test_put_right_keeps_ignored_files_and_nothing_else(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / ".gitignore").write_text("node_modules/\n")
    made = commit(workspace)
    for name in ("node_modules/m.js", "junk/deep/x", "nested/.git/HEAD"):
        (workspace.path / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.path / name).write_text("x\n")
    (workspace.path / "app.py").write_text("spoiled\n")
    (workspace.path / "app.py").chmod(0o755)
    workspace.reset_to(made.sha, base=world.base)
    assert sorted(p.name for p in workspace.path.iterdir()) == [".git", ".gitignore", "app.py", "node_modules"]
    assert "spoiled" not in (workspace.path / "app.py").read_text()
    assert not workspace.is_dirty()


def test_tidy_says_what_it_put_back(world: GitWorld) -> None:
    workspace = world.workspace()
    assert workspace.remove_junk() == []
    (workspace.path / "app.py").write_text("by a test\n")
    (workspace.path / "report.xml").write_text("<x/>")
    assert workspace.remove_junk() == ["restored app.py", "removed report.xml"]
    assert workspace.remove_junk() == []


def test_rescue_keeps_everything_and_is_not_repeated(world: GitWorld) -> None:
    workspace = world.workspace("29-add-login")
    assert workspace.rescue("2-improve") is None
    (workspace.path / "half.py").write_text("half\n")
    (workspace.path / "app.py").unlink()
    first = workspace.rescue("2-improve")
    assert first == "refs/burnish/rescue/29-2-improve"
    assert workspace.rescue("2-improve") == first
    assert world.repo.git("ls-tree", "-r", "--name-only", first) == "half.py"
    (workspace.path / "half.py").write_text("other half\n")
    assert workspace.rescue("2-improve") == "refs/burnish/rescue/29-2-improve-2"
    assert world.repo.git("show", f"{first}:half.py") == "half"
    assert workspace.is_dirty()


def test_commits_of_the_agents_own_are_kept(world: GitWorld) -> None:
    workspace = world.workspace()
    agent = UserRepo(workspace.path)
    mine = agent.commit({"mine.py": "mine\n"}, "by the agent")
    agent.git("branch", "side", "HEAD~0")
    agent.git("gc", "-q")
    agent.write({"app.py": "stashed\n"})
    agent.git("stash", "-q")

    kept = workspace.collect_agent_git("1-implement")

    assert kept == "refs/burnish/rescue/1-task-1-implement-git"
    assert world.repo.git("rev-parse", kept) == mine
    assert world.repo.git("show", f"{kept}:mine.py") == "mine"
    stash = world.repo.git("show", f"{kept}-2:app.py")
    assert stash == "stashed"
    # The work itself is still in the files, and becomes our commit.
    made = commit(workspace)
    assert made.parents == (world.base.commit,)
    assert "mine.py" in workspace.files(made.sha)
    assert workspace.collect_agent_git("1-check") is None
    world.repo.git("fsck", "--strict", "--no-dangling")


def test_a_git_dir_that_cannot_be_read_is_kept_whole(world: GitWorld) -> None:
    workspace = world.workspace()
    agent = UserRepo(workspace.path)
    agent.commit({"mine.py": "mine\n"}, "by the agent")
    tree = agent.git("rev-parse", "HEAD^{tree}")
    (workspace.path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert workspace.collect_agent_git("1-implement") is None
    kept = list((world.project.own / "kept").iterdir())
    assert len(kept) == 1 and (kept[0] / "git" / "HEAD").exists()


def test_restart_goes_back_to_the_base_and_keeps_the_old_branch(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / "x").write_text("x\n")
    made = commit(workspace)
    kept = workspace.restart(world.base)
    assert kept is not None and read_ref(world.project, kept) == made.sha
    assert not (workspace.path / "x").exists()
    assert workspace.restart(world.base) is None


def test_remove_leaves_the_branch_and_follows_no_link(world: GitWorld, tmp_path: Path) -> None:
    workspace = world.workspace()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("f")
    (workspace.path / "link").symlink_to(outside)
    (workspace.path / "locked").mkdir(mode=0o500)
    workspace.remove()
    assert not workspace.path.exists() and not workspace.exists()
    assert (outside / "f").exists()
    assert workspace.head() is not None
    assert not [p for p in (world.project.own / "index").iterdir() if p.name.startswith("1-task")]


def test_killed_between_staging_and_the_ref_nothing_is_forgotten(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = world.workspace()
    (workspace.path / "x").write_text("x\n")

    def killed(*_args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("burnish.git.workspace.update_ref", killed)
        with pytest.raises(KeyboardInterrupt):
            commit(workspace)
    again = GitWorkspace(world.project, workspace.path, workspace.name)
    assert again.is_dirty()
    assert commit(again).parents == (world.base.commit,)


def test_killed_between_the_ref_and_the_index_the_commit_counts(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = world.workspace()
    (workspace.path / "x").write_text("x\n")

    def then_killed(*args: object) -> None:
        update_ref(*args)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("burnish.git.workspace.update_ref", then_killed)
        with pytest.raises(KeyboardInterrupt):
            commit(workspace)
    again = GitWorkspace(world.project, workspace.path, workspace.name)
    head = again.head()
    assert head is not None and head.trailers == {"Burnish-Task": "1"}
    assert not again.is_dirty()
    assert again.rescue("1-implement") is None
    assert again.commit("x", {}, author=ME, expect=head.sha) is None


def test_a_damaged_index_or_state_is_no_loss(world: GitWorld) -> None:
    workspace = world.workspace()
    workspace.index.write_bytes(b"garbage")
    (workspace.index.parent / "1-task.index").touch()
    workspace.reset_to(world.base.commit, base=world.base)
    assert not workspace.is_dirty()
    (workspace.index.parent / "1-task.json").write_text("{")
    assert not workspace.exists()
    with pytest.raises(PhaseFailed):
        workspace.is_dirty()
    workspace.reset_to(world.base.commit, base=world.base)
    assert not workspace.is_dirty()


def test_a_dead_lock_is_removed_and_a_live_one_waited_for(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.git.checkout.LOCK_SECONDS", 0.6)
    workspace = world.workspace()
    lock = workspace.index.with_name("1-task.lock")
    lock.touch()
    began = time.monotonic()
    workspace.reset_to(world.base.commit, base=world.base)
    assert time.monotonic() - began > 0.4
    assert not lock.exists()


def test_a_cycle_takes_fewer_than_twelve_git_processes(world: GitWorld) -> None:
    workspace = world.workspace()
    (workspace.path / "one.py").write_text("1\n")
    first = commit(workspace)
    options = {"base": world.base, "path": world.home / "snap" / "1", "from_base": PROJECT_FILES}
    with snapshot(workspace, first.sha, **options):
        pass
    (workspace.path / "two.py").write_text("2\n")
    run.calls.reset()

    workspace.collect_agent_git("2-improve")
    second = commit(workspace)
    # as the engine compares them
    workspace.changes(world.base.tree, second.tree)
    workspace.changes(first.sha, second.sha)
    with snapshot(workspace, second.sha, **options) as files:
        assert files.breaches() == []
    for number in (1, 2):
        artifact = {f"1-task/review-cycle-{number}.md": b"text"}
        commit_artifacts(world.project, "refs/burnish/artifacts/1-task", artifact, message="m", author=ME)

    assert run.calls.total < 12, run.calls.by_command


LONG = pytest.mark.skipif(not os.environ.get("BURNISH_TORTURE"), reason="long: make torture")


@pytest.mark.parametrize("files", [2_000, pytest.param(20_000, marks=LONG)])
def test_big_repositories_commit_quickly(tmp_path: Path, hermetic: Path, files: int) -> None:
    world = GitWorld.make(UserRepo.make_big(tmp_path / "big", files), hermetic / "b")
    workspace = world.workspace()
    times = []
    for number in range(4):
        (workspace.path / "d7" / "f7.py").write_text(f"y = {number}\n")
        (workspace.path / f"new{number}.py").write_text("new\n")
        began = time.monotonic()
        commit(workspace)
        times.append(time.monotonic() - began)
    # 0.1 s on a quiet machine; the bound only has to notice that every file is read again.
    assert min(times) < 1.0, times
    shutil.rmtree(workspace.path)


@pytest.mark.parametrize("left", [".aside-1-task/killed", ".aside-1-task-killed"], ids=["now", "an-earlier-version"])
def test_commits_of_an_agent_that_a_killed_run_moved_aside_are_rescued(world: GitWorld, left: str) -> None:
    workspace = world.workspace()
    agent = UserRepo(workspace.path)
    sha = agent.commit({"theirs.txt": "theirs\n"})
    aside = workspace.path.parent / left / "git"
    aside.parent.mkdir(parents=True)
    (workspace.path / ".git").rename(aside)
    workspace.reset_to(world.base.commit, base=world.base)
    assert read_ref(world.project, "refs/burnish/rescue/1-task-put-right-git") == sha
    assert not list(workspace.path.parent.glob(".aside-*"))
