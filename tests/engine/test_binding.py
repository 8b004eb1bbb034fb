"""An approval holds for one base, one tree and one judge, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, AUTHOR, CRITIC, Lab

# Moves the task's branch in the user's repository, as a person with a clone would: %s is the repository.
PERSON = """
import subprocess
def git(*words, text=None):
    who = {"GIT_AUTHOR_NAME": "P", "GIT_AUTHOR_EMAIL": "p@e", "GIT_COMMITTER_NAME": "P", "GIT_COMMITTER_EMAIL": "p@e"}
    return subprocess.run(["git", "-C", REPO, *words], input=text, capture_output=True, text=True, check=True,
                          env={**os.environ, **who}).stdout.strip()
def commit_by_hand(branch, text):
    blob = git("hash-object", "-w", "--stdin", text=text)
    tree = git("mktree", text=git("ls-tree", branch) + f"\\n100644 blob {blob}\\tby-hand.py\\n")
    git("update-ref", f"refs/heads/{branch}", git("commit-tree", tree, "-p", branch, "-m", "by hand"))
"""


def by_hand(lab: Lab, text: str = "x = 1\n") -> None:
    names: dict[str, object] = {"REPO": str(lab.repo.path)}
    exec(f"import os\n{PERSON}", names)
    names["commit_by_hand"](lab.task()["branch"], text)  # type: ignore[operator]


def verified(lab: Lab) -> None:
    lab.add()
    lab.burnish("run")
    assert lab.task()["status"] == "verified"


@pytest.mark.slow
def test_a_commit_on_the_branch_voids_the_approval_and_is_reviewed_without_calling_the_author(lab: Lab) -> None:
    verified(lab)
    by_hand(lab)
    calls = len(lab.calls())
    lab.agent("judge", "print(verdict('approved', inspected=['app.py', 'by-hand.py']))")

    said = lab.burnish("run")

    assert "no longer approved: the branch has moved" in said.err and "Improving" not in said.err
    assert "as it is  no agent ran: the branch has moved" in lab.burnish("show", "1").out
    (voided,) = lab.events("approval.voided")
    assert "moved" in voided["data"]["why"]
    task = lab.task()
    assert (task["status"], task["cycle"]) == ("verified", 3)
    assert [c["phase"] for c in lab.calls()[calls:]] == ["review"]
    assert "by-hand.py" in lab.calls()[-1]["prompt"]
    assert [e["data"]["tree"] for e in lab.events("review.approved")][-1] == lab.repo.git(
        "rev-parse", f"{task['branch']}^{{tree}}"
    )


def merge_by_hand(lab: Lab, tree: str) -> None:
    """The target into the task's branch, as the message about conflicts advises."""
    ref = f"refs/heads/{lab.task()['branch']}"
    lab.repo.git("update-ref", ref, lab.repo.git("commit-tree", tree, "-p", ref, "-p", "main", "-m", "main into it"))


@pytest.mark.long
def test_a_target_merged_into_the_branch_by_hand_is_no_part_of_the_change(lab: Lab) -> None:
    verified(lab)
    lab.repo.commit({"news.py": "1\n"})
    merge_by_hand(lab, lab.repo.git("merge-tree", "--write-tree", "main", lab.task()["branch"]))
    assert "news.py" not in lab.burnish("diff", "1").out

    lab.burnish("run")

    task = lab.task()
    assert (task["status"], task["base"]) == ("verified", lab.repo.git("rev-parse", "main"))
    assert lab.calls()[-1]["phase"] == "review" and "news.py" not in lab.calls()[-1]["prompt"]
    assert lab.events("review.approved")[-1]["data"]["base"] == task["base"]
    lab.burnish("merge", "1")
    assert lab.text("main", "news.py") == "1"


def test_a_merge_by_hand_that_undoes_the_target_is_not_merged_on_the_old_approval(lab: Lab) -> None:
    verified(lab)
    lab.repo.commit({"news.py": "1\n"})
    # as `git merge -s ours` does: the approved tree, and the target's history
    merge_by_hand(lab, lab.repo.git("rev-parse", f"{lab.task()['branch']}^{{tree}}"))
    assert "the base has changed" in lab.burnish("merge", "1", code=4).err
    assert "-1" in lab.burnish("diff", "1").out and lab.text("main", "news.py") == "1"


@pytest.mark.long
def test_the_checks_run_on_what_was_committed_by_hand(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra="checks: {test: 'test ! -f by-hand.py', lint: null}\n")
    lab.add("Add division", "--max-cycles", "5")
    lab.burnish("run")
    by_hand(lab)
    lab.agent("robot", "pathlib.Path('by-hand.py').unlink()\napp.write_text(app.read_text() + '# z\\n')")
    lab.burnish("run")
    assert [c["status"] for c in lab.show(1)["cycles"][2]["checks"]] == ["failed"]
    assert (lab.task()["status"], lab.task()["cycle"]) == ("verified", 4)
    assert lab.refs("refs/burnish/rescue/") == {}


@pytest.mark.slow
def test_other_checks_or_reviewers_void_the_approval_other_settings_do_not(lab: Lab) -> None:
    verified(lab)
    lab.settle("hook: {max_rounds: 2}\n")
    assert "No task is ready" in lab.burnish("run").err
    lab.settle("checks: {test: 'true', lint: null}\n")
    lab.burnish("run")
    (voided,) = lab.events("approval.voided")
    assert "checks, reviewers or prompts" in voided["data"]["why"]
    assert lab.task()["status"] == "verified"
    assert [c["phase"] for c in lab.calls()].count("implement") == 1
    # the same tree judged again: no cycle is used up, and what was said before stays
    assert (lab.task()["cycle"], len(lab.show(1)["cycles"])) == (2, 2)
    assert lab.burnish("show", "1").out.count("superseded, done again") == 2
    assert lab.burnish("show", "review-cycle://1/review-cycle-2.md").out.count("agent: judge\n") == 2


@pytest.mark.slow
def test_own_prompts_are_part_of_the_judge(lab: Lab) -> None:
    verified(lab)
    lab.repo.commit({".burnish/prompts/review.system.md": "Be kind.\n"})
    lab.trust()
    lab.burnish("run")
    assert lab.events("approval.voided")


@pytest.mark.slow
def test_a_branch_that_moves_during_the_review_is_not_approved_unseen(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="app.write_text(app.read_text() + 'y = 1\\n')")
    move = (
        f"REPO = {str(lab.repo.path)!r}\n{PERSON}\nif cycle == 1: commit_by_hand('burnish/1-add-division', 'x = 1')\n"
    )
    lab.agent("judge", move + "print(verdict('approved', inspected=['app.py', 'by-hand.py'][:cycle]))")
    lab.add()
    lab.burnish("run")
    task = lab.task()
    assert (task["status"], task["cycle"]) == ("verified", 2)
    assert [c["phase"] for c in lab.calls()] == ["implement", "review", "review"]
    assert "by-hand.py" in lab.calls()[-1]["prompt"]
    tree = lab.repo.git("rev-parse", f"{task['branch']}^{{tree}}")
    assert [e["data"]["tree"] for e in lab.events("review.approved")] == [tree]


@pytest.mark.long
def test_a_branch_that_moves_under_a_working_agent_is_not_undone(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge="print(verdict('approved', inspected=['app.py', 'by-hand.py']))")
    lab.agent(
        "robot", f"REPO = {str(lab.repo.path)!r}\n{PERSON}\ncommit_by_hand('burnish/1-add-division', 'x')\n{AUTHOR}"
    )
    lab.add()
    lab.burnish("run", code=3)
    task = lab.task()
    assert (task["status"], task["error"]) == ("failed", "GIT_ERROR")
    assert "# BUG" in lab.text(next(iter(lab.refs("refs/burnish/rescue/"))))
    lab.agent("robot", AUTHOR)
    lab.burnish("retry", "1")
    assert lab.text(task["branch"], "by-hand.py") == "x"
    assert "div_1" in lab.text(task["branch"])


@pytest.mark.long
def test_a_base_that_ends_in_a_merged_task_of_the_same_number_is_not_taken_for_ours(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    trailers = "Burnish-Task: 1\nBurnish-Cycle: 1\nBurnish-Phase: implement\nBurnish-Agent: robot"
    lab.repo.commit({"other.py": "1\n"}, f"feat: somebody else's\n\n{trailers}")
    verified(lab)
    assert "div_1" in lab.text(lab.task()["branch"])


@pytest.mark.long
def test_retry_brings_back_a_branch_that_somebody_deleted_and_goes_on(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge="print(verdict('needs_discussion'))")
    lab.add()
    lab.burnish("run", code=1)
    branch = lab.task()["branch"]
    first = lab.repo.git("rev-parse", branch)
    lab.repo.git("update-ref", "-d", f"refs/heads/{branch}")
    lab.agent("judge", CRITIC)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"
    assert first in lab.repo.git("rev-list", branch)


@pytest.mark.long
def test_restart_begins_at_the_base_where_somebody_deleted_the_branch(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge="print(verdict('needs_discussion'))")
    lab.add()
    lab.burnish("run", code=1)
    lab.repo.git("update-ref", "-d", f"refs/heads/{lab.task()['branch']}")
    lab.agent("judge", CRITIC)
    lab.burnish("retry", "1", "--restart")
    assert lab.task()["status"] == "verified"
    # Not by commit: an author who does the same in the same second makes the same commit.
    assert [call["phase"] for call in lab.calls()].count("implement") == 2
    assert [phase for _, phase in lab.phases_committed(lab.task()["branch"])] == ["implement", "improve"]


@pytest.mark.long
def test_a_workspace_that_somebody_deleted_is_laid_again(tmp_path: Path) -> None:
    import shutil

    lab = Lab.make(tmp_path, judge="print(verdict('needs_discussion'))")
    lab.add()
    lab.burnish("run", code=1)
    shutil.rmtree(lab.burnish("path", "1").out.strip())
    lab.agent("judge", CRITIC)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"
    assert "if b else None" in lab.text(lab.task()["branch"])


@pytest.mark.slow
def test_done_does_not_close_what_moved_since_it_was_approved(lab: Lab) -> None:
    verified(lab)
    by_hand(lab)
    lab.burnish("done", "1", code=2)
    assert lab.task()["status"] == "code_review"
    assert lab.events("approval.voided")


@pytest.mark.long
def test_other_criteria_void_the_approval_and_the_work_is_judged_by_them(lab: Lab) -> None:
    verified(lab)
    lab.burnish("edit", "1", "--priority", "5", "--max-cycles", "4")
    assert lab.task()["status"] == "verified"

    said = lab.burnish("edit", "1", "--accept", "Says why it fails")

    assert "No longer approved: what the task asks for has changed" in said.err
    (voided,) = lab.events("approval.voided")
    assert "asks for" in voided["data"]["why"] and lab.task()["status"] == "code_review"
    assert "only a verified task" in lab.burnish("merge", "1", code=4).err
    calls = len(lab.calls())
    lab.agent("judge", "print(verdict('approved', compliance=[{'item': 'Says why it fails', 'met': True}]))")
    lab.burnish("run", "1")
    assert [c["phase"] for c in lab.calls()[calls:]] == ["review"] and "Says why it fails" in lab.calls()[-1]["prompt"]
    lab.burnish("merge", "1")


@pytest.mark.long
def test_other_words_while_it_waits_for_a_person_have_it_judged_by_them_first(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="hitl_review: every\n")
    lab.add()
    lab.burnish("run", code=1)
    lab.burnish("edit", "1", "--scope", "app.py alone")
    assert lab.task()["status"] == "code_review"
    lab.burnish("decide", "1", "approve", code=4)
