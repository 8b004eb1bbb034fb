from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from burnish.core.event import Event
from burnish.core.finding import Category, Finding, Remark, Severity
from burnish.core.task import Spec
from burnish.store import Store
from burnish.store.database import fill, queries
from burnish.views.status_excerpt import status_excerpt
from burnish.views.task import show_json

TASKS, EVENTS = 1_000, 100_000


@pytest.fixture
def database() -> None:
    """SQLite: this is about its file."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home with a thousand tasks and a hundred thousand events."""
    root = tmp_path_factory.mktemp("large")
    with Store.open(root / "home") as store:
        row = store.project_for(root / "app/.git", root / "app", create=True)
        assert row
        # nothing here has to survive a power cut
        store._db._connection().execute("PRAGMA synchronous = OFF")
        finding = Finding("F1", Remark(Category.CODE, Severity.ERROR, "wrong"))
        life = [
            Event("run.started", {"run": 1}, run=1),
            Event("phase.finished", {"phase": "implement", "attempt": 1, "tokens": 5}, run=1, cycle=1),
            Event("finding.opened", {"finding": finding}, run=1, cycle=1),
        ]
        for n in range(TASKS):
            needs = (n,) if n % 10 else ()
            task = store.add_task(row.key, Spec(f"Task {n}", depends_on=needs), max_cycles=3, auto_review=True)
            store.record(row.key, task.id, life)
    _fill_up(root / "home", row.key)
    return root / "home", row.key


def _fill_up(home: Path, project: str) -> None:
    """Progress, which changes no table: put in by hand, since the log would take its time over it."""
    with closing(sqlite3.connect(home / "burnish.db")) as db, db:
        have = db.execute("SELECT count(*) FROM events").fetchone()[0]
        rows = ((project, id, id % TASKS + 1) for id in range(have + 1, EVENTS + 1))
        line = "'2026-01-01T00:00:00.000Z', ?, 1, 1, 'phase.progress', '{}'"
        db.executemany(
            f"INSERT INTO events (project, id, ts, task, run, cycle, type, data) VALUES (?, ?, {line})", rows
        )
        db.execute("UPDATE projects SET next_event = ?", (EVENTS + 1,))


READS: dict[str, tuple[int, Callable[[Store, str], object]]] = {
    "status": (3, lambda store, project: status_excerpt(store, project, datetime.now(UTC))),
    "list": (1, lambda store, project: store.tasks(project)),
    "show": (6, lambda store, project: show_json(store, project, 500)),
    "findings": (1, lambda store, project: store.findings(project, 500)),
    "waiting": (2, lambda store, project: store.waiting(project)),
    "history": (6, lambda store, project: store.history(project, 500)),
    "events": (1, lambda store, project: store.events(project, since=EVENTS - 10)),
}


# one test and not many: the fixture is dear, and each worker would make its own
def test_a_reading_command_asks_as_little_with_many_tasks_as_with_few(large: tuple[Path, str]) -> None:
    with Store.open(large[0]) as store:
        asked = {}
        for name, (_, read) in READS.items():
            before = store.statements
            assert read(store, large[1]), name
            asked[name] = store.statements - before
        assert asked == {name: most for name, (most, _) in READS.items()}
        assert not [scan for query in BY_INDEX for scan in _scans(store, large[1], query)]


BY_INDEX = (
    "events_of_task",
    "events_of_project",
    "phases_of_run",
    "findings_now",
    "decisions_of_run",
    "claim_next",
)


def _scans(store: Store, project: str, query: str) -> list[str]:
    """The steps of a query that go through a whole table."""
    params = {"project": project, "task": 5, "run": 1, "since": 0, "limit": 9, "dead": [], "busy": []}
    text, flat = fill(queries()[query], params)
    plan = store._db._connection().execute("EXPLAIN QUERY PLAN " + text, flat).fetchall()
    return [f"{query}: {step['detail']}" for step in plan if step["detail"].startswith("SCAN ")]
