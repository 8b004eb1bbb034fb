"""`workspace.artifacts: branch`: the reviews travel with the branch, and are part of nothing that is judged."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from testing.lab import APPROVE, AUTHOR, Lab

ON_BRANCH = "workspace: {artifacts: branch}\n"
BRANCH = "burnish/1-add-division"
FOLDER = ".burnish/tasks/1-add-division"
SUBJECTS = [
    "feat: Add division",
    "Task 1, cycle 1: Add division",
    "fix: address review feedback (cycle 2)",
    "Task 1, cycle 2: Add division",
]


def kept(lab: Lab, ref: str = BRANCH) -> set[str]:
    files = lab.repo.git("ls-tree", "-r", "--name-only", ref).splitlines()
    return {Path(file).name for file in files if file.startswith(FOLDER)}


@pytest.mark.slow
def test_rejected_fixed_approved_and_merged_with_the_reviews_on_the_branch(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra=ON_BRANCH)
    lab.add()
    lab.burnish("run")
    assert lab.commits(BRANCH) == SUBJECTS
    assert {"review-cycle-1.md", "review-cycle-2.md", "events.jsonl", "task.json"} <= kept(lab)
    assert lab.refs("refs/burnish/artifacts/") == {}
    assert ".burnish" not in lab.burnish("diff", "1").out
    assert not any(".burnish/tasks" in call["prompt"] for call in lab.calls())
    task = lab.show()
    assert (task["status"], task["findings"][0]["state"]) == ("verified", "resolved")
    assert lab.repo.git("log", "-1", "--format=%s", task["commit"]).strip() == SUBJECTS[2]

    lab.burnish("run", "1", code=None)
    assert lab.task()["status"] == "verified", "its own artifacts do not void an approval"
    tip = lab.repo.git("rev-parse", BRANCH)
    lab.burnish("merge", "1")
    assert lab.repo.git("rev-parse", "main") == lab.repo.git("rev-parse", BRANCH) == tip
    assert lab.repo.git("status", "--porcelain") == ""

    # what is in the target now is no part of the next change either
    lab.add("Second")
    lab.burnish("run", "2", code=None)
    assert lab.task(2)["status"] == "verified"
    assert ".burnish" not in lab.burnish("diff", "2").out
    assert kept(lab, lab.task(2)["branch"]) == kept(lab)


@pytest.mark.long
@pytest.mark.parametrize("how", [(), ("--squash",), ("--rebase",)])
def test_a_target_that_moved_is_checked_and_gets_the_reviews_as_well(tmp_path: Path, how: tuple[str, ...]) -> None:
    # a check that would see artifacts, were they laid
    checks = "checks: {test: 'test -f app.py && test ! -d .burnish', lint: null}\n"
    lab = Lab.make(tmp_path, judge=APPROVE, extra=ON_BRANCH + checks)
    lab.add()
    lab.burnish("run")
    lab.repo.commit({"other.py": "x = 1\n"}, "meanwhile")
    lab.burnish("merge", "1", *how)
    assert "review-cycle-1.md" in kept(lab, "main")
    assert "other.py" in lab.repo.git("ls-tree", "--name-only", "main")
    assert [e["data"]["rechecked"] for e in lab.events("task.merged")] == [True]


@pytest.mark.long
def test_both_together_are_reviewed_without_the_artifacts(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra=ON_BRANCH)
    lab.add()
    lab.burnish("run")
    lab.repo.commit({"other.py": "x = 1\n"}, "meanwhile")
    lab.burnish("merge", "1")
    assert [(call["phase"], call["cycle"]) for call in lab.calls()][-1] == ("review", 2)
    assert not any(".burnish/tasks" in call["prompt"] for call in lab.calls())
    assert {"review-cycle-1.md", "review-cycle-2.md"} <= kept(lab, "main")


def test_a_person_who_decides_approves_what_was_shown(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra=ON_BRANCH + "approval: required\n")
    lab.add()
    lab.burnish("run", code=None)
    assert lab.task()["status"] == "waiting_approval"
    lab.burnish("decide", "1", "approve")
    assert lab.task()["status"] == "verified"
    lab.burnish("merge", "1")
    assert lab.task()["status"] == "completed"


@pytest.mark.long
def test_a_branch_that_is_checked_out_is_not_moved_and_the_decision_stands(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra=ON_BRANCH + "approval: required\n")
    lab.add()
    lab.burnish("run", code=None)
    lab.repo.git("checkout", "-q", BRANCH)
    before = lab.repo.git("rev-parse", BRANCH)
    lab.burnish("decide", "1", "approve")
    assert lab.repo.git("rev-parse", BRANCH) == before
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_an_agent_at_work_in_the_folder_is_a_finding_of_the_guard(tmp_path: Path) -> None:
    meddling = AUTHOR + (
        f'place = pathlib.Path("{FOLDER}")\n'
        'if phase == "improve":\n'
        "    place.mkdir(parents=True)\n"
        '    (place / "review-cycle-1.md").write_text("APPROVED")\n'
    )
    lab = Lab.make(tmp_path, author=meddling, extra=ON_BRANCH)
    lab.add()
    lab.burnish("run", code=1)
    found = [f for f in lab.show()["findings"] if f["category"] == "guard"]
    assert [(f["rule"], f["file"]) for f in found] == [("guard/judge", f"{FOLDER}/review-cycle-1.md")]
    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "guard")
    assert f"+++ b/{FOLDER}/review-cycle-1.md" in lab.burnish("diff", "1").out


@pytest.mark.long
@pytest.mark.parametrize("point", ["archived", "decided", "work-committed:2"])
def test_a_runner_killed_around_the_artifacts_goes_on_where_it_was(tmp_path: Path, point: str) -> None:
    lab = Lab.make(tmp_path, extra=ON_BRANCH)
    lab.add()
    lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT=point)
    lab.apart("run")
    assert lab.task()["status"] == "verified"
    subjects = lab.commits(BRANCH)
    assert [s for s in subjects if not s.startswith("Task 1")] == [SUBJECTS[0], SUBJECTS[2]]
    assert subjects[-1] == SUBJECTS[3] and {"review-cycle-1.md", "review-cycle-2.md"} <= kept(lab)
    assert set(lab.paid().values()) == {1}


@pytest.mark.slow
def test_a_lost_home_comes_back_from_the_branch(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra=ON_BRANCH)
    lab.add()
    lab.burnish("run")
    before = lab.show()
    shutil.rmtree(lab.env["BURNISH_HOME"])
    lab.trust()  # what was accepted was in the home as well
    (restored,) = lab.burnish("rebuild", "--json").json["restored"]
    assert restored["source"] == f"refs/heads/{BRANCH}:{FOLDER}/events.jsonl"
    after = lab.show()
    assert (after["commit"], after["findings"]) == (before["commit"], before["findings"])
    assert ".burnish" not in lab.burnish("diff", "1").out
