"""Schema migrations: numbered SQL files, each applied once, by one process at a time."""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

from burnish.errors import BurnishError

# columns of `tasks` that the first version of 0001 did not have
_ADDED_TO_FIRST = {"waits": "INTEGER NOT NULL DEFAULT 0", "archived": "BIGINT NOT NULL DEFAULT 0"}
_WITHDRAWN = "0002_waits_and_archive"
_TABLE = "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL)"


@cache
def migrations() -> tuple[tuple[int, Path], ...]:
    files = sorted(Path(__file__).with_name("migrations").glob("*.sql"))
    return tuple((int(file.name.split("_")[0]), file) for file in files)


def version(db: sqlite3.Connection) -> int:
    """The number of the newest applied migration; 0 for a new file."""
    try:
        row = db.execute("SELECT max(version) FROM migrations").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return 0
        raise
    return int(row[0] or 0)


def migrate_database(db: sqlite3.Connection, path: Path, *, alone: bool = True) -> None:
    """Apply missing migrations; usually there are none, which takes one query. `alone`: take a lock for it."""
    newest = migrations()[-1][0]
    if version(db) == newest:
        return
    with _migration_lock(path.with_name(path.name + ".lock")) if alone else nullcontext():
        current = version(db)
        if current > newest:
            raise BurnishError(
                f"The database {path} was written by a newer burnish (version {current}, this one supports {newest}).",
                hint="Upgrade burnish, or set BURNISH_HOME to another directory.",
            )
        if current == 0 and alone:
            db.execute("PRAGMA journal_mode = WAL")
        else:
            _complete_first_tables(db)
        applied_names = _names(db)
        for number, file in migrations():
            if file.stem not in applied_names:
                _apply(db, number, file)


def _names(db: sqlite3.Connection) -> set[str]:
    if version(db) == 0:
        return set()
    return {row[0] for row in db.execute("SELECT name FROM migrations")}


def _complete_first_tables(db: sqlite3.Connection) -> None:
    """Update early databases: 0001 was edited in place once, and replaced a first version of 0002."""
    db.execute("BEGIN IMMEDIATE")
    try:
        present = {row[1] for row in db.execute("PRAGMA table_info(tasks)")}
        for name, kind in _ADDED_TO_FIRST.items():
            if name not in present:
                db.execute(f"ALTER TABLE tasks ADD COLUMN {name} {kind}")
        db.execute("DELETE FROM migrations WHERE name = ?", (_WITHDRAWN,))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _apply(db: sqlite3.Connection, number: int, file: Path) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute(_TABLE)
        for statement in re.split(r";\s*$", file.read_text("utf-8"), flags=re.M):
            if statement.strip():
                db.execute(statement)
        db.execute("INSERT INTO migrations (version, name) VALUES (?, ?)", (number, file.stem))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def _migration_lock(lock: Path) -> Iterator[None]:
    # a file lock and not the database's: switching a new database to WAL fails with "locked" without waiting
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
        except OSError as error:
            raise BurnishError(
                f"File locks do not work in {lock.parent}: flock fails ({error.strerror}).",
                hint="Set BURNISH_HOME to a folder on a local disk, or mount this one with locking.",
            ) from error
        yield
    finally:
        os.close(fd)
