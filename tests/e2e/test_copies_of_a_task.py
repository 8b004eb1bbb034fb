"""Copies of a task's files: one clean tree for its checks and reviewers, and none once the run has ended."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import APPROVE, AUTHOR, CRITIC, REJECT, Lab

CHECKS = "checks: {test: 'test -f app.py', lint: null}\n"
ONE_CYCLE = CHECKS + "review: {agents: [judge], max_cycles: 1}\n"
KINDS = ("workspaces", "snapshots", "throwaway", "trees")


def copies(lab: Lab) -> list[str]:
    """Whatever lies where trees are laid, hidden files too, e.g. `workspaces/1-add-division`."""
    home = Path(lab.env["BURNISH_HOME"])
    found = [place for kind in KINDS for place in (home / kind).glob("*/*")]
    return sorted(f"{place.parts[-3]}/{place.name}" for place in found)


def indexes(lab: Lab) -> list[str]:
    return [place.name for place in Path(lab.env["BURNISH_HOME"]).rglob("*.snapshot-*")]


def lab_of(root: Path, *, confined: bool, extra: str = CHECKS) -> Lab:
    if confined:
        needs_bubblewrap()
    return Lab.make(root, confined=confined, extra=extra)


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("confined", [True, False])
def test_a_verified_task_keeps_its_workspace_and_nothing_else(tmp_path: Path, confined: bool) -> None:
    lab = lab_of(tmp_path, confined=confined)
    number = lab.add()
    lab.burnish("run", number)
    assert lab.task()["status"] == "verified" and lab.task()["cycle"] == 2
    assert copies(lab) == ["workspaces/1-add-division"] and indexes(lab) == []
    assert Path(lab.burnish("path", number).out.strip()).is_dir()
    lab.burnish("merge", number)
    assert lab.task()["status"] == "completed" and copies(lab) == ["workspaces/1-add-division"]


@pytest.mark.long
def test_a_blocked_or_failed_task_keeps_its_workspace_and_can_be_retried(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, confined=False, extra=ONE_CYCLE)
    lab.agent("judge", REJECT)
    number = lab.add()
    lab.burnish("run", number, code=None)
    assert lab.task()["status"] == "blocked" and copies(lab) == ["workspaces/1-add-division"]
    lab.agent("robot", "sys.exit(3)")
    lab.burnish("retry", number, code=None)
    assert lab.task()["status"] == "failed" and copies(lab) == ["workspaces/1-add-division"]
    lab.agent("robot", AUTHOR)
    lab.agent("judge", APPROVE)
    lab.burnish("retry", number)
    assert lab.task()["status"] == "verified" and copies(lab) == ["workspaces/1-add-division"]


@pytest.mark.long
@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize("point", ["check-run", "review-replied"])
def test_what_a_killed_run_left_is_used_or_removed_by_the_next_one(tmp_path: Path, point: str, confined: bool) -> None:
    lab = lab_of(tmp_path, confined=confined)
    lab.add()
    lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT=point)
    lab.burnish("run")
    assert lab.task()["status"] == "verified" and copies(lab) == ["workspaces/1-add-division"]


@pytest.mark.long
def test_a_run_removes_the_trees_that_an_earlier_version_or_a_killed_run_left(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, confined=False, extra=ONE_CYCLE)
    lab.agent("judge", APPROVE)
    lab.add()
    lab.burnish("run")
    (place,) = Path(lab.env["BURNISH_HOME"]).glob("workspaces/*/1-add-division")
    old = place.parents[2] / "snapshots" / place.parent.name / place.name
    old.mkdir(parents=True)
    (old / "app.py").write_text("old\n")
    cut = place.parents[2] / "throwaway" / place.parent.name
    for name in ("1-add-division-check", ".1-add-division-check.scratch"):
        (cut / name).mkdir(parents=True)
    (old.parent / ".1-add-division.spare-0a1b2c3d").mkdir()
    lab.add("Second")
    lab.burnish("run", "2")
    assert copies(lab) == ["workspaces/1-add-division", "workspaces/2-second"]


@pytest.mark.long
def test_in_a_sandbox_checks_and_reviewers_use_the_same_files_and_see_nothing_of_each_other(tmp_path: Path) -> None:
    log = tmp_path / "inodes"
    command = f"stat -c %i keep.txt >> {log}; test ! -e left && echo spoiled > keep.txt && touch left more"
    lab = lab_of(tmp_path, confined=True, extra=f"checks: {{test: '{command}', lint: null}}\n")
    lab.user_settings(f"sandbox: {{write: ['{tmp_path}']}}\n")
    lab.repo.commit({"keep.txt": "sound\n", ".gitignore": "left\n"})
    look = f"""
with open({str(log)!r}, "a") as file:
    file.write(f"{{os.stat('keep.txt').st_ino}}\\n")
here["seen"] = [sorted(os.listdir()), pathlib.Path("keep.txt").read_text()]
"""
    lab.agent("judge", look + CRITIC)
    lab.add()
    lab.burnish("run")
    assert lab.task()["status"] == "verified" and lab.task()["cycle"] == 2
    seen = [call["seen"] for call in lab.calls("end") if call["agent"] == "judge"]
    assert seen == [[[".git", ".gitignore", "app.py", "burnish.yaml", "keep.txt"], "sound\n"]] * 2
    _at_base, *numbers = log.read_text().split()
    assert len(numbers) == 4 and len(set(numbers)) == 1, "two checks, two reviews, one file on the disk"


@pytest.mark.slow
def test_the_next_task_of_a_run_gets_the_clean_tree_of_the_one_before_it(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, confined=False, extra="checks: {test: null, lint: null}\n")
    lab.repo.commit({"keep.txt": "sound\n", ".gitignore": "left\n"})
    seen = """
here["inode"] = os.stat("keep.txt").st_ino
here["files"] = sorted(os.listdir())
here["functions"] = [line for line in app.read_text().splitlines() if line.startswith("def div_")]
"""
    lab.agent("judge", seen + CRITIC)
    lab.add()
    lab.add("Second")
    lab.burnish("run", "--all")
    calls = [call for call in lab.calls("end") if call["agent"] == "judge"]
    assert [lab.task(number)["status"] for number in (1, 2)] == ["verified"] * 2
    assert len(calls) == 4 and len({call["inode"] for call in calls}) == 1, "four reviews, one file on the disk"
    assert [call["functions"] for call in calls] == [["def div_1(a, b):"]] * 2 + [["def div_2(a, b):"]] * 2
    assert {tuple(call["files"]) for call in calls} == {(".git", ".gitignore", "app.py", "burnish.yaml", "keep.txt")}
    assert copies(lab) == ["workspaces/1-add-division", "workspaces/2-second"] and indexes(lab) == []


@pytest.mark.slow
def test_a_tree_that_a_reviewer_changed_is_not_given_to_the_next_task(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, confined=False, extra="checks: {test: null, lint: null}\n")
    lab.repo.commit({"keep.txt": "sound\n", ".gitignore": "left\n"})
    spoil = """
here["seen"] = [sorted(os.listdir()), pathlib.Path("keep.txt").read_text()]
pathlib.Path("keep.txt").write_text("other\\n")
pathlib.Path("left").write_text("x")
"""
    lab.agent("judge", spoil + APPROVE)
    lab.add()
    lab.add("Second")
    lab.burnish("run", "--all", code=None)
    calls = [call["seen"] for call in lab.calls("end") if call["agent"] == "judge"]
    assert len(calls) >= 2
    assert all(call == [[".git", ".gitignore", "app.py", "burnish.yaml", "keep.txt"], "sound\n"] for call in calls)


def large_lab(root: Path, monkeypatch: pytest.MonkeyPatch, *, confined: bool) -> Lab:
    """Every repository counts as a large one."""
    lab = lab_of(root, confined=confined, extra=ONE_CYCLE)
    lab.user_settings("clean: {release_over_files: 1}\n")
    lab.agent("judge", APPROVE)
    monkeypatch.setattr("burnish.adapters.repository.LARGE", 1)
    return lab


def kept_trees(lab: Lab) -> tuple[Path, Path]:
    """The clean tree and the files of a workspace that stay for the next run."""
    folder = Path(lab.env["BURNISH_HOME"])
    (files,) = folder.glob("snapshots/*/.kept-files-*")
    (tree,) = set(folder.glob("snapshots/*/.kept-*")) - {files}
    return tree, files


def test_a_verified_task_of_a_large_repository_keeps_no_copy_and_path_writes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = large_lab(tmp_path, monkeypatch, confined=False)
    number = lab.add()
    lab.burnish("run", number)
    assert lab.task()["status"] == "verified" and copies(lab) == [] and indexes(lab) == []
    assert "+def div_1" in lab.burnish("diff", number).out
    folder = Path(lab.burnish("path", number).out.strip())
    assert "def div_1" in (folder / "app.py").read_text()
    assert lab.burnish("clean", "--rescues", "--json").json["rescues"] == []
    lab.burnish("improve", number, "--guidance", "Once more", "--review")
    assert lab.task()["status"] == "verified" and copies(lab) == []


@pytest.mark.parametrize("left", [".env", "build.log"])
def test_a_workspace_with_a_file_that_git_does_not_have_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    lab = large_lab(tmp_path, monkeypatch, confined=False)
    lab.agent("robot", AUTHOR + '\npathlib.Path(".env").write_text("x")\n' * (left == ".env"))
    if left == "build.log":
        # a person writes into the workspace while reviewers look
        lab.agent(
            "judge",
            f'next(pathlib.Path({lab.env["BURNISH_HOME"]!r}).glob("workspaces/*/1-*")).joinpath({left!r}).write_text("x")\n'
            + APPROVE,
        )
    lab.add()
    lab.burnish("run")
    assert lab.task()["status"] == "verified" and copies(lab) == ["workspaces/1-add-division"]


@pytest.mark.slow
def test_a_run_begins_from_the_clean_tree_of_the_one_before_and_repairs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = large_lab(tmp_path, monkeypatch, confined=True)
    lab.repo.commit({"keep.txt": "sound\n", "other.txt": "sound\n"})
    look = 'here["seen"] = [os.stat("other.txt").st_ino, pathlib.Path("keep.txt").read_text(), sorted(os.listdir())]\n'
    lab.agent("judge", look + APPROVE)
    lab.add()
    lab.burnish("run")
    tree, files = kept_trees(lab)
    assert copies(lab) == [f"snapshots/{tree.name}", f"snapshots/{files.name}"]
    (tree / "keep.txt").write_text("wrong\n")
    (tree / "conftest.py").write_text("")
    lab.add("Second")
    lab.burnish("run")
    first, second = (call["seen"] for call in lab.calls("end") if call["agent"] == "judge")
    assert first == second == [first[0], "sound\n", [".git", "app.py", "burnish.yaml", "keep.txt", "other.txt"]]
    lab.burnish("clean", "--all-completed")
    assert copies(lab) == [] and indexes(lab) == []


@pytest.mark.slow
def test_a_clean_tree_from_before_a_restart_of_the_machine_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = large_lab(tmp_path, monkeypatch, confined=True)
    lab.add()
    lab.burnish("run")
    tree, files = kept_trees(lab)
    tree.rename(tree.with_name(".kept-another-start"))
    files.rename(files.with_name(".kept-files-another-start"))
    lab.add("Second")
    lab.burnish("run")
    assert copies(lab) == [f"snapshots/{tree.name}", f"snapshots/{files.name}"]


@pytest.mark.slow
def test_a_workspace_begins_with_the_files_of_a_verified_task_and_nothing_that_its_author_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = large_lab(tmp_path, monkeypatch, confined=True)
    lab.repo.commit({"keep.txt": "sound\n", "folder/other.txt": "sound\n", ".gitignore": "left*\n"})
    look = """
folders = [pathlib.Path(), pathlib.Path("folder")]
here["inode"] = os.stat("keep.txt").st_ino
here["seen"] = [sorted(os.listdir(one)) for one in folders] + [pathlib.Path("keep.txt").read_text()]
here["functions"] = [line for line in app.read_text().splitlines() if line.startswith("def div_")]
pathlib.Path("left").write_text("x")
pathlib.Path("folder/left.pyc").write_text("x")
pathlib.Path("empty").mkdir()
"""
    lab.agent("robot", look + AUTHOR)
    lab.add()
    lab.burnish("run")
    _tree, files = kept_trees(lab)
    (files / "folder/other.txt").unlink()
    (files / "folder").chmod(0o500)
    lab.add("Second")
    lab.burnish("run")
    first, second = (call for call in lab.calls("end") if call["agent"] == "robot")
    assert [lab.task(number)["status"] for number in (1, 2)] == ["verified"] * 2
    assert first["seen"] == second["seen"] and second["seen"][1] == ["other.txt"]
    assert first["inode"] == second["inode"], "the same file on the disk"
    assert second["functions"] == [], "the change of the first task is not in the base"
    assert lab.burnish("clean", "--rescues", "--json").json["rescues"] == []
