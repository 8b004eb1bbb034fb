"""PostgreSQL: what differs from SQLite. All other store tests run on both."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from burnish.adapters.stores import open_store
from burnish.core.event import Event
from burnish.core.task import Spec
from burnish.errors import BurnishError, PhaseFailed
from burnish.store import Store, postgresql
from burnish.store.migrate import migrate_database
from burnish.store.postgresql import address, translate
from testing.postgresql import PostgresqlServer, postgresql_server
from testing.storydump import execute
from tests.store.test_open import FIRST_START


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with postgresql_server().database() as url:
        monkeypatch.setenv("BURNISH__DATABASE", url)
        yield url


@pytest.fixture
def server() -> Iterator[PostgresqlServer]:
    """The server, which the test may stop; it runs again afterwards."""
    found = postgresql_server()
    yield found
    if found.process is None or found.process.poll() is not None:
        found.start()


def other_project(store: Store, tmp_path: Path) -> str:
    row = store.project_for(tmp_path / "other" / ".git", tmp_path / "other", create=True)
    assert row is not None
    return row.key


def add(store: Store, project: str, title: str = "x") -> int:
    return store.add_task(project, Spec(title), max_cycles=3, auto_review=True).id


@pytest.mark.slow
def test_three_first_starts_at_once_all_succeed(home: Path, database: str) -> None:
    code = FIRST_START.replace("Store.open(home)", f"Store.open(home, url={database!r})")
    starts = [
        subprocess.Popen([sys.executable, "-c", code, str(home)], stdin=-1, stdout=-1, stderr=-1, text=True)
        for _ in range(3)
    ]
    for start in starts:
        assert start.stdin
        start.stdin.write("go\n")
        start.stdin.flush()
    outputs = [start.communicate(timeout=60) for start in starts]
    assert "".join(err for _, err in outputs) == ""
    assert sorted(out.strip() for out, _ in outputs) == ["1", "2", "3"]


def test_the_home_gets_the_name_of_its_machine_and_no_database(store: Store, project: str, home: Path) -> None:
    add(store, project)
    assert [file.name for file in home.iterdir()] == ["machine"]


def test_its_tables_have_the_columns_and_keys_of_sqlite(store: Store, database: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as db:
        migrate_database(db, tmp_path / "db")
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        expected = {name: [(row[1], row[5]) for row in db.execute(f"PRAGMA table_info({name})")] for name in names}
    columns = """
        SELECT c.column_name, COALESCE(k.ordinal_position, 0) FROM information_schema.columns c
        LEFT JOIN information_schema.table_constraints p
            ON p.table_schema = c.table_schema AND p.table_name = c.table_name AND p.constraint_type = 'PRIMARY KEY'
        LEFT JOIN information_schema.key_column_usage k
            ON k.constraint_name = p.constraint_name AND k.table_schema = p.table_schema
            AND k.column_name = c.column_name
        WHERE c.table_schema = 'burnish' AND c.table_name = %s ORDER BY c.ordinal_position
    """
    with psycopg.connect(database) as connection:
        found = {name: connection.execute(columns, (name,)).fetchall() for name in names}
    assert {name: sorted(rows) for name, rows in found.items()} == {n: sorted(rows) for n, rows in expected.items()}


def test_a_project_that_is_locked_does_not_stop_another_one(
    store: Store, project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = other_project(store, tmp_path)
    monkeypatch.setattr(postgresql, "LOCK_SECONDS", 1)
    with open_store(tmp_path) as late, store._db.writing(project):
        assert add(late, other) == 1
        with pytest.raises(PhaseFailed, match="locked") as caught:
            add(late, project)
        assert (caught.value.code, bool(caught.value.hint)) == ("DATABASE_LOCKED", True)
        assert late.tasks(project) == []
    assert add(store, project) == 1


def test_a_reader_who_has_seen_an_event_has_seen_all_before_it(store: Store, project: str, tmp_path: Path) -> None:
    add(store, project)
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            store.record(project, 1, [Event("phase.progress", {}), Event("phase.progress", {})])

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    try:
        last, end = 0, time.monotonic() + 0.8
        while time.monotonic() < end:
            ids = [event.id for event in store.events(project, since=last)]
            assert ids == list(range(last + 1, last + 1 + len(ids)))
            last += len(ids)
    finally:
        is_over.set()
        for writer in writers:
            writer.join()
    assert last > 10


def test_every_commit_of_another_connection_changes_the_version(store: Store, project: str, home: Path) -> None:
    with open_store(home) as other:
        before = store.version
        assert store.version == before
        add(other, project)
        after = store.version
        assert after != before
        other.register_runner({"id": "r1"})
        assert store.version != after


@pytest.mark.parametrize("text", ["caf\udce9", "a\0b", "100 % :name", "\U0001f600"])
def test_any_text_can_be_stored(store: Store, project: str, text: str) -> None:
    id = add(store, project, text)
    note = {"from": "backlog", "to": "in_progress", "note": text}
    store.record(project, id, [Event("task.status", note)])
    assert store.task(project, id).spec.title == text
    assert store.task(project, id).note
    store.recorded_approvals(project, [store.task(project, id).status])
    assert store.tally([project]).tasks


def test_placeholders_are_translated_and_texts_with_colons_are_not() -> None:
    text = """SELECT '{"a":true}', 'review:%' FROM t WHERE a = :a AND b IN (:b_0, :b_1) AND c LIKE '%"x":"%'"""
    assert re.findall(r"%\((\w+)\)s", translate(text)) == ["a", "b_0", "b_1"]
    assert translate(text).count("%%") == 3


def test_a_database_of_a_newer_version_is_left_alone(store: Store, home: Path) -> None:
    execute(store, "INSERT INTO migrations (version, name) VALUES (9999, 'tomorrow')")
    with pytest.raises(BurnishError, match="written by a newer burnish") as caught:
        open_store(home)
    assert "Upgrade" in caught.value.hint


def test_a_database_in_another_encoding_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = postgresql_server()
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    try:
        with pytest.raises(BurnishError, match="encoding LATIN1") as caught:
            Store.open(home, url=server.url("latin"))
        assert "UTF8" in caught.value.hint
    finally:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute("DROP DATABASE latin WITH (FORCE)")


def test_an_address_is_shown_without_its_password() -> None:
    assert address("postgresql://ann:s3cret@db.example:5433/team") == "postgresql://ann@db.example:5433/team"
    assert address("postgresql://ann@/team?host=/run/pg&password=s3cret") == "postgresql://ann@/team?host=/run/pg"
    with pytest.raises(BurnishError) as caught:
        address("postgresql://ann:s3cret@[db/team")
    assert "s3cret" not in str(caught.value) + caught.value.hint


def test_a_server_that_cannot_be_reached_is_named_without_its_password(home: Path) -> None:
    with pytest.raises(
        PhaseFailed, match=r"Cannot connect to the database postgresql://ann@127\.0\.0\.1:1/t"
    ) as caught:
        Store.open(home, url="postgresql://ann:s3cret@127.0.0.1:1/t")
    assert "s3cret" not in str(caught.value)
    assert "config.yaml" in caught.value.hint


def test_threads_that_wait_hold_no_connection(store: Store, project: str, database: str) -> None:
    has_asked, goes_on = threading.Semaphore(0), threading.Event()

    def ask_and_wait() -> None:
        store.tasks(project)
        add(store, project)
        has_asked.release()
        goes_on.wait(60)

    threads = [threading.Thread(target=ask_and_wait) for _ in range(8)]
    for thread in threads:
        thread.start()
        assert has_asked.acquire(timeout=60)
    with psycopg.connect(database) as other:
        counted = other.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'burnish' AND datname = current_database()"
        ).fetchone()
    goes_on.set()
    for thread in threads:
        thread.join()
    assert counted == (1,)


def test_a_statement_of_a_transaction_whose_connection_was_lost_runs_on_no_other_one(
    store: Store, project: str, database: str
) -> None:
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'burnish'"
    add(store, project)
    with pytest.raises(PhaseFailed, match="lost"), store._db.writing(project):
        with psycopg.connect(database) as other:
            other.execute(f"{kill} AND datname = current_database()")
        for _ in range(2):
            with pytest.raises(PhaseFailed, match="lost"):
                store.tasks(project)
        store.tasks(project)
    assert [task.id for task in store.tasks(project)] == [1]
    assert add(store, project) == 2


@pytest.fixture
def with_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BURNISH_NO_SYNC")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_restart_of_the_server_costs_only_the_open_transaction(
    with_sync: None, store: Store, project: str, server: PostgresqlServer, how: signal.Signals
) -> None:
    add(store, project)
    with pytest.raises(PhaseFailed, match="lost") as caught, store._db.writing(project):
        server.stop(how)
        store.tasks(project)
    assert caught.value.code == "DATABASE_LOCKED"
    found: list[int] = []
    # waits for the server, which is not there yet
    reader = threading.Thread(target=lambda: found.extend(task.id for task in store.tasks(project)))
    reader.start()
    time.sleep(0.3)
    server.start()
    reader.join()
    assert found == [1]
    server.stop(how)
    server.start()
    assert add(store, project) == 2
    assert [event.id for event in store.events(project)] == [1, 2]
