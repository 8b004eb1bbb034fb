"""Promise 15: nothing an agent writes makes burnish's own git calls run a program."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from burnish.agents.registry import PROJECT_FILES
from burnish.errors import PhaseFailed
from burnish.features.review.handoff import dirty_paths
from burnish.git.artifacts import commit_artifacts, read_artifact
from burnish.git.base import identity, merged_base, resolve_base, uncommitted
from burnish.git.checkout import throwaway
from burnish.git.discovery import discover
from burnish.git.project import open_project
from burnish.git.refs import list_refs
from burnish.git.snapshot import snapshot
from burnish.git.workspace import GitWorkspace
from testing.gitworld import ME, GitWorld, commit
from testing.hostile import VECTORS, Vector, run_plain, trap
from testing.userrepo import UserRepo


@pytest.fixture(autouse=True)
def readable_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """The home's own settings count here: they are one of the ways in."""
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    # And a PATH that a careless person has.
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")


def calls(
    world: GitWorld, workspace: GitWorkspace, plant: Callable[[Path], None]
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every way into the package, with the trap laid anew before each."""
    project, base = world.project, world.base

    def look_at(commit_sha: str) -> object:
        with snapshot(
            workspace, commit_sha, base=base, path=world.home / "snapshots" / "1", from_base=PROJECT_FILES
        ) as files:
            plant(files.path)
            return files.breaches()

    def throw_away(commit_sha: str) -> None:
        with throwaway(project, commit_sha, world.home / "baseline"):
            pass

    def head() -> str:
        found = workspace.head()
        assert found is not None
        return found.sha

    yield "is_dirty", workspace.is_dirty
    yield "dirty_paths", lambda: dirty_paths(project, workspace)
    yield "rescue", lambda: workspace.rescue("1-implement")
    yield "after_phase", lambda: workspace.collect_agent_git("1-implement")
    yield "commit", lambda: workspace.commit("x", {}, author=ME, expect=head())
    yield "changes", lambda: workspace.changes(base.commit, head()).text()
    yield "files", lambda: workspace.files(head())
    yield "read", lambda: workspace.read(head(), ["app.py", ".gitattributes"])
    yield "tidy", workspace.remove_junk
    yield "snapshot", lambda: look_at(head())
    yield "snapshot again", lambda: look_at(head())
    yield "throwaway", lambda: throw_away(head())
    yield "artifacts", lambda: commit_artifacts(project, "refs/burnish/artifacts/1", {"a": b"b"}, message="m")
    yield "read_artifact", lambda: read_artifact(project, "refs/burnish/artifacts/1", "a")
    yield "list_refs", lambda: list_refs(project, "refs/burnish/")
    yield "base", lambda: (resolve_base(project, None), merged_base(project, [base.commit, head()]))
    yield "user", lambda: (uncommitted(project), identity(project))
    yield "open", lambda: open_project(discover(world.repo.path), home=world.home, key="repo")
    yield "put_right", lambda: workspace.reset_to(head(), base=base)
    yield "restart", lambda: workspace.restart(base)
    yield "remove", workspace.remove


@pytest.mark.representatives(2)
@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v.name.replace(" ", "-"))
def test_no_call_of_ours_runs_what_the_agent_laid(vector: Vector, world: GitWorld, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    program = trap(tmp_path, marker)
    workspace = world.workspace()
    before = world.repo.fingerprint()

    def plant(folder: Path) -> None:
        vector.plant(folder, program)
        marker.unlink(missing_ok=True)  # the planting itself may use git

    for name, call in calls(world, workspace, plant):
        if workspace.path.is_dir():
            plant(workspace.path)
        call()
        assert not marker.exists(), f"{vector.name} fired in {name}"

    assert world.repo.fingerprint() == before


@pytest.mark.representatives(2)
@pytest.mark.parametrize("vector", [v for v in VECTORS if v.control], ids=lambda v: v.name.replace(" ", "-"))
def test_the_same_trap_catches_a_plain_git(vector: Vector, user_repo: UserRepo, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    copy = tmp_path / "copy"
    shutil.copytree(user_repo.path, copy)
    program = trap(tmp_path, marker)

    vector.plant(copy, program)
    marker.unlink(missing_ok=True)
    for command in vector.control:
        run_plain(copy, *command)

    assert marker.exists()


def test_the_users_own_hooks_and_filters_stay_silent(world: GitWorld, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    program = trap(tmp_path, marker)
    hook = world.repo.path / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(program.read_text())
    hook.chmod(0o755)
    world.repo.git("config", "filter.x.clean", "./trap.sh")
    world.repo.git("config", "core.fsmonitor", str(program))
    marker.unlink(missing_ok=True)

    workspace = world.workspace()
    shutil.copy(program, workspace.path / "trap.sh")
    (workspace.path / ".gitattributes").write_text("* filter=x\n")
    commit(workspace)
    uncommitted(world.project)

    assert not marker.exists()


def test_a_root_swapped_for_a_link_stages_nothing(world: GitWorld, tmp_path: Path) -> None:
    workspace = world.workspace()
    private = tmp_path / "private"
    private.mkdir()
    (private / "key").write_text("secret")
    workspace.path.rename(tmp_path / "moved")
    workspace.path.symlink_to(private)

    with pytest.raises(PhaseFailed, match="not the directory"):
        workspace.commit("x", {}, author=ME, expect=world.base.commit)
    with pytest.raises(PhaseFailed, match="not the directory"):
        workspace.rescue("1-implement")

    workspace.reset_to(world.base.commit, base=world.base)
    assert (private / "key").read_text() == "secret"
    assert not workspace.path.is_symlink()
    assert (workspace.path / "app.py").is_file()


def test_another_directory_in_its_place_is_moved_away_unharmed(world: GitWorld, tmp_path: Path) -> None:
    workspace = world.workspace()
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    workspace.path.rename(tmp_path / "moved")
    other.rename(workspace.path)

    with pytest.raises(PhaseFailed):
        workspace.is_dirty()
    workspace.reset_to(world.base.commit, base=world.base)

    found = list(workspace.path.parent.glob("*.replaced-*/thesis.txt"))
    assert [path.read_text() for path in found] == ["years of work"]


def test_pipes_and_links_in_the_agents_git_dir_hang_nobody(world: GitWorld, tmp_path: Path) -> None:
    workspace = world.workspace()
    git_dir = workspace.path / ".git"
    for name in ("HEAD", "packed-refs"):
        (git_dir / name).unlink()
        os.mkfifo(git_dir / name)
    os.mkfifo(git_dir / "refs" / "heads" / "pipe")
    (git_dir / "refs" / "heads" / "link").symlink_to("/etc/hostname")
    shutil.rmtree(git_dir / "objects")
    (git_dir / "objects").symlink_to(world.project.user_objects)

    assert workspace.collect_agent_git("1-implement") is None
    assert any(world.project.user_objects.iterdir())
    assert (git_dir / "objects").is_dir() and not (git_dir / "objects").is_symlink()


def test_an_object_with_a_false_name_is_not_taken_over(world: GitWorld) -> None:
    workspace = world.workspace()
    git_dir = workspace.path / ".git"
    run_plain(workspace.path, "commit", "-q", "--allow-empty", "-m", "honest")
    false = "ab" + "c" * 38
    (git_dir / "objects" / "ab").mkdir(exist_ok=True)
    made = next(p for p in (git_dir / "objects").glob("??/*") if len(p.parent.name) == 2)
    shutil.copy(made, git_dir / "objects" / "ab" / ("c" * 38))
    (git_dir / "refs" / "heads" / "false").write_text(false + "\n")

    workspace.collect_agent_git("1-implement")

    for store in (world.project.objects, world.project.user_objects):
        assert not (store / "ab" / ("c" * 38)).exists()
