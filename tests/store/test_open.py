from __future__ import annotations

import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from burnish.core.event import Event
from burnish.core.task import Spec
from burnish.errors import BurnishError, PhaseFailed
from burnish.store import Store

FIRST_START = """
import sys
from pathlib import Path
from burnish.core.task import Spec
from burnish.store import Store
home = Path(sys.argv[1])
sys.stdin.readline()
with Store.open(home) as store:
    project = store.project_for(home / "app/.git", home / "app", create=True)
    print(store.add_task(project.key, Spec("x"), max_cycles=3, auto_review=True).id)
"""


@pytest.fixture
def database() -> None:
    """SQLite: this is about its file."""


def test_three_first_starts_at_once_all_succeed(home: Path) -> None:
    for round in range(3):
        where = home / str(round)
        starts = [
            subprocess.Popen(
                [sys.executable, "-c", FIRST_START, str(where)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(3)
        ]
        for start in starts:
            assert start.stdin
            start.stdin.write("go\n")
            start.stdin.flush()
        said = [start.communicate(timeout=60) for start in starts]
        assert [err for _, err in said] == ["", "", ""]
        assert sorted(out.strip() for out, _ in said) == ["1", "2", "3"]


def test_nobody_else_can_read_the_database(home: Path, store: Store, project: str) -> None:
    store.add_task(project, Spec("secret plans"), max_cycles=3, auto_review=True)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    files = list(home.iterdir())
    assert {"burnish.db", "burnish.db-wal"} <= {file.name for file in files}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_the_database_is_set_up_for_many_writers_and_power_cuts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BURNISH_NO_SYNC")
    with Store.open(tmp_path / "synced") as store:
        _check_pragmas(store._db._connection())


def _check_pragmas(connection: sqlite3.Connection) -> None:
    pragmas = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30000}


def test_a_database_of_a_newer_version_is_left_alone(home: Path) -> None:
    Store.open(home).close()
    with closing(sqlite3.connect(home / "burnish.db")) as db, db:
        db.execute("INSERT INTO migrations (version, name) VALUES (9999, 'tomorrow')")
    with pytest.raises(BurnishError, match="written by a newer burnish") as caught:
        Store.open(home)
    assert caught.value.exit_code == 3
    assert "Upgrade" in caught.value.hint


def test_a_file_where_the_home_should_be_is_said(home: Path) -> None:
    home.write_text("in the way")
    with pytest.raises(BurnishError, match="Cannot use") as caught:
        Store.open(home)
    assert "BURNISH_HOME" in caught.value.hint


def test_a_directory_where_the_database_should_be_is_said(home: Path) -> None:
    (home / "burnish.db").mkdir(parents=True)
    with pytest.raises(BurnishError, match="Cannot use") as caught:
        Store.open(home)
    assert caught.value.hint


def test_a_database_that_may_not_be_written_is_said(store: Store, project: str) -> None:
    # what SQLite answers on a read-only file, even to root
    store._db._connection().execute("PRAGMA query_only = ON")
    with pytest.raises(BurnishError, match="Cannot open or write") as caught:
        store.add_task(project, Spec("x"), max_cycles=3, auto_review=True)
    assert "BURNISH_HOME" in caught.value.hint


@pytest.mark.parametrize(("flag", "cause"), [(os.ST_RDONLY, "Read-only file system"), (0, "Permission denied")])
def test_the_reason_why_a_home_may_not_be_written_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, flag: int, cause: str
) -> None:
    Store.open(home).close()
    monkeypatch.setattr(os, "access", lambda *args: False)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=flag))
    with pytest.raises(BurnishError, match=cause):
        Store.open(home)
    with Store.open_reading(home) as store:
        assert store.obstacle and cause in store.obstacle.what


def test_a_file_that_is_no_database_is_called_damaged(home: Path) -> None:
    home.mkdir()
    (home / "burnish.db").write_bytes(b"this is not a database, by any means\n" * 200)
    with pytest.raises(BurnishError, match="damaged") as caught:
        Store.open(home)
    assert "burnish rebuild" in caught.value.hint


def test_a_damaged_page_is_reported_when_it_is_read(home: Path, tmp_path: Path) -> None:
    with Store.open(home) as store:
        project = store.project_for(tmp_path / "a/.git", tmp_path / "a", create=True)
        assert project
        for n in range(200):
            store.add_task(project.key, Spec(f"task {n}", description="x" * 500), max_cycles=3, auto_review=True)
    path = home / "burnish.db"
    whole = bytearray(path.read_bytes())
    # all pages but the first few, which hold the schema
    for at in range(4096 * 30, len(whole)):
        whole[at] = 0xAA
    path.write_bytes(bytes(whole))
    with Store.open(home) as store, pytest.raises(BurnishError, match="damaged"):
        store.events(project.key)


def test_whatever_byte_is_wrong_it_is_told_in_words(home: Path, tmp_path: Path) -> None:
    with Store.open(home) as store:
        project = store.project_for(tmp_path / "a/.git", tmp_path / "a", create=True)
        assert project
        for n in range(3):
            store.add_task(project.key, Spec(f"task {n}"), max_cycles=3, auto_review=True)
        bound = {"base": "b", "tree": "t", "judge": "j", "commit": "c"}
        store.record(project.key, 1, [Event("review.approved", bound), Event("phase.finished", {"phase": "check"})])
    whole = (home / "burnish.db").read_bytes()
    filled = [at for at, byte in enumerate(whole) if byte]
    rng = random.Random(3)
    told = 0
    for at in rng.sample(filled, 200):
        wrong = bytearray(whole)
        wrong[at] ^= 1 << rng.randrange(8)
        (home / "burnish.db").write_bytes(bytes(wrong))
        for file in (home / "burnish.db-wal", home / "burnish.db-shm"):
            file.unlink(missing_ok=True)
        try:
            with Store.open(home) as store:
                for row in store.projects():
                    store.events(row.key)
                    for task in store.tasks(row.key):
                        store.history(row.key, task.id)
                        store.approval(row.key, task.id)
        except BurnishError as error:
            told += 1
            assert error.hint
    assert told > 10


def test_a_database_that_stays_locked_is_told_after_a_while(
    store: Store, project: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.store.sqlite.BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(home / "burnish.db", isolation_level=None)) as other, Store.open(home) as late:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BurnishError, match="locked") as caught:
            late.add_task(project, Spec("x"), max_cycles=3, auto_review=True)
        assert caught.value.hint
        # who only reads need not wait
        assert late.tasks(project) == []
        other.execute("ROLLBACK")
        assert late.add_task(project, Spec("x"), max_cycles=3, auto_review=True).id == 1


def test_a_full_disk_changes_nothing_and_says_so(store: Store, project: str) -> None:
    task = store.add_task(project, Spec("x"), max_cycles=3, auto_review=True)
    connection = store._db._connection()
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    before = store.events(project)
    with pytest.raises(PhaseFailed, match="disk is full") as caught:
        store.record(project, task.id, [Event("phase.progress", {"message": "x" * 100_000})] * 10)
    assert caught.value.code == "DISK_FULL"
    assert store.events(project) == before
    connection.execute("PRAGMA max_page_count = 1000000")
    assert store.record(project, task.id, [Event("phase.progress", {})])[0].id == before[-1].id + 1


def test_reading_where_nothing_is_makes_nothing(home: Path) -> None:
    with pytest.raises(BurnishError, match="no burnish database") as caught:
        Store.open(home, create=False)
    assert "burnish add" in caught.value.hint
    assert not home.exists()


def test_each_thread_has_its_own_connection_and_an_ended_one_is_closed(store: Store, project: str) -> None:
    for _ in range(5):
        thread = threading.Thread(target=store.tasks, args=(project,))
        thread.start()
        thread.join()
    # this thread's, and the last one's until the next is opened
    assert len(store._db._open) == 2


def test_the_store_loads_nothing_heavy(home: Path) -> None:
    code = "import sys, burnish.store, burnish.views; print(*sorted(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pydantic", "asyncio", "jinja2", "rich", "typer", "sqlalchemy", "importlib.resources"} & set(said)
