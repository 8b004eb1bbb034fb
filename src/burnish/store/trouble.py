"""Errors of the store: those of SQLite as `BurnishError`, and rows that do not exist."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from burnish.errors import BurnishError, NotFound, PhaseFailed

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NO_ACCESS = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# errors without a useful code: text that is not UTF-8 or not JSON, and tables that are not as the migrations left them
_SIGNS = ("decode", "malformed JSON", "no such table", "no such column", "already exists", "has no column")


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# SQLite allocates 32 kB at once, and does not report a full disk as the reason
_MIN_FREE_BYTES = 64 * 1024


class HomeNotWritable(BurnishError):
    """The burnish home, or the database in it, is not writable."""


def is_obstacle(error: BurnishError) -> bool:
    """Whether the error keeps SQLite from opening the database, although the file may be intact."""
    return isinstance(error, HomeNotWritable) or (
        isinstance(error, PhaseFailed) and error.code in ("DISK_FULL", "DATABASE_LOCKED")
    )


@contextmanager
def database_errors(path: Path) -> Iterator[None]:
    """Translate errors of the disk and the database; programming errors stay as they are."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise damaged(str(path), str(error)) from error
    except sqlite3.DatabaseError as error:
        translation = _as_burnish_error(path, error)
        if translation is None:
            raise
        raise translation from error


def disk_full(path: Path) -> PhaseFailed:
    return PhaseFailed(
        "DISK_FULL",
        f"The disk is full: {path} could not be written.",
        hint="Free some space, then `burnish run`.",
    )


def has_no_room(folder: Path) -> bool:
    """Whether the disk has too little space for SQLite, or no free inode."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _MIN_FREE_BYTES or (found.f_files > 0 and found.f_favail == 0)


def no_such_task(task: int | None) -> NotFound:
    return NotFound(f"There is no task {task}.", hint="`burnish list` shows the tasks of this project.")


def damaged(what: str, why: str) -> BurnishError:
    return BurnishError(
        f"The database {what} is damaged: {why}.",
        hint="Move the file aside and run `burnish rebuild` to restore it from the artifacts.",
    )


def _as_burnish_error(path: Path, error: sqlite3.Error) -> BurnishError | None:
    # the low byte is the primary error code
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code in (*_NO_ACCESS, sqlite3.SQLITE_IOERR) and has_no_room(path.parent)):
        return disk_full(path)
    if code in _BUSY:
        return PhaseFailed(
            "DATABASE_LOCKED",
            f"Another program has locked {path}.",
            hint="Stop it, or wait, and try again.",
        )
    if code in _NO_ACCESS:
        return HomeNotWritable(
            f"Cannot open or write {path}: {error}.",
            hint="Check the owner and mode of the directory, or set BURNISH_HOME to one you can write to.",
        )
    if code in _DAMAGED or any(sign in str(error) for sign in _SIGNS):
        return damaged(str(path), str(error))
    if code == sqlite3.SQLITE_IOERR:
        return BurnishError(f"Cannot read or write {path}: {error}.", hint="Check the disk and its free space.")
    return None
