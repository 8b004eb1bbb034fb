"""Merging: what is approved and unmoved gets to its target, in the shape that was asked for."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab

# Each task writes a file of its own, so that two of them go together.
OWN_FILE = "pathlib.Path(f'f{task}.py').write_text(f'x = {task}\\n')"
SEES_ALL = "print(verdict('approved', 'good work', inspected=sorted(p.name for p in pathlib.Path('.').glob('*.py'))))"
# passes as long as there are not both files
NOT_BOTH = "checks: {test: 'test ! -f f1.py || test ! -f other.py', lint: null}\n"
PASSES = "checks: {test: 'true', lint: null}\n"


def lab_of(root: Path, extra: str = "", author: str = OWN_FILE) -> Lab:
    return Lab.make(root, author=author, judge=SEES_ALL, extra=extra)


def verified(lab: Lab, title: str = "Add division", *argv: str) -> str:
    number = lab.add(title, *argv)
    lab.burnish("run", number)
    assert lab.task(number)["status"] == "verified"
    return number


def away(lab: Lab) -> None:
    """The user goes to another branch, so that main is checked out nowhere."""
    lab.repo.git("switch", "-q", "-c", "elsewhere")


def parents(lab: Lab, rev: str = "main") -> int:
    return len(lab.repo.git("rev-list", "--parents", "-1", rev).split()) - 1


def test_what_git_shows_in_place_of_the_approved_commit_is_not_checked_out(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    branch = lab.task(verified(lab))["branch"]
    lab.repo.git("checkout", "-q", "-b", "other")
    lab.repo.commit({"app.py": "EVIL\n"}, "other")
    lab.repo.git("checkout", "-q", "main")
    lab.repo.git("replace", branch, "other")
    lab.burnish("merge", "1", code=None)
    assert "EVIL" not in (lab.repo.path / "app.py").read_text()


@pytest.mark.representatives(1)
@pytest.mark.parametrize("checked_out", [True, False])
def test_an_unmoved_target_is_fast_forwarded_to_the_approved_commit(tmp_path: Path, checked_out: bool) -> None:
    lab = lab_of(tmp_path)
    verified(lab)
    if not checked_out:
        away(lab)
    commit = lab.task()["commit"]
    said = lab.burnish("merge", "1", "--json").json
    assert said == {
        "merged": [
            {
                "id": "1",
                "into": "main",
                "commit": commit,
                "how": "fast-forward",
                "rechecked": False,
                "uncountable": [],
                "untested": "",
                "expectations": [],
            }
        ],
        "left": [],
    }
    assert lab.repo.git("rev-parse", "main") == commit
    assert lab.task()["status"] == "completed"
    assert (lab.repo.path / "f1.py").exists() is checked_out
    assert lab.repo.git("status", "--porcelain") == ""
    assert f"refs/heads/{lab.task()['branch']}" in lab.refs("refs/heads/")
    (event,) = lab.events("task.merged")
    assert (event["data"]["into"], event["data"]["commit"], event["data"]["how"]) == ("main", commit, "fast-forward")


@pytest.mark.slow
def test_a_moved_target_is_rechecked_on_the_merged_tree_and_gets_a_merge_commit(tmp_path: Path) -> None:
    log = tmp_path / "checked"
    lab = lab_of(tmp_path, f"checks: {{test: 'ls *.py >> {log}; echo - >> {log}', lint: null}}\n")
    verified(lab)
    tip = lab.repo.commit({"other.py": "z = 1\n"})
    calls = len(lab.calls())
    said = lab.burnish("merge", "1", "--json").json
    assert said["merged"][0]["rechecked"] is True and said["merged"][0]["how"] == "merge"
    assert parents(lab) == 2 and lab.repo.git("rev-parse", "main^1") == tip
    assert lab.repo.git("rev-parse", "main^2") == lab.task()["commit"]
    assert lab.repo.git("log", "-1", "--format=%s", "main") == "Merge task 1: Add division"
    assert "Burnish-Task: 1" in lab.repo.git("log", "-1", "--format=%B", "main")
    assert len(lab.calls()) == calls, "no agent was asked"
    assert "f1.py\nother.py" in log.read_text(), "the checks saw both together"
    assert lab.events("task.merged")[0]["data"]["rechecked"] is True


@pytest.mark.slow
def test_checks_that_fail_on_the_merged_tree_keep_it_out(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, NOT_BOTH)
    verified(lab)
    tip = lab.repo.commit({"other.py": "z = 1\n"})
    said = lab.burnish("merge", "1", code=1)
    assert "test fail on both together" in said.err
    assert lab.repo.git("rev-parse", "main") == tip
    assert lab.task()["status"] in ("in_progress", "code_review") and lab.events("approval.voided")
    assert not lab.events("task.merged")


@pytest.mark.long
@pytest.mark.parametrize("red_before", [False, True])
def test_a_check_that_is_red_by_its_exit_code_alone_is_never_clear(tmp_path: Path, red_before: bool) -> None:
    test = "false" if red_before else "test ! -f other.py"
    lab = lab_of(tmp_path, f"checks: {{test: '{test}', lint: null}}\n")
    # else a person would have to approve what is red before and after
    lab.env["BURNISH__CHECKS__UNCOUNTABLE"] = "accept"
    verified(lab)
    lab.repo.commit({"other.py": "z = 1\n"})
    calls = len(lab.calls())
    said = lab.burnish("merge", "1", code=None)
    assert "test fail on both together, so both together are reviewed" in said.err
    assert [c["phase"] for c in lab.calls()[calls:]] == ["review"]
    assert not any(event["data"].get("rechecked") for event in lab.events("task.merged"))


# One case of two in a JUnit report fails once the file named by the first argument is there, and so does the check.
CASES = """
import pathlib, sys
bad = pathlib.Path(sys.argv[1]).exists()
failure = "<failure message='no'/>" if bad else ""
other = "<testcase classname='t' name='two'/>"
report = f"<testsuite><testcase classname='t' name='one'>{failure}</testcase>{other}</testsuite>"
pathlib.Path(sys.argv[2]).write_text(report)
sys.exit(1 if bad else 0)
"""


@pytest.mark.long
@pytest.mark.parametrize(("file", "clear"), [("app.py", True), ("other.py", False)])
def test_a_case_that_fails_is_clear_only_if_it_failed_before_the_task_began(
    tmp_path: Path, file: str, clear: bool
) -> None:
    (tmp_path / "cases.py").write_text(CASES)
    command = f"['{sys.executable}', '{tmp_path}/cases.py', '{file}', '{{report_dir}}/r.xml']"
    lab = lab_of(tmp_path, f"checks: {{test: {{command: {command}, junit: r.xml}}, lint: null}}\n")
    verified(lab)
    lab.repo.commit({"other.py": "z = 1\n"})
    said = lab.burnish("merge", "1", code=None)
    assert ("fail on both together" in said.err) is not clear
    assert any(event["data"].get("rechecked") for event in lab.events("task.merged")) is clear


@pytest.mark.slow
def test_what_both_sides_touched_is_reviewed_once_and_merged_when_approved(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, PASSES, author="app.write_text(app.read_text() + '\\n\\n\\n\\n# end\\n')")
    verified(lab)
    tip = lab.repo.commit({"app.py": "# start\n" + (lab.repo.path / "app.py").read_text()})
    calls = len(lab.calls())
    said = lab.burnish("merge", "1")
    assert "has changed app.py as well" in said.err
    assert [c["phase"] for c in lab.calls()[calls:]] == ["review"]
    text = lab.text("main")
    assert text.startswith("# start") and text.endswith("# end")
    assert lab.repo.git("rev-parse", "main^1") == tip
    assert lab.task()["status"] == "completed" and lab.task()["base"] == tip


@pytest.mark.long
def test_a_review_of_both_together_that_says_no_keeps_it_out(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, PASSES + "merge: {on_moved: review}\n")
    verified(lab)
    tip = lab.repo.commit({"other.py": "z = 1\n"})
    lab.agent("judge", "print(verdict('changes_requested', 'no', [{**flaw, 'file': 'f1.py', 'line': 1}]))")
    calls = len(lab.calls())
    lab.burnish("merge", "1", code=1)
    assert [c["phase"] for c in lab.calls()[calls:]] == ["review"], "one review, and nobody works"
    assert lab.repo.git("rev-parse", "main") == tip and not lab.events("task.merged")
    assert lab.task()["status"] == "in_progress"
    lab.burnish("merge", "1", code=4)
    lab.agent("robot", "pathlib.Path('f1.py').write_text('x = 9\\n')")
    lab.agent("judge", SEES_ALL)
    lab.burnish("run", "1")
    lab.burnish("merge", "1")
    assert lab.text("main", "f1.py") == "x = 9"


@pytest.mark.long
def test_on_moved_refuse_refuses(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, PASSES + "merge: {on_moved: refuse}\n")
    verified(lab)
    tip = lab.repo.commit({"other.py": "z = 1\n"})
    assert "on_moved: refuse" in lab.burnish("merge", "1", code=4).err
    assert lab.repo.git("rev-parse", "main") == tip and lab.task()["status"] == "verified"


@pytest.mark.slow
def test_squash_is_one_commit_with_title_summary_and_trailers(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    verified(lab)
    base = lab.repo.git("rev-parse", "main")
    lab.burnish("merge", "1", "--squash")
    assert lab.repo.git("rev-parse", "main^") == base
    message = lab.repo.git("log", "-1", "--format=%B", "main")
    assert message.startswith("feat: Add division\n\ngood\n") and "Burnish-Task: 1" in message
    assert lab.repo.git("diff", "main", lab.task()["branch"]) == ""
    assert lab.events("task.merged")[0]["data"]["how"] == "squash"


@pytest.mark.long
def test_rebase_replays_every_commit_with_its_message_and_author(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra=PASSES)
    verified(lab)
    tip = lab.repo.commit({"other.py": "z = 1\n"})
    lab.burnish("merge", "1", "--rebase")
    shape = "--format=%s|%an|%(trailers:key=Burnish-Cycle,valueonly,separator=)"
    assert lab.repo.git("log", "--reverse", shape, f"{tip}..main") == lab.repo.git(
        "log", "--reverse", shape, f"{tip}..{lab.task()['branch']}"
    )
    assert parents(lab) == 1 and lab.repo.git("rev-parse", "main~2") == tip


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("how", [(), ("--squash",), ("--rebase",)])
def test_conflicts_are_listed_and_nothing_changes(tmp_path: Path, how: tuple[str, ...]) -> None:
    lab = Lab.make(tmp_path)
    verified(lab)
    lab.repo.commit({"app.py": "all = 'new'\n"})
    before = lab.refs("refs/"), lab.repo.fingerprint(), lab.events()
    said = lab.burnish("merge", "1", "--json", *how, code=1).json
    assert said["left"][0]["conflicts"] == ["app.py"]
    assert (lab.refs("refs/"), lab.repo.fingerprint(), lab.events()) == before
    assert "conflicts with main in app.py" in lab.burnish("merge", "1", *how, code=1).err


@pytest.mark.slow
def test_uncommitted_work_in_the_way_is_refused_and_stays(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    verified(lab)
    (lab.repo.path / "app.py").write_text("my own work\n")
    before = lab.refs("refs/"), lab.repo.fingerprint(), lab.events()
    said = lab.burnish("merge", "1", code=4)
    assert "uncommitted changes: app.py" in said.err and "git stash" in said.err
    assert (lab.refs("refs/"), lab.repo.fingerprint(), lab.events()) == before
    lab.repo.git("checkout", "app.py")
    (lab.repo.path / "f1.py").write_text("untracked, and in the way\n")
    before = lab.refs("refs/"), lab.repo.fingerprint(), lab.events()
    said = lab.burnish("merge", "1", code=4)
    assert "overwritten by merge: f1.py" in " ".join(said.err.split())
    assert (lab.refs("refs/"), lab.repo.fingerprint(), lab.events()) == before
    (lab.repo.path / "f1.py").rename(lab.repo.path / "notes.txt")
    lab.burnish("merge", "1")
    assert (lab.repo.path / "notes.txt").read_text().startswith("untracked")


@pytest.mark.long
def test_a_target_in_a_linked_worktree_is_fast_forwarded_there(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    verified(lab)
    away(lab)
    lab.repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "main")
    (tmp_path / "linked" / "app.py").write_text("mine\n")
    assert str(tmp_path / "linked") in lab.burnish("merge", "1", code=4).err
    lab.repo.git("-C", str(tmp_path / "linked"), "checkout", "-q", "app.py")
    lab.burnish("merge", "1")
    assert (tmp_path / "linked" / "f1.py").exists() and not (lab.repo.path / "f1.py").exists()


@pytest.mark.long
def test_a_target_in_the_middle_of_a_rebase_is_refused(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    verified(lab)
    lab.repo.commit({"app.py": "one\n"})
    lab.repo.git("-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-q", "-i", "HEAD~1")
    before = lab.refs("refs/"), lab.repo.fingerprint()
    assert "merge or rebase is in progress" in lab.burnish("merge", "1", code=4).err
    assert (lab.refs("refs/"), lab.repo.fingerprint()) == before


@pytest.mark.long
def test_the_users_own_hooks_run_as_they_would_for_them(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    verified(lab)
    hook = lab.repo.path / ".git" / "hooks" / "post-merge"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\npwd > {tmp_path}/hooked\n")
    hook.chmod(0o755)
    lab.burnish("merge", "1")
    assert (tmp_path / "hooked").read_text().strip() == str(lab.repo.path)


@pytest.mark.long
@pytest.mark.parametrize("how", [(), ("--squash",), ("--rebase",)])
def test_stacked_tasks_go_in_order(tmp_path: Path, how: tuple[str, ...]) -> None:
    grow = "app.write_text(app.read_text().replace('    return a + b', f'    # {task}\\n    return a + b'))"
    lab = lab_of(tmp_path, PASSES, author=grow)
    verified(lab, "First")
    verified(lab, "Second", "--depends-on", "1")
    before = lab.refs("refs/"), lab.repo.fingerprint(), lab.events()
    assert "built on task 1 (First)" in lab.burnish("merge", "2", code=4).err
    assert (lab.refs("refs/"), lab.repo.fingerprint(), lab.events()) == before
    lab.burnish("merge", "1", *how)
    lab.burnish("merge", "2", *how)
    assert lab.text("main").splitlines()[1:] == ["    # 1", "    # 2", "    return a + b"]


@pytest.mark.long
def test_a_stack_on_a_moved_target_still_merges_after_a_squash(tmp_path: Path) -> None:
    grow = "app.write_text(app.read_text().replace('    return a + b', f'    # {task}\\n    return a + b'))"
    lab = lab_of(tmp_path, PASSES, author=grow)
    verified(lab, "First")
    verified(lab, "Second", "--depends-on", "1")
    lab.repo.commit({"other.py": "z = 1\n"})
    said = lab.burnish("merge", "--all-verified", "--squash", "--json").json
    assert [one["id"] for one in said["merged"]] == ["1", "2"], said
    assert lab.text("main").splitlines()[1:3] == ["    # 1", "    # 2"] and lab.text("main", "other.py") == "z = 1"


@pytest.mark.long
def test_all_verified_merges_what_can_be_and_says_what_is_left(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, PASSES)
    for title in ("One", "Two", "Three"):
        verified(lab, title)
    lab.add("Not begun")
    lab.repo.commit({"f2.py": "mine = 1\n"})
    said = lab.burnish("merge", "--all-verified", "--json", code=1).json
    assert [one["id"] for one in said["merged"]] == ["1", "3"]
    assert [(one["id"], one["conflicts"]) for one in said["left"]] == [("2", ["f2.py"])]
    assert (lab.task(1)["status"], lab.task(2)["status"]) == ("completed", "verified")
    assert "nothing to merge" not in lab.burnish("merge", "--all-verified", code=1).err


@pytest.mark.long
def test_into_another_branch_carries_only_what_was_approved(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, PASSES)
    lab.repo.git("branch", "release")
    lab.repo.commit({"unreleased.py": "1\n"})
    verified(lab)
    before = lab.refs("refs/heads/")
    assert "does not hold" in lab.burnish("merge", "1", "--into", "release", code=4).err
    assert lab.refs("refs/heads/") == before
    lab.burnish("merge", "1", "--into", "release", "--rebase")
    assert lab.repo.git("ls-tree", "--name-only", "release").split() == ["app.py", "burnish.yaml", "f1.py"]
    lab.burnish("merge", "1", code=4)


@pytest.mark.long
def test_delete_branch_keeps_what_the_target_does_not_have(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    verified(lab)
    branch, commit = lab.task()["branch"], lab.task()["commit"]
    lab.burnish("merge", "1", "--squash", "--delete-branch")
    assert f"refs/heads/{branch}" not in lab.refs("refs/heads/")
    assert commit in lab.refs("refs/burnish/rescue/").values()


@pytest.mark.slow
def test_a_merge_that_was_killed_before_it_was_written_down_is_only_written_down(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    verified(lab)
    lab.repo.git("merge", "-q", "--ff-only", lab.task()["branch"])
    here = lab.repo.git("rev-parse", "main")
    assert lab.burnish("merge", "1", "--json").json["merged"][0]["how"] == "already"
    assert lab.task()["status"] == "completed" and lab.repo.git("rev-parse", "main") == here


@pytest.mark.long
def test_an_agent_cannot_merge(tmp_path: Path) -> None:
    src = Path(__file__).parents[2] / "src"
    sneak = (
        "import subprocess\n"
        f"words = [{sys.executable!r}, '-m', 'burnish.cli', '-C', {str(tmp_path / 'repo')!r}, 'merge', '1']\n"
        f"env = {{'PATH': os.environ['PATH'], 'PYTHONPATH': {str(src)!r}, 'BURNISH_HOME': {str(tmp_path)!r} + "
        "'/home/burnish', 'HOME': '/'}\n"
        "done = subprocess.run(words, capture_output=True, text=True, env=env)\n"
        f"pathlib.Path({str(tmp_path / 'tried')!r}).write_text(str(done.returncode) + done.stderr)\n"
    )
    lab = lab_of(tmp_path)
    verified(lab)
    lab.agent("robot", sneak + OWN_FILE)
    verified(lab, "Second")
    assert (tmp_path / "tried").read_text().startswith("4")
    assert not lab.events("task.merged")


@pytest.mark.representatives(1)
@pytest.mark.parametrize("status", ["backlog", "blocked", "completed"])
def test_only_a_verified_task_is_merged(tmp_path: Path, status: str) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE if status == "completed" else "print(verdict('rejected'))")
    lab.add()
    if status != "backlog":
        lab.burnish("run", code=None)
    if status == "completed":
        lab.burnish("merge", "1")
    before = lab.refs("refs/"), lab.repo.fingerprint(), lab.events()
    assert f"is {status}" in lab.burnish("merge", "1", code=4).err
    assert (lab.refs("refs/"), lab.repo.fingerprint(), lab.events()) == before


@pytest.mark.long
def test_usage_is_told(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    verified(lab)
    lab.burnish("merge", code=2)
    lab.burnish("merge", "1", "--all-verified", code=2)
    lab.burnish("merge", "1", "--squash", "--rebase", code=2)
    for bad in ("nowhere", "burnish/1-add-division", "../x", "-x"):
        lab.burnish("merge", "1", f"--into={bad}", code=2)
    lab.burnish("merge", "9", code=2)


@pytest.mark.long
def test_what_a_person_accepted_against_the_review_is_merged_as_long_as_it_is_that(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge="print(verdict('rejected', 'no'))")
    lab.add()
    lab.burnish("run", code=1)
    lab.burnish("override", "1", "--explain", "the reviewer is wrong")
    lab.burnish("merge", "1")
    assert lab.repo.git("rev-parse", "main") == lab.task()["commit"] and lab.task()["status"] == "completed"


@pytest.mark.slow
def test_two_who_merge_at_once_merge_it_once(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    verified(lab)
    both = [lab.start("merge", "1") for _ in range(2)]
    codes = []
    for one in both:
        with one:
            one.communicate(timeout=60)
            codes.append(one.returncode)
    assert sorted(codes) == [0, 4] and len(lab.events("task.merged")) == 1


@pytest.mark.long
def test_ctrl_c_while_the_checks_run_leaves_everything_as_it_was(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, f"checks: {{test: 'test ! -f other.py || (touch {tmp_path}/slow; sleep 30)', lint: null}}\n")
    verified(lab)
    lab.repo.commit({"other.py": "z = 1\n"})
    before = lab.refs("refs/heads/"), lab.repo.fingerprint()
    with lab.start("merge", "1") as running:
        lab.until((tmp_path / "slow").exists)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30)
    assert running.returncode == 130
    assert (lab.refs("refs/heads/"), lab.repo.fingerprint()) == before
    assert lab.task()["status"] == "verified" and not lab.processes()


@pytest.mark.long
def test_a_person_still_has_the_last_word_on_both_together(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, "approval: required\n")
    lab.add()
    lab.burnish("run", code=1)
    lab.burnish("decide", "1", "approve")
    tip = lab.repo.commit({"other.py": "z = 1\n"})
    assert "burnish decide 1 approve" in lab.burnish("merge", "1", code=1).err
    assert lab.repo.git("rev-parse", "main") == tip and lab.task()["status"] == "waiting_approval"
    lab.burnish("decide", "1", "approve")
    lab.burnish("merge", "1")
    assert lab.text("main", "f1.py") == "x = 1"
