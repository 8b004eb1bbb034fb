"""`burnish store move`: from SQLite to PostgreSQL and back, with every row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from burnish.adapters.stores import open_store
from burnish.cli.main import main
from burnish.core.event import Event
from burnish.core.finding import Category, Finding, Remark, Severity
from burnish.core.task import Spec
from burnish.errors import BadInput, BurnishError, Refused
from burnish.features.store.move import move
from burnish.proc.identity import hold
from burnish.runtime.ports import registered_runner
from burnish.runtime.reader import home_of
from burnish.store import Store
from testing.postgresql import postgresql_server
from testing.storydump import dump, execute


@pytest.fixture
def url() -> Iterator[str]:
    with postgresql_server().database() as found:
        yield found


@pytest.fixture
def project(tmp_path: Path) -> str:
    """A home with a project: tasks, dependencies, findings, an approval, a usage limit."""
    with Store.open(home_of()) as store:
        row = store.project_for(tmp_path / "app/.git", tmp_path / "app", create=True)
        assert row
        for title in ("one", "caf\udce9 \U0001f600", "NUL \0 in it"):
            store.add_task(row.key, Spec(title), max_cycles=3, auto_review=True)
        store.add_task(row.key, Spec("last", depends_on=(1,)), max_cycles=3, auto_review=True)
        finding = Finding("F1", Remark(Category.CODE, Severity.ERROR, "wrong"))
        bound = {"base": "b", "tree": "t", "judge": "j", "commit": "c"}
        phase = {"phase": "implement", "attempt": 1, "tokens": 5, "cost_usd": 0.1 + 0.2}
        store.record(
            row.key,
            1,
            [
                Event("run.started", {"run": 1}, run=1),
                Event("phase.finished", phase, run=1, cycle=1),
                Event("finding.opened", {"finding": finding}, run=1, cycle=1),
                Event("review.approved", bound, run=1, cycle=1),
                Event("task.status", {"from": "backlog", "to": "in_progress", "note": "a\0b"}, run=1),
            ],
        )
        return row.key


def set_database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURNISH__DATABASE", url)


def test_every_row_is_there_afterwards_and_the_old_file_is_untouched(
    url: str, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(home_of()) as old:
        before = dump(old, project)
    file = (home_of() / "burnish.db").read_bytes()
    report = move(url)
    assert (report.rows["tasks"], report.rows["events"], report.rows["needs"]) == (4, 9, 1)
    assert "config.yaml" in report.next
    assert (home_of() / "burnish.db").read_bytes() == file
    set_database(url, monkeypatch)
    with open_store(home_of()) as new:
        assert dump(new, project) == before
        # numbers go on where they ended
        assert new.add_task(project, Spec("new"), max_cycles=3, auto_review=True).id == 5


def test_a_second_time_it_finds_all_rows_there_and_changes_nothing(url: str, project: str) -> None:
    assert move(url).rows == move(url).rows == move(url, dry_run=True).rows


def test_a_database_with_other_tasks_is_refused(url: str, project: str, tmp_path: Path) -> None:
    with Store.open(tmp_path, url=url) as other:
        row = other.project_for(tmp_path / "b/.git", tmp_path / "b", create=True)
        assert row
    for dry_run in (False, True):
        with pytest.raises(Refused, match="not empty"):
            move(url, dry_run=dry_run)
    assert not (home_of() / "burnish.db.moved").exists()


def test_a_dry_run_counts_and_creates_nothing(url: str, project: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "move", "--to", url, "--dry-run"]) == 0
    assert "Would copy: 1 project, 4 tasks, 9 events." in capsys.readouterr().out
    report = move(url, dry_run=True)
    assert report.is_dry_run and report.rows["events"] == 9
    assert not (home_of() / "burnish.db.moved").exists()
    with closing(psycopg.connect(url)) as connection:
        assert connection.execute("SELECT to_regclass('burnish.tasks')").fetchone() == (None,)


def test_it_refuses_while_a_run_is_active(url: str, project: str) -> None:
    with (
        Store.open(home_of()) as store,
        hold(home_of() / "locks") as lock,
        registered_runner(store, lock),
        pytest.raises(Refused, match="A run is active") as caught,
    ):
        move(url)
    assert "burnish stop" in caught.value.hint


def test_the_old_file_is_not_used_by_mistake(url: str, project: str) -> None:
    move(url)
    for opened in (Store.open, Store.open_reading):
        with pytest.raises(Refused, match="were moved to postgresql://burnish@/test") as caught:
            opened(home_of())
        assert "`database`" in caught.value.hint


def test_back_to_sqlite_with_what_was_done_since(url: str, project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    move(url)
    set_database(url, monkeypatch)
    with open_store(home_of()) as new:
        new.add_task(project, Spec("since"), max_cycles=3, auto_review=True)
        expected = dump(new, project)
    assert move("sqlite").rows["tasks"] == 5
    monkeypatch.delenv("BURNISH__DATABASE")
    with open_store(home_of()) as back:
        assert dump(back, project) == expected
    assert len(list(home_of().glob("burnish-*.db"))) == 1, "the file from before is kept"
    with pytest.raises(BadInput, match="SQLite already"):
        move("sqlite")


def test_rows_that_arrive_changed_are_not_kept(url: str, project: str, tmp_path: Path) -> None:
    with Store.open(tmp_path, url=url) as target:
        body = "'BEGIN NEW.note = ''x''; RETURN NEW; END'"
        execute(target, f"CREATE FUNCTION spoil() RETURNS trigger AS {body} LANGUAGE plpgsql")
        execute(target, "CREATE TRIGGER spoil BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION spoil()")
        with pytest.raises(BurnishError, match="differ"):
            move(url)
        assert target.projects() == []


TASKS, EVENTS = 10_000, 100_000


@pytest.mark.slow
def test_a_large_home_is_moved_whole(url: str, project: str) -> None:
    with closing(sqlite3.connect(home_of() / "burnish.db")) as db, db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(tasks)")]
        names = ", ".join(columns)
        values = ", ".join("?" if name == "id" else name for name in columns)
        db.executemany(
            f"INSERT INTO tasks ({names}) SELECT {values} FROM tasks WHERE id = 1", [(n,) for n in range(5, TASKS + 1)]
        )
        line = "'2026-01-01T00:00:00.000Z', ?, 1, 1, 'phase.progress', ?"
        rows = ((project, id, id % TASKS + 1, f'{{"message":"{"x" * 200}"}}') for id in range(10, EVENTS + 1))
        fields = "project, id, ts, task, run, cycle, type, data"
        db.executemany(f"INSERT INTO events ({fields}) VALUES (?, ?, {line})", rows)
        db.execute("UPDATE projects SET next_event = ?, next_task = ?", (EVENTS + 1, TASKS + 1))
    report = move(url)
    assert (report.rows["tasks"], report.rows["events"]) == (TASKS, EVENTS)
    with Store.open(home_of(), url=url) as new:
        assert new.last_event(project) == EVENTS
