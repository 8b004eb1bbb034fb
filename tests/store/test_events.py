from __future__ import annotations

import threading
from pathlib import Path

import pytest

from burnish.core.event import Event
from burnish.core.status import MOVES, Status
from burnish.core.task import Spec
from burnish.errors import BadInput, Refused
from burnish.store import Store
from testing.storydump import dump


@pytest.fixture
def task(store: Store, project: str) -> int:
    return store.add_task(project, Spec("x"), max_cycles=3, auto_review=True).id


def moved(here: str, there: str, **more: object) -> Event:
    return Event("task.status", {"from": here, "to": there, **more})


WAYS = {
    "backlog": [],
    "in_progress": ["in_progress"],
    "code_review": ["in_progress", "code_review"],
    "waiting_approval": ["in_progress", "code_review", "waiting_approval"],
    "verified": ["in_progress", "code_review", "verified"],
    "completed": ["in_progress", "code_review", "completed"],
    "blocked": ["in_progress", "blocked"],
    "failed": ["in_progress", "failed"],
    "cancelled": ["cancelled"],
}


def go(store: Store, project: str, task: int, to: str) -> None:
    here = "backlog"
    for there in WAYS[to]:
        store.record(project, task, [moved(here, there)])
        here = there


@pytest.mark.parametrize("here", list(Status))
def test_a_move_that_the_table_does_not_know_changes_nothing(
    store: Store, project: str, task: int, home: Path, here: Status
) -> None:
    go(store, project, task, here)
    before = dump(store, project)
    for there in set(Status) - MOVES[here]:
        with pytest.raises(Refused) as caught:
            store.record(project, task, [Event("phase.progress"), moved(here, there)])
        assert caught.value.exit_code == 4
    assert dump(store, project) == before


def test_a_move_from_where_the_task_no_longer_is_is_refused(store: Store, project: str, task: int, home: Path) -> None:
    store.record(project, task, [moved("backlog", "in_progress")])
    before = dump(store, project)
    with pytest.raises(Refused, match="is in_progress now, no longer backlog") as caught:
        store.record(project, task, [moved("backlog", "cancelled")])
    assert f"burnish show {task}" in caught.value.hint
    assert dump(store, project) == before


def test_why_a_task_stands_still_is_cleared_when_it_moves_on(store: Store, project: str, task: int) -> None:
    store.record(project, task, [moved("backlog", "in_progress")])
    stop = moved("in_progress", "blocked", reason="stalled", note="look", final_verdict="CHANGES_REQUESTED")
    store.record(project, task, [stop])
    now = store.task(project, task)
    assert (now.reason, now.note, now.final_verdict) == ("stalled", "look", "CHANGES_REQUESTED")
    store.record(project, task, [moved("blocked", "in_progress", review_status="failed")])
    now = store.task(project, task)
    assert (now.reason, now.error, now.note) == (None, None, "")
    assert (now.final_verdict, now.review_status) == ("CHANGES_REQUESTED", "failed")
    store.record(project, task, [moved("in_progress", "failed", error="TIMEOUT", final_verdict=None)])
    now = store.task(project, task)
    assert (now.error, now.final_verdict, now.review_status) == ("TIMEOUT", None, "failed")


def test_a_word_that_nobody_could_read_back_does_not_get_in(store: Store, project: str, task: int) -> None:
    store.record(project, task, [moved("backlog", "in_progress")])
    with pytest.raises(ValueError, match="bored"):
        store.record(project, task, [moved("in_progress", "blocked", reason="bored")])
    assert store.task(project, task).status is Status.IN_PROGRESS


def test_numbers_have_no_gap_whoever_writes(store: Store, project: str, task: int) -> None:
    def write() -> None:
        for _ in range(25):
            store.record(project, task, [Event("phase.progress", {"n": 1}), Event("phase.progress", {"n": 2})])

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = store.events(project)
    assert [event.id for event in events] == list(range(1, 202))
    # two facts recorded together stand together
    assert [event.data["n"] for event in events[1:]] == [1, 2] * 100


def test_what_was_recorded_is_what_a_reader_gets(store: Store, project: str, task: int) -> None:
    data = {"path": Path("a/b"), "status": Status.BLOCKED, "names": ("x", "caf\udce9"), "n": 1.5}
    told = store.record(project, task, [Event("check.finished", data, run=1, cycle=2)])
    assert store.events(project, since=1) == list(told)
    assert told[0].data == {"path": "a/b", "status": "blocked", "names": ["x", "caf\udce9"], "n": 1.5}
    assert (told[0].run, told[0].cycle, told[0].task, told[0].project) == (1, 2, task, project)


def test_a_reader_misses_nothing_and_gets_only_what_it_asked_for(
    store: Store, project: str, task: int, tmp_path: Path
) -> None:
    other = store.add_task(project, Spec("y"), max_cycles=3, auto_review=True).id
    store.record(project, task, [Event("phase.progress", {"n": n}) for n in range(5)])
    store.record(project, other, [Event("budget.warned"), Event("phase.progress")])
    store.record(project, None, [Event("notify.failed", {"why": "no bus"})])
    assert [e.id for e in store.events(project, since=4)] == [5, 6, 7, 8, 9, 10]
    assert [e.id for e in store.events(project, since=4, limit=2)] == [5, 6]
    assert [e.id for e in store.events(project, task=other)] == [2, 8, 9]
    assert [e.id for e in store.events(project, types=["budget.warned", "notify.failed"])] == [8, 10]
    assert [e.id for e in store.events(project, task=task, types=["phase.progress"], since=3, limit=1)] == [4]
    second = store.project_for(tmp_path / "b/.git", tmp_path / "b", create=True)
    assert second
    store.add_task(second.key, Spec("z"), max_cycles=3, auto_review=True)
    assert [(e.project, e.id) for e in store.events()][-2:] == [(project, 10), (second.key, 1)]
    assert [e.project for e in store.events(types=["task.created"])] == [project, project, second.key]


def test_a_project_that_does_not_exist_is_told(store: Store) -> None:
    with pytest.raises(BadInput, match="no project nowhere"):
        store.record("nowhere", None, [Event("notify.failed")])
    with pytest.raises(BadInput, match="no project nowhere"):
        store.add_task("nowhere", Spec("x"), max_cycles=3, auto_review=True)


def test_a_runner_that_lost_its_claim_writes_nothing(store: Store, project: str, task: int, home: Path) -> None:
    assert store.claim(project, "first", ids=None, is_dead=lambda r: False)
    store.record(project, task, [moved("backlog", "in_progress")], runner="first")
    assert store.claim(project, "second", ids=None, is_dead=lambda r: r == "first")
    before = dump(store, project)
    for events in ([Event("phase.progress")], [moved("in_progress", "code_review")]):
        with pytest.raises(Refused, match="no longer held"):
            store.record(project, task, events, runner="first")
    assert dump(store, project) == before
    store.record(project, task, [Event("task.removed")])
    with pytest.raises(Refused, match="no longer held"):
        store.record(project, task, [Event("phase.progress")], runner="second")
