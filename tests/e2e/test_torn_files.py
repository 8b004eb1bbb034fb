"""Files of burnish's that are empty, cut or overwritten: found, healed or put aside, and the user's git works."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from testing.attack_counts import CountAttacks
from testing.lab import Lab
from testing.torn_files import WAYS, own_files, tear, user_objects
from tests.e2e.test_kill import CHECKS, TORTURE
from tests.e2e.test_lost_branch import BRANCH, drop_copies, loose, packs, user_git_problems

MOMENTS = ("work-replied:1", "work-finished:2", "review-replied:2", "")
ARTIFACTS = "refs/burnish/artifacts/1-add-division"
FILES_EACH = 12 if TORTURE else 0


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path, extra=CHECKS)
    lab.add()
    return lab


def start_machine_again(lab: Lab) -> None:
    """As burnish sees it: objects are read once after each start of the machine."""
    for file in Path(lab.env["BURNISH_HOME"]).rglob("checked-in-boot"):
        file.write_text("an earlier one")


def own(lab: Lab, pattern: str) -> Path:
    (found,) = Path(lab.env["BURNISH_HOME"]).glob(f"projects/*/git/{pattern}")
    return found


def artifacts_ref(lab: Lab) -> Path:
    return lab.repo.path / ".git" / ARTIFACTS


def object_of(lab: Lab, name: str) -> Path:
    return loose(lab, lab.repo.git("rev-parse", name))


OWN: dict[str, Callable[[Lab], Path]] = {
    "index of the workspace": lambda lab: own(lab, "index/1-add-division"),
    "state of the workspace": lambda lab: own(lab, "index/1-add-division.json"),
    "HEAD": lambda lab: own(lab, "HEAD"),
    "HEAD for attributes": lambda lab: own(lab, "attributes/HEAD"),
    "config": lambda lab: own(lab, "config"),
    "pack": lambda lab: packs(lab)[0],
    "index of a pack": lambda lab: packs(lab)[0].with_suffix(".idx"),
    "ref of artifacts": artifacts_ref,
    "id of the repository": lambda lab: lab.repo.path / ".git/refs/burnish/local/id",
    "file among the artifacts": lambda lab: object_of(
        lab, "refs/burnish/artifacts/1-add-division:1-add-division/task.json"
    ),
    "tree of the artifacts": lambda lab: object_of(lab, f"{ARTIFACTS}^{{tree}}"),
    "file of the change": lambda lab: object_of(lab, f"{BRANCH}:app.py"),
    "tree of the first commit": lambda lab: object_of(lab, f"{BRANCH}~1^{{tree}}"),
}


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("way", ["empty", "garbage"])
@pytest.mark.parametrize("name", OWN)
def test_a_torn_file_is_healed_at_the_start_of_a_run(lab: Lab, name: str, way: str) -> None:
    lab.burnish("run")
    lab.add("Another one")
    tear(OWN[name](lab), way)
    start_machine_again(lab)
    lab.burnish("run", "--all")
    assert lab.task(2)["status"] == "verified"
    lab.burnish("merge", "1", code=None)
    assert lab.task(1)["status"] in ("verified", "completed")
    assert user_git_problems(lab) == []
    assert "review-cycle-2.md" in lab.repo.git("ls-tree", "-r", "--name-only", ARTIFACTS)


@pytest.fixture
def rescue(lab: Lab) -> str:
    """A rescue of two new files, one in a folder, and of a change to app.py; its objects are files of their own."""
    lab.burnish("run")
    git = lab.repo.git
    git("switch", "-q", "-c", "scratch")
    lab.repo.commit({name: f"{name}, rescued\n" for name in ("app.py", "one.txt", "sub/two.txt")}, "Rescued")
    git("update-ref", "refs/burnish/rescue/1-1-implement", "scratch")
    git("switch", "-q", "main")
    git("branch", "-q", "-D", "scratch")
    git("reflog", "expire", "--expire=now", "--all")
    return "refs/burnish/rescue/1-1-implement"


@pytest.mark.long
@pytest.mark.parametrize(
    ("torn", "missing", "left"),
    [
        ("one.txt", "one.txt", ["app.py", "sub/two.txt"]),
        ("sub/two.txt", "sub/two.txt", ["app.py", "one.txt"]),
        ("sub", "sub/", ["app.py", "one.txt"]),
        ("app.py", "app.py", ["one.txt", "sub/two.txt"]),
    ],
)
def test_what_can_be_read_of_a_damaged_rescue_is_saved(
    lab: Lab, rescue: str, torn: str, missing: str, left: list[str]
) -> None:
    old = lab.repo.git("rev-parse", rescue)
    tear(object_of(lab, f"{rescue}:{torn}"), "empty")
    start_machine_again(lab)
    lab.add("Another one")
    said = lab.burnish("run")
    assert f"{rescue} has what can be read, without {missing}" in said.err
    assert user_git_problems(lab) == []
    changed = lab.repo.git("diff", "--name-only", "main", rescue).splitlines()
    assert changed == left, "a file that cannot be read is as it was in the base"
    assert lab.repo.git("show", f"{rescue}:{left[0]}") == f"{left[0]}, rescued"
    assert lab.repo.git("log", "-1", "--format=%B", rescue).split() == [
        "Rescued",
        *f"No longer readable: {missing}".split(),
    ]
    assert own(lab, "kept/broken-refs/*").read_text() == old


@pytest.mark.long
def test_a_rescue_of_which_nothing_can_be_read_is_removed(lab: Lab, rescue: str) -> None:
    tear(object_of(lab, f"{rescue}^{{tree}}"), "zeros")
    start_machine_again(lab)
    lab.add("Another one")
    assert f"{rescue} points to" in lab.burnish("run").err
    assert (lab.refs("refs/burnish/rescue/"), user_git_problems(lab)) == ({}, [])


@pytest.mark.long
@pytest.mark.parametrize("name", ["index of the workspace", "state of the workspace", "HEAD"])
def test_a_phase_that_was_cut_goes_on_with_a_torn_file(lab: Lab, name: str) -> None:
    lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT="work-replied:2")
    tear(OWN[name](lab), "cut")
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    assert user_git_problems(lab) == []


@pytest.mark.slow
def test_locks_from_before_the_start_of_the_machine_stop_no_run_and_younger_ones_stay(lab: Lab) -> None:
    lab.burnish("run")
    git = lab.repo.path / ".git"
    locks = [git / name for name in (f"refs/heads/{BRANCH}.lock", f"{ARTIFACTS}.lock", "packed-refs.lock")]
    young = git / "refs" / "burnish" / "young.lock"
    for lock in (*locks, young):
        lock.touch()
        if lock != young:
            os.utime(lock, (1, 1))
    said = lab.burnish("retry", "1", "--restart")
    assert (lab.task()["status"], [lock for lock in locks if lock.exists()]) == ("verified", []), said
    assert young.exists()


@pytest.mark.long
@pytest.mark.parametrize("name", ["ref of artifacts", "file among the artifacts", "file of the change"])
def test_doctor_names_what_is_torn_and_what_puts_it_right(lab: Lab, name: str) -> None:
    lab.burnish("run")
    assert "damage" not in lab.burnish("doctor", code=None).out
    tear(OWN[name](lab), "empty")
    said = lab.burnish("doctor", code=None).out
    assert "damage" in said and "burnish run" in said


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("name", ["tree of the artifacts", "file among the artifacts"])
def test_the_run_after_doctor_puts_right_what_doctor_named(lab: Lab, name: str) -> None:
    """Without another start of the machine: objects were read at its first run."""
    lab.burnish("run")
    lab.add("Another one")
    OWN[name](lab).unlink()
    assert "damage" in lab.burnish("doctor", code=None).out
    lab.burnish("run")
    assert user_git_problems(lab) == []
    assert "damage" not in lab.burnish("doctor", code=None).out
    assert (lab.task(1)["status"], lab.task(2)["status"]) == ("verified", "verified")


def test_a_commit_in_a_damaged_pack_is_not_approved(lab: Lab) -> None:
    lab.burnish("run")
    lab.repo.git("gc", "-q")
    drop_copies(lab)
    for pack in packs(lab):
        tear(pack, "empty")
    task = lab.task()
    assert (task["status"], task["reason"]) == ("blocked", "branch_gone")


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("way", WAYS)
def test_a_torn_log_of_the_database_costs_no_more_than_what_was_in_it(lab: Lab, way: str) -> None:
    lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT="work-finished:2")
    home = Path(lab.env["BURNISH_HOME"])
    for file in home.glob("burnish.db*"):
        # this process, which added the task, may still have the old files open: the machine was started again
        data = file.read_bytes()
        file.unlink()
        file.write_bytes(data)
    assert (home / "burnish.db-wal").stat().st_size
    tear(home / "burnish.db-wal", way)
    lab.burnish("run", code=None)
    tasks = lab.burnish("status", "--json").json["tasks"]
    assert [task["status"] for task in tasks] in (["verified"], []), "the task itself was in the log"
    assert user_git_problems(lab) == []


@pytest.mark.parametrize("torn", [b"\0" * 40, b'[{"report": {"name"'])
def test_torn_results_of_checks_do_not_stop_a_review(lab: Lab, torn: bytes) -> None:
    lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT="review-replied:2")
    (results,) = Path(lab.env["BURNISH_HOME"]).glob("projects/*/tasks/*/stamps/checks-1-2")
    results.write_bytes(torn)
    lab.burnish("run")
    assert lab.task()["status"] == "verified"


@pytest.mark.representatives(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("number", range(FILES_EACH))
def test_no_torn_file_stops_a_task_or_harms_the_user(
    tmp_path: Path, count_attacks: CountAttacks, way: str, moment: str, number: int
) -> None:
    lab = Lab.make(tmp_path / "lab", extra=CHECKS)
    theirs = user_objects(lab)
    lab.add()
    lab.apart("run", code=None, **({"BURNISH_FAILPOINT": moment} if moment else {}))
    torn = random.Random(f"{way}{moment}{number}").choice(own_files(lab, theirs))
    tear(torn, way)
    start_machine_again(lab)
    lab.burnish("run", code=None)
    if lab.task()["status"] != "verified":
        lab.burnish("retry", "1", code=None)
    stuck, harmed = lab.task()["status"] != "verified", user_git_problems(lab)
    count_attacks("torn file of burnish's: task stuck", 1, int(stuck))
    count_attacks("torn file of burnish's: user's git harmed", 1, int(bool(harmed)))
    assert not stuck and harmed == [], torn
