"""Promises that depend on the store, counted on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from burnish.core.approval import asked_for
from burnish.core.status import Status
from burnish.errors import BurnishError
from burnish.runtime.app import App
from burnish.store.database import SHARED
from testing.approved import app_of, approved
from testing.attack_counts import CountAttacks
from testing.both_stores import BOTH_STORES
from testing.lab import AUTHOR, Lab

TORTURE = bool(os.environ.get("BURNISH_TORTURE"))
pytestmark = [*BOTH_STORES, pytest.mark.slow]

APPROVE = "print(verdict('approved', inspected=[]))"
OWN_FILE = "pathlib.Path(f'own-{task}.txt').write_text(f'{task}\\n')\n"
# burnish in a process whose clock is wrong
SHIFTED = """
import datetime, sys, time
shift, real, right = float(sys.argv.pop(1)), time.time, datetime.datetime
time.time = lambda: real() + shift
class Shifted(right):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)
datetime.datetime = Shifted
from burnish.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
HOLDS = "while not os.path.exists(GATE):\n    time.sleep(0.05)\n"


def test_tasks_side_by_side_lose_no_commit(tmp_path: Path, count_attacks: CountAttacks) -> None:
    """Promise 12: up to 20 tasks of one repository at once."""
    number = 20 if TORTURE else 5
    lab = Lab.make(tmp_path, author=OWN_FILE, judge=APPROVE)
    for n in range(number):
        lab.add(f"Task {n}")
    lab.burnish("run", "--all", "-j", str(number))
    tasks = lab.burnish("status", "--json").json["tasks"]
    lost = [one for one in tasks if lab.phases_committed(lab.show(one["id"])["branch"]) != [("1", "implement")]]
    count_attacks("lose a commit of tasks side by side", number, len(lost))

    assert not lost and len(tasks) == number
    assert {one["status"] for one in tasks} == {"verified"}
    assert set(lab.paid().values()) == {1}
    ids = [event["id"] for event in lab.events()]
    assert ids == list(range(1, len(ids) + 1))


def test_a_decision_on_another_commit_is_refused(tmp_path: Path, count_attacks: CountAttacks) -> None:
    """Promise 4: a person's decision names the commit that the person saw."""
    tries = 100 if TORTURE else 10
    lab = Lab.make(tmp_path, author=AUTHOR, judge=APPROVE, extra="approval: required\n")
    lab.add()
    lab.burnish("run", code=1)
    accepted = 0
    for n in range(tries):
        ended = lab.burnish("decide", "1", "approve", "--commit", f"{n:040x}", code=None)
        accepted += ended.code == 0 or lab.show(1)["status"] != "waiting_approval"
    count_attacks("decide on a commit that was not seen", tries, accepted)

    assert accepted == 0
    lab.burnish("decide", "1", "approve", "--commit", lab.show(1)["commit"])
    assert lab.show(1)["status"] == "verified"


@pytest.mark.parametrize("days", [-1, 0, 1])
def test_a_runner_at_work_keeps_its_task_whatever_the_clock_of_another(
    tmp_path: Path, days: int, count_attacks: CountAttacks
) -> None:
    """Promise 9: a claim breaks on proof of death, never by the age that some clock shows."""
    gate = tmp_path / "gate"
    lab = Lab.make(tmp_path / "lab", author=f"GATE = {str(gate)!r}\n" + HOLDS + AUTHOR, judge=APPROVE)
    lab.add()
    runner = lab.spawn("run", "1")
    end = time.monotonic() + 60
    while not lab.calls() and time.monotonic() < end:
        time.sleep(0.05)
    taken = 0
    for _ in range(3):
        words = [sys.executable, "-c", SHIFTED, str(days * 86400), "-C", str(lab.repo.path), "run", "1"]
        ended = subprocess.run(words, env={**os.environ, **lab.env}, capture_output=True, text=True, timeout=60)
        assert "is being run by" in ended.stderr, ended.stderr
        taken += ended.returncode == 0
    os.kill(runner.pid, signal.SIGSTOP)
    taken += lab.apart("run", "1", code=None).code == 0
    os.kill(runner.pid, signal.SIGCONT)
    gate.touch()
    runner.communicate(timeout=60)
    count_attacks("take a task from a runner at work", 4, taken)

    assert taken == 0 and runner.returncode == 0
    assert set(lab.paid().values()) == {1}


def test_a_stored_approval_is_believed_only_as_it_was_given(tmp_path: Path, count_attacks: CountAttacks) -> None:
    """Promise 1: whatever it is bound to is changed in the database, in its row, in its event, or in both."""
    tries = 1000 if TORTURE else 60
    chance, believed = random.Random(1), 0
    with app_of(Lab.make(tmp_path)) as app:
        task = approved(app, {"own.txt": "1\n"})
        right = app.store.approval(app.key, task.id)
        assert right and is_believed(app, right.tree)
        restore = restoring(app)
        for _ in range(tries):
            column = chance.choice(("base", "tree", "judge", "commit_sha"))
            value = str(getattr(right, column.removesuffix("_sha")))
            at = chance.randrange(len(value))
            wrong = value[:at] + chance.choice([letter for letter in "0123456789abcdef" if letter != value[at]])
            wrong += value[at + 1 :] if chance.random() < 0.8 else ""
            in_row = f"UPDATE approvals SET {column} = replace({column}, :old, :new)"
            in_event = "UPDATE events SET data = replace(data, :old, :new) WHERE type = 'review.approved'"
            in_task = "UPDATE tasks SET base = replace(base, :old, :new)"
            # a commit that is another one in row and event is compared with the branch, not here
            both = [in_row, in_event] if column != "commit_sha" else [in_event]
            statements = chance.choice([[in_row], [in_event], both, *([[in_task]] if column == "base" else [])])
            put(app, statements, value, wrong)
            believed += is_believed(app, right.tree) or (len(statements) == 1 and is_listed(app))
            restore()
        count_attacks("change what a stored approval is bound to", tries, believed)
        assert is_believed(app, right.tree) and is_listed(app), "as it was given"
    assert believed == 0


def test_a_part_of_the_commit_is_not_the_commit_of_an_approval(tmp_path: Path) -> None:
    with app_of(Lab.make(tmp_path)) as app:
        approved(app, {"own.txt": "1\n"})
        assert is_listed(app)
        put(app, ["UPDATE approvals SET commit_sha = substr(commit_sha, :old, :new)"], "1", "7")
        assert not is_listed(app)


def put(app: App, statements: list[str], old: str, new: str) -> None:
    with app.store._db.writing(SHARED):
        for statement in statements:
            app.store._db._rows(statement, {"old": old, "new": new})


def restoring(app: App) -> Callable[[], None]:
    """What writes the approval, its event and the base of the task back as they are now."""
    db = app.store._db
    with db.reading():
        ((base, tree, judge, commit),) = db._rows("SELECT base, tree, judge, commit_sha FROM approvals", {})
        ((data,),) = db._rows("SELECT data FROM events WHERE type = 'review.approved'", {})
        ((base_of_task,),) = db._rows("SELECT base FROM tasks", {})
    values = {
        "base": base, "tree": tree, "judge": judge, "commit": commit, "data": data, "base_of_task": base_of_task
    }  # fmt: skip
    statements = (
        "UPDATE approvals SET base = :base, tree = :tree, judge = :judge, commit_sha = :commit",
        "UPDATE events SET data = :data WHERE type = 'review.approved'",
        "UPDATE tasks SET base = :base_of_task",
    )

    def restore() -> None:
        with db.writing(SHARED):
            for statement in statements:
                db._rows(statement, values)

    return restore


def is_believed(app: App, tree: str) -> bool:
    """By what reads one approval before a merge."""
    task = app.store.task(app.key, 1)
    now = {"base": str(task.base), "tree": tree, "judge": app.policy(task).judge, "asked": asked_for(task.spec)}
    try:
        approval = app.store.approval(app.key, 1)
    except BurnishError:
        return False
    return bool(approval and approval.valid and approval.changed(**now) is None)


def is_listed(app: App) -> bool:
    """By what reads all approvals at the start of a run: whether row, event and task agree."""
    app.store._approval_reader = None
    return all(one.is_unchanged for one in app.store.recorded_approvals(app.key, [Status.VERIFIED]))


TABLES = ("tasks", "events", "phases", "decisions", "findings", "approvals")


def test_a_changed_letter_anywhere_in_the_database_never_makes_an_approval(
    tmp_path: Path, count_attacks: CountAttacks
) -> None:
    """Promise 13: of a task that was rejected."""
    tries = 400 if TORTURE else 40
    chance, made = random.Random(13), 0
    lab = Lab.make(tmp_path, judge="print(verdict('rejected', 'no'))")
    lab.add()
    lab.burnish("run", code=1)
    with app_of(lab) as app:
        cells = texts(app)
        assert len(cells) > 40
        for _ in range(tries):
            table, column, value = chance.choice(cells)
            at = chance.randrange(len(value))
            letter = chr(ord(value[at]) ^ (1 << chance.randrange(7))) if value[at].isascii() else "?"
            wrong = value[:at] + (letter if letter != "\0" else "~") + value[at + 1 :]
            change = f"UPDATE {table} SET {column} = :new WHERE {column} = :old"
            try:
                put(app, [change], value, wrong)
            except (BurnishError, sqlite3.IntegrityError, psycopg.IntegrityError):
                continue  # the database refuses it
            made += has_approval(app)
            put(app, [change], wrong, value)
    count_attacks("make an approval of a damaged record", tries, made)
    assert made == 0


def texts(app: App) -> list[tuple[str, str, str]]:
    """Table, column and value of every text in the database that is there once."""
    found = []
    for table in TABLES:
        for row in app.store._db._rows(f"SELECT * FROM {table}", {}):
            found += [(table, key, row[key]) for key in row.keys() if isinstance(row[key], str) and row[key]]  # noqa: SIM118
    return [cell for cell in found if found.count(cell) == 1]


def has_approval(app: App) -> bool:
    """Whether anything that burnish reads takes the task for approved; damage that is reported is none."""
    app.store._approval_reader = None
    found = []
    for read in (
        lambda: app.store.approval(app.key, 1) is not None,
        lambda: any(one.is_unchanged for one in app.store.recorded_approvals(app.key, list(Status))),
        lambda: app.store.task(app.key, 1).status in (Status.VERIFIED, Status.COMPLETED),
    ):
        try:
            found.append(read())
        except BurnishError:
            found.append(False)
    return any(found)
