"""A branch that is moved while it is being judged: what was not judged is not approved, and the run ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import Lab

# Puts a file on the task's branch in the user's repository, as an agent can that runs without a sandbox.
MOVES = """
import subprocess
def git(*argv, text=None):
    done = subprocess.run(["git", "-C", REPO, *argv], input=text, capture_output=True, text=True, check=True)
    return done.stdout.strip()
tip = git("rev-parse", BRANCH)
blob = git("hash-object", "-w", "--stdin", text=f"planted = {time.time()}\\n")
files = [line for line in git("ls-tree", tip).split("\\n") if not line.endswith("planted.py")]
tree = git("mktree", text="\\n".join([*files, f"100644 blob {blob}\\tplanted.py"]) + "\\n")
made = git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit-tree", "-p", tip, "-m", "x", tree)
git("update-ref", BRANCH, made, tip)
"""


def moving_lab(tmp_path: Path, *, moves: int) -> Lab:
    """The reviewer moves the branch in its first `moves` cycles, and approves each time."""
    lab = Lab.make(tmp_path, author="app.write_text(app.read_text() + '# x\\n')")
    names = f"REPO, BRANCH = {str(lab.repo.path)!r}, 'refs/heads/burnish/1-add-division'\n"
    indented = MOVES.strip().replace("\n", "\n    ")
    approve = "print(verdict('approved', 'good', inspected=['app.py', 'planted.py']))"
    lab.agent("judge", f"{names}if cycle <= {moves}:\n    {indented}\n{approve}")
    lab.add()
    return lab


@pytest.mark.slow
def test_a_reviewer_that_moves_the_branch_each_time_stops_the_task(tmp_path: Path) -> None:
    lab = moving_lab(tmp_path, moves=20)
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert (task["status"], task["reason"]) == ("blocked", "stalled"), task
    assert "moved 4 times while it was being judged" in task["note"]
    assert len([call for call in lab.calls() if call["phase"] == "review"]) == 4
    assert lab.events("review.approved") == []
    lab.burnish("merge", "1", code=4)


def test_a_branch_that_is_moved_once_is_judged_again_as_it_is_now(tmp_path: Path) -> None:
    lab = moving_lab(tmp_path, moves=1)
    lab.burnish("run")
    task = lab.show(1)
    assert (task["status"], task["cycle"]) == ("verified", 2)
    assert "planted.py" in lab.repo.git("ls-tree", "--name-only", task["commit"])


# Makes a change that the first review does not want, and undoes it.
UNDOES = """
backup = pathlib.Path(os.environ["HOME"]) / "app.py"
if phase == "implement":
    backup.write_text(app.read_text())
    app.write_text(app.read_text() + "# x\\n")
else:
    app.write_text(backup.read_text())
"""
LENIENT = 'print(verdict("changes_requested", "no", [flaw]) if cycle == 1 else verdict("approved", "good"))'


def test_a_change_that_its_author_undoes_is_not_approved_by_a_lenient_reviewer(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=UNDOES, judge=LENIENT)
    lab.add()
    lab.burnish("run", code=1)
    _assert_nothing_to_judge(lab)


def test_a_branch_that_is_moved_back_to_its_base_is_not_approved(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    move = f"git -C {lab.repo.path} update-ref refs/heads/burnish/1-add-division {lab.repo.git('rev-parse', 'HEAD')}"
    lab.agent("judge", f"os.system({move!r})\nprint(verdict('approved', 'good'))")
    lab.add()
    lab.burnish("run", code=1)
    _assert_nothing_to_judge(lab)


def _assert_nothing_to_judge(lab: Lab) -> None:
    task = lab.show(1)
    assert (task["status"], task["reason"]) == ("blocked", "no_changes"), task
    assert "has the same files as its base" in task["note"]
    assert lab.events("review.approved") == [] and len(lab.calls()) < 6
