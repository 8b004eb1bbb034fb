"""What SQLite complains about, in words that a person can act on."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from burnish.errors import BurnishError, PhaseFailed

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NO_ACCESS = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# Text that is not UTF-8 comes without a code. The tables are as the migrations left them, or somebody broke them.
_SIGNS = ("decode", "no such table", "no such column", "already exists", "has no column")


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# SQLite asks for 32 kB at once, and says only that it failed
_NO_ROOM = 64 * 1024


class HomeNotWritable(BurnishError):
    """The burnish home, or the database in it, may not be written."""


def is_obstacle(error: BurnishError) -> bool:
    """Does it keep SQLite from opening the database, though the file itself may be sound?"""
    return isinstance(error, HomeNotWritable) or (
        isinstance(error, PhaseFailed) and error.code in ("DISK_FULL", "DATABASE_LOCKED")
    )


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """What disk or database do to us becomes a `BurnishError`; our own mistakes stay tracebacks."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise damaged(str(path), str(error)) from error
    except sqlite3.DatabaseError as error:
        told = _told(path, error)
        if told is None:
            raise
        raise told from error


def disk_full(path: Path) -> PhaseFailed:
    return PhaseFailed(
        "DISK_FULL",
        f"The disk is full: {path} could not be written.",
        hint="Make room, then `burnish run`.",
    )


def has_no_room(folder: Path) -> bool:
    """Too little for what SQLite writes, or no inode left."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _NO_ROOM or (found.f_files > 0 and found.f_favail == 0)


def damaged(what: str, why: str) -> BurnishError:
    return BurnishError(
        f"The database {what} is damaged: {why}.",
        hint="Move the file aside and run `burnish rebuild` to restore it from the artifacts.",
    )


def _told(path: Path, error: sqlite3.Error) -> BurnishError | None:
    # the low byte is the family, the rest says more than we need
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code in (*_NO_ACCESS, sqlite3.SQLITE_IOERR) and has_no_room(path.parent)):
        return disk_full(path)
    if code in _BUSY:
        return PhaseFailed(
            "DATABASE_LOCKED",
            f"Another program has kept {path} locked for 30 seconds.",
            hint="End it, or wait, and try again.",
        )
    if code in _NO_ACCESS:
        return HomeNotWritable(
            f"Cannot open or write {path}: {error}.",
            hint="Check who owns the directory and its mode, or set BURNISH_HOME to one you can write.",
        )
    if code in _DAMAGED or any(sign in str(error) for sign in _SIGNS):
        return damaged(str(path), str(error))
    if code == sqlite3.SQLITE_IOERR:
        return BurnishError(f"Cannot read or write {path}: {error}.", hint="Check the disk and the room left on it.")
    return None
