"""What a person does by hand: retry, restart, remove, done, override; and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import AUTHOR, CRITIC, Lab


def facts(lab: Lab) -> tuple[object, ...]:
    return lab.events(), lab.refs("refs/"), lab.repo.fingerprint()


@pytest.mark.slow
def test_restart_begins_anew_from_the_base_and_keeps_the_old_branch_under_rescue(lab: Lab) -> None:
    lab.add()
    lab.burnish("run")
    old = lab.task()
    lab.repo.commit({"news.py": "1\n"})
    lab.burnish("retry", "1", "--restart")
    new = lab.task()
    assert (new["status"], new["branch"], new["cycle"]) == ("verified", old["branch"], 2)
    assert new["base"] == lab.repo.git("rev-parse", "main") != old["base"]
    assert old["commit"] in lab.refs("refs/burnish/rescue/").values()
    assert len(lab.calls()) == 8
    lab.burnish("retry", "1", "--restart")
    assert {old["commit"], new["commit"]} <= set(lab.refs("refs/burnish/rescue/").values())


@pytest.mark.long
def test_restart_keeps_files_that_are_never_committed_because_of_their_names(lab: Lab) -> None:
    lab.add()
    lab.burnish("run")
    workspace = Path(lab.burnish("path", "1").out.strip())
    (workspace / ".env").write_text("KEY=mine\n")
    (workspace / "idea.txt").write_text("mine\n")
    said = lab.burnish("retry", "1", "--restart", "--later").err
    (event,) = lab.events("phase.rescued")
    kept = Path(event["data"]["withheld"]) / ".env"
    assert kept.read_text() == "KEY=mine\n" and kept.stat().st_mode & 0o777 == 0o600
    assert str(kept.parent) in said and ".env" in said and not (workspace / ".env").exists()
    assert lab.text(event["data"]["ref"], "idea.txt") == "mine"


@pytest.mark.slow
def test_retry_after_max_cycles_gives_one_more_cycle_on_the_same_branch(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="app.write_text(app.read_text() + f'# BUG {cycle}\\n')")
    lab.add("Task", "--max-cycles", "2")
    lab.burnish("run", code=1)
    assert lab.task()["reason"] == "max_cycles"
    lab.agent("robot", "app.write_text(app.read_text().replace('# BUG', '# ok'))")
    lab.burnish("retry", "1")
    task = lab.task()
    assert (task["status"], task["cycle"], task["final_verdict"]) == ("verified", 3, "APPROVED")
    assert [phase for _, phase in lab.phases_committed(task["branch"])] == ["implement", "improve", "improve"]


@pytest.mark.slow
def test_three_identical_failures_trip_the_breaker(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="sys.exit(9)")
    lab.add()
    lab.burnish("run", code=3)
    lab.burnish("retry", "1", code=3)
    lab.burnish("retry", "1", code=1)
    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "stalled")
    lab.agent("robot", AUTHOR)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"


def test_a_removed_task_keeps_its_story_and_its_branch(lab: Lab) -> None:
    lab.add()
    lab.burnish("run")
    branch = lab.task()["branch"]
    workspace = Path(lab.burnish("path", "1").out.strip())
    (workspace / "app.py").write_text("my own idea\n")
    lab.burnish("rm", "1")
    assert lab.burnish("status", "--json").json == {"tasks": []}
    assert f"refs/heads/{branch}" in lab.refs("refs/heads/")
    assert any(lab.text(ref) == "my own idea" for ref in lab.refs("refs/burnish/rescue/"))
    assert lab.events(task=1)[-1]["type"] == "task.removed"
    lab.add("Next")
    assert lab.task(2)["title"] == "Next"


def test_a_task_that_others_need_is_not_removed(lab: Lab) -> None:
    lab.add("First")
    lab.add("Second", "--depends-on", "1")
    before = facts(lab)
    assert "needed by 2" in lab.burnish("rm", "1", code=4).err
    assert facts(lab) == before


def test_an_override_needs_a_reason_and_leaves_a_trace(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge="print(verdict('rejected'))")
    lab.add()
    lab.burnish("run", code=1)
    task = lab.task()
    assert (task["status"], task["reason"], task["error"]) == ("blocked", "rejected", "REVIEW_REJECTED")
    assert "REJECTED (1 cycle)" in lab.burnish("status").out and "REVIEW_REJECTED" not in lab.burnish("status").out
    before = facts(lab)
    lab.burnish("edit", "1", "--verdict", "APPROVED", code=2)
    lab.burnish("done", "1", code=2)
    assert facts(lab) == before
    lab.burnish("edit", "1", "--verdict", "approved", "--reason", "it is fine")
    task = lab.task()
    assert (task["status"], task["overrides"], task["reason"], task["error"]) == ("verified", 1, None, None)
    (override,) = lab.events("override.recorded")
    assert override["data"]["explanation"] == "it is fine"
    lab.burnish("done", "1")
    assert lab.task()["status"] == "completed"


@pytest.mark.long
def test_an_overridden_task_stays_verified_at_the_next_run(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge="print(verdict('rejected'))")
    lab.add()
    lab.burnish("run", code=1)
    lab.burnish("edit", "1", "--verdict", "APPROVED", "--reason", "it is fine")
    calls = len(lab.calls())
    lab.burnish("run")
    assert lab.task()["status"] == "verified" and len(lab.calls()) == calls


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("status", "illegal"),
    [
        ("backlog", [["edit", "1", "--verdict", "APPROVED", "--reason", "x"], ["edit", "1", "--status", "backlog"]]),
        ("backlog", [["retry", "1"], ["retry", "1", "--restart"], ["done", "1", "--reason", "x"]]),
        ("verified", [["cancel", "1"], ["retry", "1"], ["edit", "1", "--title", "New", "--status", "backlog"]]),
        ("completed", [["cancel", "1"], ["retry", "1"], ["retry", "1", "--restart"], ["done", "1"]]),
        ("completed", [["edit", "1", "--status", "backlog"], ["edit", "1", "--verdict", "APPROVED", "--reason", "x"]]),
        ("cancelled", [["cancel", "1"], ["done", "1", "--reason", "x"]]),
    ],
)
def test_an_illegal_move_is_refused_with_4_and_changes_nothing(lab: Lab, status: str, illegal: list[list[str]]) -> None:
    lab.add()
    if status in ("verified", "completed"):
        lab.burnish("run")
    if status in ("completed", "cancelled"):
        lab.burnish("done" if status == "completed" else "cancel", "1")
    assert lab.task()["status"] == status
    before = facts(lab)
    for words in illegal:
        said = lab.burnish(*words, code=4)
        assert len(said.err.splitlines()) == 2, said.err
        assert facts(lab) == before, words


@pytest.mark.slow
def test_a_failed_task_goes_on_by_name_but_is_not_taken_by_run_all(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="sys.exit(9)", judge=CRITIC)
    lab.add()
    lab.burnish("run", code=3)
    lab.burnish("run", "--all")
    assert len(lab.calls()) == 1
    lab.agent("robot", AUTHOR)
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"
