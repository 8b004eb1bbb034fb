"""Artifacts on a task's branch: in its history, and in no change, no workspace and no review."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.agents.registry import PROJECT_FILES
from burnish.errors import Refused
from burnish.git.objects import read_commit, with_trailers
from burnish.git.owned_files import (
    PHASE,
    commit_owned_files,
    last_work,
    learn,
    plain_commit,
    plain_tree,
    read_owned_file,
)
from burnish.git.refs import read_ref, update_ref
from burnish.git.snapshot import snapshot
from burnish.git.workspace import GitWorkspace
from testing.gitworld import ME, GitWorld, commit

FOLDER = ".burnish/tasks/1-task"


def keep(world: GitWorld, workspace: GitWorkspace, **files: str) -> str:
    """As burnish does at the end of a cycle; `task=…` is `task.md`."""
    placed = {f"{FOLDER}/{name}.md": text.encode() for name, text in files.items()}
    text = with_trailers("Task 1, cycle 1", {"Burnish-Task": "1", "Burnish-Phase": PHASE})
    sha = commit_owned_files(world.project, workspace.ref, placed, message=text, author=ME)
    assert sha
    return sha


def write(workspace: GitWorkspace, name: str, text: str) -> None:
    file = workspace.path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def paths(workspace: GitWorkspace, old: str) -> list[str]:
    head = workspace.head()
    assert head
    return sorted(file.path for file in workspace.changes(old, head.tree).files)


def on_branch(world: GitWorld, workspace: GitWorkspace) -> list[str]:
    return world.repo.git("ls-tree", "-r", "--name-only", workspace.ref).splitlines()


def test_artifacts_are_commits_of_their_own_between_the_work(world: GitWorld) -> None:
    workspace = world.workspace()
    write(workspace, "new.py", "x = 1\n")
    first = commit(workspace)
    kept = keep(world, workspace, task="one", review="bad")
    assert (workspace.tip(), workspace.head()) == (first.sha, first)
    assert not workspace.is_dirty() and not (workspace.path / ".burnish").exists()

    write(workspace, "new.py", "x = 2\n")
    second = commit(workspace)
    keep(world, workspace, task="two")
    assert read_commit(world.project, second.sha).parents == (kept,)
    assert f"{FOLDER}/review.md" in on_branch(world, workspace), "work does not take away what was kept"
    assert world.repo.git("show", "--format=", "--name-only", second.sha).split() == ["new.py"]
    assert paths(workspace, world.base.tree) == ["new.py"]
    assert paths(workspace, first.tree) == ["new.py"]
    assert read_owned_file(world.project, workspace.ref, f"{FOLDER}/task.md") == b"two"


def test_the_same_work_has_the_same_tree_whatever_was_kept(world: GitWorld) -> None:
    workspace = world.workspace()
    trees = []
    for number in (1, 2, 1):
        write(workspace, "new.py", f"x = {number}\n")
        trees.append(commit(workspace).tree)
        keep(world, workspace, task=str(len(trees)))
    assert trees[0] == trees[2] != trees[1]


def test_neither_a_fresh_workspace_nor_a_reviewer_nor_the_agents_git_knows_of_them(
    world: GitWorld, tmp_path: Path
) -> None:
    workspace = world.workspace()
    write(workspace, "new.py", "x = 1\n")
    commit(workspace)
    keep(world, workspace, task="one")
    write(workspace, "new.py", "x = 2\n")
    head = commit(workspace)
    workspace.reset_to(head.sha, base=world.base)
    assert not (workspace.path / ".burnish").exists() and not workspace.is_dirty()
    assert workspace.checked_out_commit() == head.sha
    status = world.repo.git("-C", str(workspace.path), "status", "--porcelain")
    assert status == "", "nothing is deleted in the agent's eyes"
    assert workspace.collect_agent_git("looked") is None, "and nothing there is taken for a commit of its own"
    with snapshot(workspace, head.sha, base=world.base, path=tmp_path / "snapshot", from_base=PROJECT_FILES) as files:
        assert sorted(f.name for f in files.path.iterdir() if f.name != ".git") == ["app.py", "new.py"]


def test_what_others_put_there_stays_in_the_change_and_is_not_written_over(world: GitWorld) -> None:
    workspace = world.workspace()
    write(workspace, "new.py", "x = 1\n")
    commit(workspace)
    keep(world, workspace, task="one", review="bad")
    write(workspace, f"{FOLDER}/task.md", "forged")
    write(workspace, f"{FOLDER}/more.md", "more")
    head = commit(workspace)
    there = [f"{FOLDER}/more.md", f"{FOLDER}/task.md"]
    assert paths(workspace, world.base.tree) == [*there, "new.py"]
    keep(world, workspace, task="two", more="mine", review="good")
    assert workspace.head() == head, "what is judged does not change by being written about"
    assert read_owned_file(world.project, workspace.ref, f"{FOLDER}/task.md") is None
    assert world.repo.git("show", f"{workspace.ref}:{FOLDER}/task.md") == "forged"
    assert read_owned_file(world.project, workspace.ref, f"{FOLDER}/review.md") == b"good"

    for path in there:
        (workspace.path / path).unlink()
    commit(workspace)
    keep(world, workspace, task="three")
    assert paths(workspace, world.base.tree) == ["new.py"]
    assert read_owned_file(world.project, workspace.ref, f"{FOLDER}/task.md") == b"three"


def test_a_file_where_the_folder_would_be_is_left_alone(world: GitWorld) -> None:
    workspace = world.workspace()
    write(workspace, ".burnish", "mine\n")
    head = commit(workspace)
    keep(world, workspace, task="one")
    assert read_ref(world.project, workspace.ref) == head.sha


def test_a_commit_by_hand_on_top_is_work_without_the_artifacts_below_it(world: GitWorld) -> None:
    workspace = world.workspace()
    write(workspace, "new.py", "x = 1\n")
    commit(workspace)
    keep(world, workspace, task="one")
    world.repo.git("checkout", "-q", workspace.branch)
    hand = world.repo.commit({"hand.py": "y = 1\n"}, "by hand")
    world.repo.git("checkout", "-q", "main")
    head = workspace.head()
    assert head and head.sha == hand
    assert paths(workspace, world.base.tree) == ["hand.py", "new.py"]


def test_a_branch_that_may_not_be_moved_keeps_its_place_and_the_next_time_it_is_done(world: GitWorld) -> None:
    """The record is there already: as after a death between the two."""
    workspace = world.workspace()
    write(workspace, "new.py", "x = 1\n")
    head = commit(workspace)
    world.repo.git("checkout", "-q", workspace.branch)
    with pytest.raises(Refused, match="checked out"):
        keep(world, workspace, task="one")
    assert read_ref(world.project, workspace.ref) == head.sha
    world.repo.git("checkout", "-q", "main")
    sha = keep(world, workspace, task="one")
    assert sha != head.sha and workspace.head() == head
    assert keep(world, workspace, task="one") == sha, "twice is once"


def test_without_a_record_nothing_is_left_out_until_it_is_learnt_anew(world: GitWorld) -> None:
    workspace = world.workspace()
    write(workspace, "new.py", "x = 1\n")
    head = commit(workspace)
    kept = keep(world, workspace, task="one")
    (world.project.own / "written").unlink()
    assert workspace.tip() == kept and paths(workspace, world.base.tree) == [f"{FOLDER}/task.md", "new.py"]
    learn(world.project, [head, read_commit(world.project, kept)])
    assert workspace.head() == head


def test_nothing_is_learnt_from_a_commit_that_touches_more(world: GitWorld) -> None:
    workspace = world.workspace()
    for name in ("new.py", ".burnish/prompts/review.md", f"{FOLDER}/task.md"):
        write(workspace, name, "x = 1\n")
    head = workspace.commit("Task 1", {"Burnish-Phase": PHASE}, author=ME, expect=world.base.commit)
    assert head
    learn(world.project, [head])
    assert workspace.tip() == head.sha and len(paths(workspace, world.base.tree)) == 3


def test_trees_that_were_pruned_since_are_made_again(world: GitWorld) -> None:
    workspace = world.workspace()
    trees = []
    for number in (1, 2, 3):
        write(workspace, "new.py", f"x = {number}\n")
        trees.append(commit(workspace).tree)
        keep(world, workspace, task=str(number))
    world.repo.git("gc", "--quiet", "--prune=now")
    assert paths(workspace, trees[1]) == ["new.py"]


def test_where_nothing_was_written_everything_is_itself(world: GitWorld) -> None:
    workspace = world.workspace()
    write(workspace, f"{FOLDER}/task.md", "mine")
    head = commit(workspace)
    assert (last_work(world.project, head.sha), plain_commit(world.project, head.sha)) == (head.sha, head.sha)
    assert plain_tree(world.project, head.tree) == read_commit(world.project, head.sha).tree


def test_a_restart_keeps_the_artifacts_too(world: GitWorld) -> None:
    workspace = world.workspace()
    write(workspace, "new.py", "x = 1\n")
    commit(workspace)
    kept = keep(world, workspace, task="one")
    ref = workspace.restart(world.base)
    assert ref and read_ref(world.project, ref) == kept
    assert workspace.tip() == world.base.commit
    update_ref(world.project, workspace.ref, kept, world.base.commit)
