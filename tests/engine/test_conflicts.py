"""Tasks whose change conflicts with their target: the author resolves it, checks and a review follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import Lab

# Each task changes the same line, and keeps both sides when it is asked to resolve a conflict.
SAME_LINE = """
work = pathlib.Path("work.txt")
if "<<<<<<<" in work.read_text():
    sides = [line for line in work.read_text().split("\\n") if line and line[:7] not in ("<" * 7, "=" * 7, ">" * 7)]
    work.write_text("\\n".join(dict.fromkeys(sides)) + "\\n")
else:
    work.write_text(f"one\\ntask {task}\\nthree\\n")
"""
SEES_ALL = "print(verdict('approved', 'good', inspected=[p.name for p in pathlib.Path('.').iterdir() if p.is_file()]))"


def lab_of(root: Path, author: str = SAME_LINE, judge: str = SEES_ALL, extra: str = "") -> Lab:
    lab = Lab.make(root, author=author, judge=judge, extra=extra)
    lab.repo.commit({"work.txt": "one\ntwo\nthree\n"})
    return lab


def two_tasks(lab: Lab) -> None:
    """Both are approved, and the first is merged: the second conflicts with it."""
    for title in ("Change the line", "Change the same line"):
        lab.add(title)
    lab.burnish("run", "--all")
    assert [lab.task(number)["status"] for number in "12"] == ["verified", "verified"]
    lab.burnish("merge", "1")


def test_two_tasks_that_change_the_same_line_are_both_merged_after_a_rebase(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    two_tasks(lab)
    tip, main = lab.task("2")["commit"], lab.repo.git("rev-parse", "main")
    calls = len(lab.calls())
    lab.burnish("rebase", "2")
    assert [(call["phase"], call["cycle"]) for call in lab.calls()[calls:]] == [("improve", 2), ("review", 2)]
    task = lab.task("2")
    assert (task["status"], task["base"]) == ("verified", main)
    assert lab.repo.git("rev-parse", f"{task['branch']}^1", f"{task['branch']}^2").split() == [tip, main]
    assert lab.repo.git("show", f"{task['branch']}:work.txt") == "one\ntask 2\ntask 1\nthree"
    assert tip in lab.refs("refs/burnish/rescue/").values()
    second_cycle = lab.burnish("show", "2").out.partition("Cycle 2")[2].splitlines()
    assert second_cycle[1] == "  note: main is merged into the branch, with conflicts in work.txt"
    lab.burnish("merge", "2")
    assert lab.repo.git("show", "main:work.txt") == "one\ntask 2\ntask 1\nthree"


def moved_apart(lab: Lab) -> str:
    """One task is approved, then the target gets a commit in another file; returns that commit."""
    lab.add("Change the line")
    lab.burnish("run", "1")
    return lab.repo.commit({"other.txt": "new\n"})


def test_a_target_without_conflicts_is_merged_without_an_author(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    main = moved_apart(lab)
    before, calls = lab.repo.fingerprint(), len(lab.calls())
    lab.burnish("rebase", "1")
    assert [(call["phase"], call["cycle"]) for call in lab.calls()[calls:]] == [("review", 2)]
    task = lab.task()
    assert (task["status"], task["base"]) == ("verified", main)
    assert lab.repo.git("show", f"{task['branch']}:other.txt") == "new"
    assert lab.repo.fingerprint() == before, "the checkout is untouched"
    assert [event["data"]["cause"] for event in lab.events("approval.voided")] == ["base"]
    assert "has the newest commit of main already" in lab.burnish("rebase", "1").out
    assert lab.burnish("merge", "1", "--json").json["merged"][0]["rechecked"] is False


LEAVES_MARKERS = SAME_LINE.replace('if "<<<<<<<" in', 'if cycle > 1: pass\nelif "<<<<<<<" in')


def test_markers_that_are_left_are_refused_and_the_author_is_asked_once_more(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    two_tasks(lab)
    lab.agent("robot", LEAVES_MARKERS)
    tip, calls = lab.task("2")["commit"], len(lab.calls())
    lab.burnish("rebase", "2", code=1)
    assert [(call["phase"], call["cycle"]) for call in lab.calls()[calls:]] == [("improve", 2), ("improve", 2)]
    assert "left conflicts unresolved in work.txt" in lab.calls()[-1]["prompt"]
    task = lab.task("2")
    assert (task["status"], task["reason"], task["commit"]) == ("blocked", "conflict", tip)
    assert lab.repo.git("rev-parse", task["branch"]) == tip
    assert "burnish retry 2" in lab.burnish("inbox").out
    lab.agent("robot", SAME_LINE)
    lab.burnish("retry", "2")
    assert lab.task("2")["status"] == "verified"
    assert lab.text(task["branch"], "work.txt").count("task") == 2


TAKES_ITS_OWN_SIDE = SAME_LINE.replace('if "<<<<<<<" in', 'if "<<<<<<< never" in')
SEES_A_DROPPED_LINE = """
dropped = "-task 1" in prompt and "exactly as before the merge" in prompt and "feat: Change the line" in prompt
found = {"category": "code", "severity": "warning", "title": "drops the change of main", "description": "-task 1",
         "file": "work.txt", "line": 2}
inspected = [p.name for p in pathlib.Path(".").iterdir() if p.is_file()]
print(verdict("changes_requested" if dropped else "approved", "x", [found] if dropped else [], inspected=inspected))
"""


def test_a_reviewer_sees_that_the_resolution_dropped_the_change_of_the_target(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, extra="review: {agents: [judge], max_cycles: 1}\n")
    two_tasks(lab)
    lab.agent("robot", TAKES_ITS_OWN_SIDE)
    lab.agent("judge", SEES_A_DROPPED_LINE)
    lab.burnish("rebase", "2", code=1)
    assert (lab.task("2")["status"], lab.task("2")["reason"]) == ("blocked", "max_cycles")
    findings = {finding["title"]: finding["severity"] for finding in lab.show("2")["findings"]}
    assert findings["drops the change of main"] == "warning", "not kept as info, although the file has not changed"


@pytest.mark.parametrize("by", ["flag", "setting"])
def test_merge_resolves_and_merges_where_it_is_asked_to(tmp_path: Path, by: str) -> None:
    lab = lab_of(tmp_path, extra="merge: {on_conflict: agent}\n" if by == "setting" else "")
    two_tasks(lab)
    said = lab.burnish("merge", "2", "--json", *(["--resolve"] if by == "flag" else []))
    assert said.json["merged"][0]["how"] == "merge"
    assert "Task 2: main is merged into the branch, with conflicts in work.txt." in said.err
    assert "Nothing was changed" not in said.err
    assert lab.repo.git("show", "main:work.txt") == "one\ntask 2\ntask 1\nthree"
    assert lab.task("2")["status"] == "completed"


def test_what_is_not_approved_together_is_not_merged(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, extra="review: {agents: [judge], max_cycles: 1}\n")
    two_tasks(lab)
    main = lab.repo.git("rev-parse", "main")
    lab.agent("judge", "print(verdict('rejected', 'no', rejection_reason='no'))")
    assert "it is blocked" in lab.burnish("merge", "2", "--resolve", code=1).err
    assert lab.repo.git("rev-parse", "main") == main


POINTS = ("work-put-right", "work-started", "work-replied", "work-committed", "work-finished", "review-started")


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_while_a_conflict_is_resolved_costs_no_second_call(tmp_path: Path, point: str) -> None:
    lab = lab_of(tmp_path)
    two_tasks(lab)
    lab.env["BURNISH_FAILPOINT"] = f"{point}:1"
    lab.apart("rebase", "2", code=None)
    del lab.env["BURNISH_FAILPOINT"]
    assert lab.task("2")["status"] in ("in_progress", "code_review")
    lab.burnish("run", "2")
    task = lab.task("2")
    assert (task["status"], task["base"]) == ("verified", lab.repo.git("rev-parse", "main"))
    assert len(lab.repo.git("rev-list", "--merges", f"main..{task['branch']}").split()) == 1
    assert [key for key, count in lab.paid().items() if count > 1] == []


@pytest.mark.slow
@pytest.mark.parametrize("point", ["target-merged", "target-recorded"])
def test_a_kill_while_the_target_is_merged_without_conflicts_makes_no_second_commit(tmp_path: Path, point: str) -> None:
    lab = lab_of(tmp_path)
    main = moved_apart(lab)
    lab.env["BURNISH_FAILPOINT"] = f"{point}:1"
    lab.apart("rebase", "1", code=None)
    del lab.env["BURNISH_FAILPOINT"]
    lab.burnish("run", "1")
    task = lab.task()
    assert (task["status"], task["base"]) == ("verified", main)
    assert len(lab.repo.git("rev-list", "--merges", f"main..{task['branch']}").split()) == 1
    assert [key for key, count in lab.paid().items() if count > 1] == []


def test_the_inbox_and_the_status_tell_a_conflict_and_the_command(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    two_tasks(lab)
    before = lab.repo.fingerprint(), lab.refs("refs/"), lab.events()
    (entry,) = lab.burnish("inbox", "--json").json["inbox"]
    assert (entry["kind"], entry["conflicts"], entry["command"]) == ("conflict", ["work.txt"], "burnish rebase 2")
    assert entry["why"] == "approved, but conflicts with main in work.txt"
    assert "1 task waiting for you\n" in lab.burnish("inbox").out
    status = lab.burnish("status").out
    assert "APPROVED (1 cycle)  conflicts with main in work.txt" in status and "Next: burnish rebase 2" in status
    assert "burnish rebase 2   (it conflicts with main in work.txt)" in lab.burnish("show", "2").out
    assert (lab.repo.fingerprint(), lab.refs("refs/"), lab.events()) == before
    lab.burnish("rebase", "2")
    (entry,) = lab.burnish("inbox", "--json").json["inbox"]
    assert (entry["kind"], entry["why"]) == ("ready", "approved, ready to be merged")


def test_a_conflict_is_looked_for_once_for_the_same_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lab_of(tmp_path)
    two_tasks(lab)
    lab.burnish("inbox")
    monkeypatch.setattr("burnish.git.target_merge.merge_commits", None)
    assert "conflicts with main" in lab.burnish("inbox").out
    (cache,) = (tmp_path / "home/burnish/projects").glob("*/conflicts.json")
    cache.write_text("[1")
    monkeypatch.undo()
    assert "conflicts with main" in lab.burnish("inbox").out, "a damaged cache is made again"


@pytest.mark.long
def test_all_approved_tasks_are_merged_one_after_another(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    for title in ("First", "Second", "Third"):
        lab.add(title)
    lab.burnish("run", "--all")
    report = lab.burnish("merge", "--all-verified", "--resolve", "--json").json
    assert [one["id"] for one in report["merged"]] == ["1", "2", "3"] and report["left"] == []
    assert lab.repo.git("show", "main:work.txt").split("\n") == ["one", "task 3", "task 2", "task 1", "three"]
    # one review of each change, one of each resolution
    assert max(lab.paid().values()) == 1 and len(lab.paid()) == 3 * 2 + 2 * 2


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["2"], ["--all-verified"]])
def test_a_merge_that_is_killed_while_it_resolves_is_continued_by_merge(tmp_path: Path, arguments: list[str]) -> None:
    lab = lab_of(tmp_path)
    two_tasks(lab)
    lab.env["BURNISH_FAILPOINT"] = "work-committed"
    lab.apart("merge", "2", "--resolve", code=None)
    del lab.env["BURNISH_FAILPOINT"]
    if arguments == ["2"]:
        assert "only a verified task can be merged" in lab.burnish("merge", "2", code=4).err
    said = lab.burnish("merge", *arguments, "--resolve")
    assert "Task 2: the merge of its target was interrupted and continues." in said.err
    assert lab.task("2")["status"] == "completed"
    assert lab.repo.git("show", "main:work.txt") == "one\ntask 2\ntask 1\nthree"
    assert max(lab.paid().values()) == 1


@pytest.mark.slow
def test_the_commit_that_is_being_merged_survives_a_gc_of_the_user(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    lab.add("Change the line")
    lab.burnish("run", "1")
    target = lab.repo.commit({"work.txt": "one\ntask of the user\nthree\n"})
    lab.env["BURNISH_FAILPOINT"] = "work-put-right"
    lab.apart("rebase", "1", code=None)
    del lab.env["BURNISH_FAILPOINT"]
    # the user takes the commit back, and cleans the repository up
    lab.repo.git("reset", "-q", "--hard", "main~1")
    lab.repo.git("reflog", "expire", "--expire=now", "--all")
    lab.repo.git("gc", "--prune=now", "-q")
    lab.burnish("run", "1")
    assert (lab.task()["status"], lab.task()["base"]) == ("verified", target)
    assert lab.refs("refs/burnish/merging/") == {}, "the branch has the commit now"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["cancel 1", "cancel 1 then rm 1", "done 1 --reason x"])
def test_a_task_that_ends_during_a_resolution_leaves_no_ref_of_the_target(tmp_path: Path, ending: str) -> None:
    lab = lab_of(tmp_path)
    lab.add("Change the line")
    lab.burnish("run", "1")
    lab.repo.commit({"work.txt": "one\ntask of the user\nthree\n"})
    lab.env["BURNISH_FAILPOINT"] = "work-put-right"
    lab.apart("rebase", "1", code=None)
    del lab.env["BURNISH_FAILPOINT"]
    assert len(lab.refs("refs/burnish/merging/")) == 1
    for words in ending.split(" then "):
        lab.burnish(*words.split())
    assert lab.refs("refs/burnish/merging/") == {}


# The second task continues the branch of the first one.
CONTINUES = """
work = pathlib.Path("work.txt")
lines = [line for line in work.read_text().splitlines() if line[:7] not in ("<" * 7, "=" * 7, ">" * 7)]
if lines == work.read_text().splitlines():
    lines = [line if line in ("one", "three") else line.removeprefix("two") + f" task {task}" for line in lines]
work.write_text("\\n".join(dict.fromkeys(lines)) + "\\n")
"""


def shared_branch(root: Path) -> Lab:
    """Both tasks work on one branch and are approved as it is now."""
    lab = lab_of(root, CONTINUES)
    lab.add("Change the line")
    lab.burnish("run", "1")
    lab.add("Change it further", "-t", "improve", "--of", "1")
    for argv in (("run", "2"), ("review", "2"), ("run", "1")):
        lab.burnish(*argv, code=None)
    assert [lab.task(number)["status"] for number in "12"] == ["verified", "verified"]
    assert lab.task("2")["branch"] == lab.task("1")["branch"]
    return lab


@pytest.mark.long
def test_a_conflict_of_a_shared_branch_is_resolved_by_the_task_that_began_it(tmp_path: Path) -> None:
    lab = shared_branch(tmp_path)
    lab.repo.commit({"work.txt": "one\nmain\nthree\n"})
    conflicts = {one["id"]: one["command"] for one in lab.burnish("inbox", "--json").json["inbox"] if one["conflicts"]}
    assert conflicts == {"1": "burnish rebase 1"}
    assert "burnish merge 1" in lab.burnish("rebase", "2", code=4).err
    lab.burnish("rebase", "1")
    assert [lab.task(number)["status"] for number in "12"] == ["verified", "code_review"], "2 is to be judged again"
    lab.burnish("merge", "1")
    lab.burnish("review", "2", code=None)
    lab.burnish("merge", "2")
    assert [lab.task(number)["status"] for number in "12"] == ["completed", "completed"]
    assert lab.repo.git("show", "main:work.txt").splitlines() == ["one", " task 1 task 2", "main", "three"]


@pytest.mark.long
def test_a_task_on_a_branch_that_is_merged_resolves_its_own_conflict(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, CONTINUES)
    lab.add("Change the line")
    lab.burnish("run", "1")
    lab.add("Change it further", "-t", "improve", "--of", "1")
    lab.burnish("merge", "1")
    for argv in (("run", "2"), ("review", "2")):
        lab.burnish(*argv, code=None)
    lab.repo.commit({"work.txt": "one\nmain\nthree\n"})
    (line,) = lab.burnish("inbox", "--json").json["inbox"]
    assert (line["id"], line["command"]) == ("2", "burnish rebase 2")
    lab.burnish("rebase", "2")
    lab.burnish("merge", "2")
    assert lab.repo.git("show", "main:work.txt").splitlines() == ["one", " task 1 task 2", "main", "three"]
