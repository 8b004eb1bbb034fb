"""Many tasks: order, dependencies, two runners sharing the work."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from burnish.core.task import Task
from burnish.engine.pool import LOOK_AGAIN, Pool, Watch
from burnish.engine.ports import NO_BUDGET, Deps
from testing.lab import APPROVE, Lab
from testing.long_forms import IS_LONG

OWN_FILE = """
time.sleep(0.05)
if "fail me" in prompt:
    sys.exit(3)
pathlib.Path(f"task-{task}.py").write_text(f"x = {task}\\n")
"""
OWN_JUDGE = "print(verdict('approved', inspected=[f'task-{n}.py' for n in range(30)]))"


@pytest.mark.slow
def test_many_tasks_under_two_runners_all_end_right_while_one_fails(tmp_path: Path) -> None:
    count = 20 if IS_LONG else 10
    lab = Lab.make(tmp_path, author=OWN_FILE, judge=OWN_JUDGE)
    before = lab.repo.fingerprint()
    for number in range(1, count + 1):
        lab.add(f"Task {number}", *(["-d", "fail me"] if number == 7 else []))
    runners = [lab.start("run", "--all", "-j", "8") for _ in range(2)]
    ended = [(r.communicate(timeout=120), r.returncode) for r in runners]
    assert sorted(code for _, code in ended)[-1] == 3, ended
    tasks = {t["id"]: t for t in lab.burnish("status", "--json").json["tasks"]}
    assert Counter(t["status"] for t in tasks.values()) == {"verified": count - 1, "failed": 1}
    assert tasks["7"]["error"] == "AGENT_FAILED"
    assert set(lab.paid().values()) == {1}
    for id, task in tasks.items():
        if id != "7":
            assert lab.text(task["branch"], f"task-{id}.py") == f"x = {id}"
            assert lab.phases_committed(task["branch"]) == [("1", "implement")]
    ids = [e["id"] for e in lab.events()]
    assert ids == list(range(1, len(ids) + 1))
    assert lab.repo.fingerprint() == before and lab.processes() == []


@pytest.mark.slow
def test_the_higher_priority_goes_first_then_the_older(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=OWN_FILE, judge=OWN_JUDGE)
    for priority in ("0", "5", "0", "9"):
        lab.add("Task", "--priority", priority)
    lab.burnish("run", "--all")
    assert [c["task"] for c in lab.calls() if c["phase"] == "implement"] == ["4", "2", "1", "3"]


def test_a_dependent_task_starts_from_the_branch_it_builds_on(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=OWN_FILE, judge=OWN_JUDGE)
    lab.add("First")
    lab.add("Second", "--depends-on", "1")
    lab.burnish("run", "--all", "-j", "2")
    first, second = lab.task(1), lab.task(2)
    assert second["base"] == first["commit"]
    assert lab.text(second["branch"], "task-1.py") == "x = 1"
    assert "task-1.py" not in lab.burnish("diff", "2").out


@pytest.mark.long
def test_several_dependencies_are_merged_for_the_one_that_needs_them(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=OWN_FILE, judge=OWN_JUDGE)
    lab.add("First")
    lab.add("Second")
    lab.add("Third", "--depends-on", "1", "--depends-on", "2")
    lab.burnish("run", "--all", "-j", "2")
    branch = lab.task(3)["branch"]
    assert [lab.text(branch, f"task-{n}.py") for n in (1, 2, 3)] == ["x = 1", "x = 2", "x = 3"]


@pytest.mark.long
def test_dependencies_that_contradict_each_other_are_a_clear_failure_and_nothing_more(tmp_path: Path) -> None:
    author = "app.write_text(f'x = {task}\\n')"
    lab = Lab.make(tmp_path, author=author, judge=APPROVE)
    lab.add("First")
    lab.add("Second")
    lab.add("Third", "--depends-on", "1", "--depends-on", "2")
    said = lab.burnish("run", "--all", code=3)
    task = lab.task(3)
    assert (task["status"], task["error"]) == ("failed", "GIT_ERROR")
    assert "do not merge cleanly" in said.out + said.err
    # merged by hand, it starts
    lab.repo.git("merge", "-q", lab.task(1)["branch"])
    lab.repo.git("merge", "-q", "-s", "ours", lab.task(2)["branch"])
    lab.burnish("run", "3")
    assert lab.task(3)["status"] == "verified"


def test_a_task_whose_dependency_failed_waits_and_is_reported(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=OWN_FILE, judge=OWN_JUDGE)
    lab.add("First", "-d", "fail me")
    lab.add("Second", "--depends-on", "1")
    lab.add("Third", "--depends-on", "2")
    said = lab.burnish("run", "--all", "-j", "3", code=3)
    assert "Task 2 is waiting: it depends on 1 (failed)" in said.out
    assert "Task 3 is waiting: it depends on 2 (backlog)" in said.out
    said = lab.burnish("run", "2", code=1)
    assert "Task 2 is waiting" in said.out
    assert lab.task(2)["status"] == "backlog"


def test_a_circle_is_refused_by_name(lab: Lab) -> None:
    lab.add("First")
    lab.add("Second", "--depends-on", "1")
    lab.add("Third", "--depends-on", "2")
    said = lab.burnish("edit", "1", "--depends-on", "3", code=2)
    assert "1 → 3 → 2 → 1" in said.err
    lab.burnish("edit", "1", "--depends-on", "1", code=2)
    assert lab.task(1)["depends_on"] == []


@pytest.mark.long
def test_without_ids_one_task_is_run_the_next_ready_one(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=OWN_FILE, judge=OWN_JUDGE)
    lab.add("First")
    lab.add("Second")
    lab.burnish("run")
    assert [lab.task(n)["status"] for n in (1, 2)] == ["verified", "backlog"]


@pytest.mark.slow
def test_an_agent_with_a_limit_is_never_called_more_often_at_once(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=OWN_FILE.replace("0.05", "0.2"), judge=OWN_JUDGE)
    text = lab.settings("").replace("robot.py']}", "robot.py'], max_parallel: 2}")
    lab.commit_settings(text)
    for _ in range(5):
        lab.add("Task")
    lab.burnish("run", "--all", "-j", "5")
    signed = [(c["time"], 1) for c in lab.calls("start") if c["agent"] == "robot"]
    signed += [(c["time"], -1) for c in lab.calls("end") if c["agent"] == "robot"]
    level = most = 0
    for _, step in sorted(signed):
        level += step
        most = max(most, level)
    assert most <= 2


class _CountingLog:
    """An event log without ready tasks that counts how often all tasks are read."""

    def __init__(self) -> None:
        self.newest, self.reads = 1, 0

    def last_event(self) -> int:
        return self.newest

    def tasks(self) -> list[Task]:
        self.reads += 1
        return []

    def claim(self, ids: object) -> None:
        return None


def test_an_idle_run_reads_all_tasks_only_if_something_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    log, now = _CountingLog(), [100.0]
    monkeypatch.setattr("burnish.engine.pool.time.monotonic", lambda: now[0])
    deps = SimpleNamespace(event_log=log, has_limits=lambda: False, has_room=lambda: True, budget_tracker=NO_BUDGET)
    watch = Watch(lambda task: None, clock=lambda: now[0])
    pool = Pool(cast(Deps, deps), None, watch=watch)
    for _ in range(20):
        assert pool._claim() is None
    assert log.reads == 1
    log.newest += 1
    for _ in range(20):
        pool._claim()
    assert log.reads == 2
    # a runner that died leaves no event, and a retry becomes due by itself
    now[0] += LOOK_AGAIN
    pool._claim()
    assert log.reads == 3
    watch.due[7] = now[0]
    pool._claim()
    assert log.reads == 4


def test_another_task_starts_only_if_it_fits_into_memory() -> None:
    log, has_room = _CountingLog(), [False]
    deps = SimpleNamespace(
        event_log=log, has_limits=lambda: False, has_room=lambda: has_room[0], budget_tracker=NO_BUDGET
    )
    pool = Pool(cast(Deps, deps), None, watch=Watch(lambda task: None))
    pool.running.add(1)
    assert pool._claim() is None and pool.is_short and log.reads == 0
    # the first task is started in any case
    pool.running.clear()
    pool._claim()
    assert not pool.is_short and log.reads == 1
