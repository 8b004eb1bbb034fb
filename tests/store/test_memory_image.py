"""A database with its write-ahead log, read without SQLite's own means."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from burnish.store.sqlite import open_image


def rows(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    try:
        return list(connection.execute("SELECT id, length(text), text FROM t ORDER BY id"))
    except sqlite3.OperationalError as error:
        return [(str(error),)]
    finally:
        connection.close()


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A copy of a database that is in use: what is in its log was never checkpointed."""
    live = tmp_path / "live"
    live.mkdir()
    db = sqlite3.connect(live / "x.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
    for number in range(30):
        db.execute("INSERT INTO t (text) VALUES (?)", (f"row {number} " * 200,))
        if number == 10:
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        if number == 20:
            db.execute("DELETE FROM t WHERE id < 9")
    shutil.copytree(live, tmp_path / "copy")
    db.close()
    (tmp_path / "copy" / "x.db-shm").unlink()
    return tmp_path / "copy" / "x.db"


def test_the_image_has_what_sqlite_itself_reads(written: Path, tmp_path: Path) -> None:
    image = rows(open_image(written))
    shutil.copytree(written.parent, tmp_path / "other")
    assert image == rows(sqlite3.connect(tmp_path / "other" / written.name))
    assert len(image) == 22


def test_a_log_that_is_cut_or_damaged_counts_up_to_its_last_whole_transaction(written: Path, tmp_path: Path) -> None:
    log = written.with_name("x.db-wal")
    whole = log.read_bytes()
    frame = 24 + 4096
    cuts = [0, 20, 32, *(32 + frame * n + extra for n in range(0, len(whole) // frame, 7) for extra in (0, 100))]
    for number, cut in enumerate(cuts):
        log.write_bytes(whole[:cut] if number % 2 else whole[:cut] + b"\xff" * 40 + whole[cut + 40 :])
        image = rows(open_image(written))
        other = tmp_path / f"other-{number}"
        shutil.copytree(written.parent, other)
        assert image == rows(sqlite3.connect(other / written.name)), cut


def test_an_empty_file_is_an_empty_database(tmp_path: Path) -> None:
    (tmp_path / "x.db").touch()
    assert open_image(tmp_path / "x.db").execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
