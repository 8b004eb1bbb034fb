"""Promise 12: many tasks of one repository at once lose nothing. Promise 20: the user notices nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from burnish.agents.registry import PROJECT_FILES
from burnish.core.commit import Commit
from burnish.git import artifacts
from burnish.git.artifacts import commit_artifacts, commit_on_top, put_files
from burnish.git.checkout import throwaway
from burnish.git.discovery import discover
from burnish.git.objects import write_commit
from burnish.git.project import open_project
from burnish.git.snapshot import snapshot
from burnish.proc.slots import try_lock
from testing.gitworld import ME, GitWorld, commit
from testing.long_forms import IS_LONG


def work(world: GitWorld, number: int, commits: int) -> list[str]:
    workspace = world.workspace(f"{number}-task")
    made = []
    for step in range(commits):
        (workspace.path / "app.py").write_text(f"task {number} step {step}\n")
        made.append(commit(workspace, f"step {step}").sha)
        commit_artifacts(world.project, "refs/burnish/all", {f"{number}/{step}": b"x"}, message="m", author=ME)
    return made


def many(world: GitWorld, tasks: int, commits: int) -> None:
    before = world.repo.fingerprint()
    with ThreadPoolExecutor(tasks) as pool:
        results = list(pool.map(lambda n: work(world, n, commits), range(1, tasks + 1)))
    for number, made in enumerate(results, 1):
        log = world.repo.git("rev-list", "--reverse", f"main..burnish/{number}-task").split()
        assert log == made
    kept = world.repo.git("ls-tree", "-r", "--name-only", "refs/burnish/all").split()
    assert len(kept) == tasks * commits
    world.repo.git("fsck", "--strict", "--no-dangling")
    assert world.repo.fingerprint() == before
    assert not list((world.project.own / "index").glob("*.lock"))


def test_tasks_side_by_side_lose_no_commit(world: GitWorld) -> None:
    many(world, 20 if IS_LONG else 8, 2)


@pytest.mark.attacks("lose a commit of tasks side by side", 1000)
@pytest.mark.skipif(not os.environ.get("BURNISH_TORTURE"), reason="long: make torture")
def test_twenty_tasks_of_fifty_commits_lose_none(world: GitWorld) -> None:
    many(world, 20, 50)


def test_commits_that_many_threads_add_to_one_ref_are_made_once_each(world: GitWorld) -> None:
    made: list[str] = []

    def add(number: int) -> None:
        def make(old: Commit | None) -> str:
            tree = put_files(world.project, old.tree if old else None, {(str(number).encode(),): b"x"})
            made.append(write_commit(world.project, tree, (old.sha,) if old else (), "m", ME))
            return made[-1]

        commit_on_top(world.project, "refs/burnish/all", make)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert world.repo.git("rev-list", "--reverse", "refs/burnish/all").split() == made


def test_a_writer_that_stands_still_in_its_turn_does_not_stop_the_others(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_artifacts(world.project, "refs/burnish/all", {"first": b"x"}, message="m", author=ME)
    monkeypatch.setattr(artifacts, "_LONGEST_WAIT", 0.1)
    locks = [try_lock(file) for file in (world.project.own / "turns").iterdir()]
    try:
        assert locks and None not in locks
        commit_artifacts(world.project, "refs/burnish/all", {"second": b"x"}, message="m", author=ME)
    finally:
        for lock in locks:
            os.close(lock)
    assert world.repo.git("ls-tree", "--name-only", "refs/burnish/all").split() == ["first", "second"]


def test_writers_that_wait_long_for_slow_ones_make_no_commit_twice(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "_LONGEST_WAIT", 0.3)
    made: list[str] = []

    def add(number: int) -> None:
        def make(old: Commit | None) -> str:
            time.sleep(0.1)  # a busy machine
            tree = put_files(world.project, old.tree if old else None, {(str(number).encode(),): b"x"})
            made.append(write_commit(world.project, tree, (old.sha,) if old else (), "m", ME))
            return made[-1]

        commit_on_top(world.project, "refs/burnish/all", make)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
    assert world.repo.git("rev-list", "--reverse", "refs/burnish/all").split() == made


def test_several_processes_may_open_a_project_at_once(world: GitWorld, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from burnish.git.discovery import discover; from burnish.git.project import open_project\n"
        "p = open_project(discover(Path(sys.argv[1])), home=Path(sys.argv[2]), key='k'); p.git('cat-file', '--batch')"
    )
    argv = [sys.executable, "-c", script, str(world.repo.path), str(tmp_path / "fresh")]
    running = [subprocess.Popen(argv, stderr=subprocess.PIPE) for _ in range(6)]
    assert [(process.communicate()[1], process.returncode) for process in running] == [(b"", 0)] * 6
    assert [p.name for p in (tmp_path / "fresh/projects/k").iterdir()] == ["git"]


def test_the_user_notices_nothing_of_a_whole_task(world: GitWorld) -> None:
    world.repo.write({"app.py": "uncommitted\n", "untracked.txt": "u\n", "staged.txt": "s\n"})
    world.repo.git("add", "staged.txt")
    world.repo.git("config", "alias.x", "log")
    before = world.repo.fingerprint()

    open_project(discover(world.repo.path), home=world.home, key="repo")
    workspace = world.workspace()
    assert "uncommitted" not in (workspace.path / "app.py").read_text()
    (workspace.path / "app.py").write_text("work\n")
    workspace.rescue("1-implement")
    workspace.collect_agent_git("1-implement")
    made = commit(workspace)
    with snapshot(
        workspace, made.sha, base=world.base, path=world.home / "snap" / "1", from_base=PROJECT_FILES
    ) as files:
        (files.path / "app.py").write_text("spoiled\n")
    with throwaway(world.project, made.sha, world.home / "baseline") as plain:
        assert (plain / "app.py").read_text() == "work\n"
    assert not (world.home / "baseline").exists()
    workspace.restart(world.base)
    workspace.remove()

    assert world.repo.fingerprint() == before
    assert world.repo.git("stash", "list") == ""
