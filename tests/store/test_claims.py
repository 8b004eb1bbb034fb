from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from burnish.core.event import Event
from burnish.core.task import Spec
from burnish.store import Store


def add(store: Store, project: str, *needs: int, priority: int = 0) -> int:
    spec = Spec("x", depends_on=needs, priority=priority)
    return store.add_task(project, spec, max_cycles=3, auto_review=True).id


def move(store: Store, project: str, id: int, *way: str) -> None:
    for there in way:
        here = store.task(project, id).status
        store.record(project, id, [Event("task.status", {"from": here, "to": there})])


def take(store: Store, project: str, runner: str = "me", ids: list[int] | None = None, dead: str = "") -> int | None:
    task = store.claim(project, runner, ids=ids, is_dead=lambda r: r == dead)
    return task.id if task else None


def test_the_most_urgent_task_comes_first_then_the_oldest(store: Store, project: str) -> None:
    add(store, project)
    add(store, project, priority=5)
    add(store, project, priority=5)
    add(store, project, priority=-1)
    assert [take(store, project) for _ in range(5)] == [2, 3, 1, 4, None]


def test_a_task_waits_until_its_dependencies_are_approved(store: Store, project: str) -> None:
    add(store, project)
    add(store, project, 1, priority=9)
    assert take(store, project) == 1
    assert take(store, project) is None
    move(store, project, 1, "in_progress", "code_review")
    assert take(store, project, ids=[2]) is None
    move(store, project, 1, "verified")
    assert take(store, project) == 2


def test_only_the_named_tasks_are_taken(store: Store, project: str) -> None:
    for _ in range(3):
        add(store, project)
    assert take(store, project, ids=[3]) == 3
    assert take(store, project, ids=[3]) is None
    assert take(store, project, ids=[]) is None
    assert take(store, project, ids=[99]) is None


@pytest.mark.parametrize("way", [["in_progress"], ["in_progress", "code_review"]])
def test_work_that_a_stopped_runner_left_is_taken_up(store: Store, project: str, way: list[str]) -> None:
    add(store, project)
    take(store, project, "first")
    move(store, project, 1, *way)
    assert take(store, project, "second") is None
    store.release(project, 1, "somebody else")
    assert take(store, project, "second") is None
    store.release(project, 1, "first")
    assert take(store, project, "second") == 1


def test_what_stands_still_or_is_done_is_not_taken(store: Store, project: str) -> None:
    ways = [["in_progress", "blocked"], ["in_progress", "failed"], ["cancelled"]]
    ways += [["in_progress", "code_review", end] for end in ("waiting_approval", "verified", "completed")]
    for way in ways:
        move(store, project, add(store, project), *way)
    store.record(project, add(store, project), [Event("task.removed")])
    assert take(store, project) is None


def test_a_task_that_waits_for_a_persons_word_is_not_taken(store: Store, project: str) -> None:
    add(store, project)
    move(store, project, 1, "in_progress", "code_review")
    wait, go = (
        Event("decision.made", {"action": action, "by": "burnish", "why": ""}, run=1, cycle=1)
        for action in ("wait", "again")
    )
    store.record(project, 1, [wait])
    assert take(store, project) is None and take(store, project, ids=[1]) is None
    store.record(project, 1, [go])
    assert take(store, project) == 1


def test_a_dead_runners_task_is_taken_over_and_the_log_says_so(store: Store, project: str) -> None:
    add(store, project)
    take(store, project, "first")
    move(store, project, 1, "in_progress")
    assert take(store, project, "second", dead="nobody") is None
    assert take(store, project, "second", dead="first") == 1
    (told,) = store.events(project, types=["lock.taken_over"])
    assert (told.task, told.data) == (1, {"from": "first", "by": "second"})
    # even one who is told that it is dead does not take from itself
    assert take(store, project, "second", dead="second") is None


def test_the_second_is_told_who_holds_it(store: Store, project: str) -> None:
    add(store, project)
    assert store.holder(project, 1) is None
    store.register_runner({"id": "r1", "pid": 42, "host": "box", "user": "ann", "command": "burnish run"})
    take(store, project, "r1")
    holder = store.holder(project, 1)
    assert holder and {k: holder[k] for k in ("runner", "pid", "host", "user", "command")} == {
        "runner": "r1",
        "pid": 42,
        "host": "box",
        "user": "ann",
        "command": "burnish run",
    }
    assert holder["since"].endswith("Z")
    store.release(project, 1, "r1")
    assert store.holder(project, 1) is None
    take(store, project, "unregistered")
    unknown = store.holder(project, 1)
    assert unknown and (unknown["runner"], unknown["pid"]) == ("unregistered", None)


def test_runners_are_listed_and_forgotten(store: Store) -> None:
    store.register_runner({"id": "r1", "pid": 1})
    store.register_runner({"id": "r1", "pid": 2})
    assert [(r["id"], r["pid"]) for r in store.runners()] == [("r1", 2)]
    store.forget_runner("r1")
    assert store.runners() == []


TORTURE = bool(os.environ.get("BURNISH_TORTURE"))
WORKERS, TASKS = (16, 1000) if TORTURE else (8, 200)


def seed(store: Store, project: str) -> None:
    for n in range(TASKS):
        add(store, project, priority=n % 3)


def claim_all(store: Store, project: str, runner: str) -> list[int]:
    mine = []
    while task := store.claim(project, runner, ids=None, is_dead=lambda r: False):
        mine.append(task.id)
        store.record(project, task.id, [Event("task.status", {"from": "backlog", "to": "in_progress"})], runner=runner)
    return mine


@pytest.mark.attacks("take a task twice", TASKS)
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_many_threads_never_take_the_same_task(store: Store, project: str) -> None:
    seed(store, project)
    taken: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: taken.extend(claim_all(store, project, f"r{n}"))) for n in range(WORKERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, TASKS + 1))


WORKER = """
import sys
from pathlib import Path
from burnish.adapters.stores import open_store
from burnish.core.event import Event
from burnish.store import Store
home, project, runner = sys.argv[1:]
with open_store(Path(home)) as store:
    sys.stdin.readline()
    while task := store.claim(project, runner, ids=None, is_dead=lambda r: False):
        move = Event("task.status", {"from": "backlog", "to": "in_progress"})
        store.record(project, task.id, [move], runner=runner)
        print(task.id)
"""


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_many_processes_never_take_the_same_task(store: Store, project: str, home: Path) -> None:
    seed(store, project)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(home), project, f"r{n}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(WORKERS)
    ]
    for worker in workers:
        assert worker.stdin
        worker.stdin.write("go\n")
        worker.stdin.flush()
    taken = Counter(id for worker in workers for id in worker.communicate(timeout=600 if TORTURE else 120)[0].split())
    assert [worker.returncode for worker in workers] == [0] * WORKERS
    assert len(taken) == TASKS and set(taken.values()) == {1}
    assert [event.id for event in store.events(project)] == list(range(1, 2 * TASKS + 1))
