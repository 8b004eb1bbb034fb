"""The SQLite database in the burnish home."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from burnish.durability import is_sync_enabled
from burnish.errors import BurnishError, Refused
from burnish.store.database import Database, ResultRow, Value
from burnish.store.migrate import migrate_database
from burnish.store.trouble import FULL, HomeNotWritable, database_errors, disk_full, has_no_room, is_obstacle

BUSY_SECONDS = 30.0
# commands that only read wait less: they use a copy in memory then
READER_BUSY_SECONDS = 2.0
# beside a database whose tasks were moved to another one, which it names
MOVED_NOTE = "burnish.db.moved"


class SqliteDatabase(Database):
    """One file in the burnish home, which the processes of one machine share."""

    is_shared = False

    def __init__(self, path: Path, *, busy_seconds: float | None = None) -> None:
        super().__init__()
        self.path = path
        self._may_change_copy = False
        self._busy_seconds = BUSY_SECONDS if busy_seconds is None else busy_seconds
        self._turn = threading.Lock()

    @property
    def name(self) -> str:
        return str(self.path)

    def server(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}"

    @classmethod
    def open(cls, home: Path, *, create: bool, even_if_moved: bool = False) -> SqliteDatabase:
        path = home / "burnish.db"
        if not create and not path.exists():
            raise BurnishError(
                f"There is no burnish database in {home}.", hint="Create one with `burnish init` or `burnish add`."
            )
        if not even_if_moved:
            _refuse_if_moved(home)
        try:
            _create_database_file(home, path)
        except OSError as error:
            raise _no_access(home, error) from error
        database = cls(path)
        database._connection()
        return database

    @classmethod
    def create(cls, path: Path) -> SqliteDatabase:
        """A new database at a path of its own."""
        _create_database_file(path.parent, path)
        database = cls(path)
        database._connection()
        return database

    @classmethod
    def open_reading(cls, home: Path) -> SqliteDatabase:
        """Open for reading; works also if the home is read-only, the disk is full or the database is locked."""
        path = home / "burnish.db"
        _refuse_if_moved(home)
        try:
            if path.is_file() and not os.access(home, os.W_OK):
                raise _no_access(home, _why_no_access(home))
            if not path.exists():
                return cls.open(home, create=True)
            if has_no_room(home):
                raise disk_full(path)
            database = cls(path, busy_seconds=READER_BUSY_SECONDS)
            database._connection()
        except BurnishError as error:
            if not path.is_file() or not is_obstacle(error):
                raise
            database = cls(path)
            database.obstacle = error
            database._connection()
        return database

    def stream(self, text: str) -> Iterator[ResultRow]:
        with self._errors():
            yield from self._execute(text, {})

    def insert(self, table: str, rows: Iterator[ResultRow]) -> None:
        statement = ""
        with self._errors():
            for row in rows:
                if not statement:
                    columns = list(row.keys())
                    places = ", ".join("?" * len(columns))
                    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
                self._connection().execute(statement, tuple(row))

    def version(self) -> int:
        with self._errors():
            return int(self._execute("PRAGMA data_version", {}).fetchone()[0])

    @contextmanager
    def writing(self, project: str, *more: str) -> Iterator[None]:
        if self.obstacle and not self._may_change_copy:
            raise self.obstacle
        # SQLite has one lock for all projects. Threads of this process queue here, because SQLite polls, and some
        # threads would wait long
        with self._turn, self._transaction("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def changing_copy(self, obstacle: BurnishError) -> Iterator[None]:
        if self.obstacle is None:
            self.close()
            self.obstacle = obstacle
        self._may_change_copy = True
        try:
            yield
        finally:
            self._may_change_copy = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._transaction("BEGIN"):
            yield

    def _roll_back(self) -> None:
        connection = self._connection()
        # SQLite may have rolled back because of a full disk
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def _errors(self) -> AbstractContextManager[None]:
        return database_errors(self.path)

    def _rows(self, text: str, params: dict[str, Value]) -> list[ResultRow]:
        return self._execute(text, params).fetchall()

    def _execute(self, text: str, params: dict[str, Value]) -> sqlite3.Cursor:
        self.statements += 1
        try:
            return self._connection().execute(text, params)
        except UnicodeEncodeError:
            # a name that is not UTF-8 in a text column: escape its bytes; JSON columns keep it unchanged
            safe = {
                k: v.encode("utf-8", "backslashreplace").decode() if isinstance(v, str) else v
                for k, v in params.items()
            }
            return self._connection().execute(text, safe)

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._thread_local, "connection", None)
        if connection is None:
            with self._errors():
                connection = self._connect()
            self._thread_local.connection = connection
        return connection

    def _connect(self) -> sqlite3.Connection:
        seconds = self._busy_seconds
        if self.obstacle:
            connection = open_image(self.path)
        else:
            connection = sqlite3.connect(self.path, timeout=seconds, isolation_level=None, check_same_thread=False)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA synchronous = {'FULL' if is_sync_enabled() else 'OFF'}")
            migrate_database(connection, self.path, alone=self.obstacle is None)
        except BaseException:
            connection.close()
            raise
        self._keep_connection(connection)
        return connection


def _refuse_if_moved(home: Path) -> None:
    """Raise if the tasks are in another database now: new ones would be lost in the old file."""
    try:
        target = (home / MOVED_NOTE).read_text("utf-8", "replace").strip()
    except OSError:
        return
    raise Refused(
        f"The tasks of {home} were moved to {target}.",
        hint="Set `database` in your config.yaml. To use the old file again, remove "
        f"{home / MOVED_NOTE}: it lacks what was done since.",
    )


def _why_no_access(path: Path) -> OSError:
    """The error that opening it for writing would raise."""
    is_mounted_read_only = bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    code = errno.EROFS if is_mounted_read_only else errno.EACCES
    return OSError(code, os.strerror(code), str(path))


def _no_access(home: Path, error: OSError) -> BurnishError:
    if error.errno in FULL:
        return disk_full(home)
    return HomeNotWritable(
        f"Cannot use {home} as burnish's home: {error.strerror}.",
        hint="Check the path and its owner, or set BURNISH_HOME to a directory you can write to.",
    )


def _create_database_file(home: Path, path: Path) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Created here and not by SQLite, so that other users can never read it. An existing file is not opened here:
    # closing it would drop all locks that this process has on it (POSIX), and another process could then remove the
    # journal while connections of this process use it.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path, os.R_OK | os.W_OK):
        raise _why_no_access(path)


# -- memory image ---------------------------------------------------------------------------------
# Reads the database files into memory, where SQLite could not open them without writing.
#
# SQLite needs a writable folder for the shared memory of a write-ahead log, and waits for locks. Commands that only
# read must also work with a read-only home, a full disk or a locked database. So the database file is read, and the
# committed transactions of the write-ahead log are applied to it (https://sqlite.org/fileformat.html section 4).

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = (0x377F0682, 0x377F0683)
_TRIES = 20


def open_image(path: Path) -> sqlite3.Connection:
    """A connection to a copy in memory, in the state of the last committed transaction."""
    data = _consistent(path)
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    if data:
        # versions of the file format: 2 means a write-ahead log, which an in-memory database cannot have
        data[18:20] = b"\x01\x01"
        connection.deserialize(bytes(data))
    return connection


def _consistent(path: Path) -> bytearray:
    """A consistent state of database and log; reads again if a checkpoint moved pages meanwhile."""
    log = path.with_name(path.name + "-wal")
    for _ in range(_TRIES):
        before = _state(path), _state(log)
        data, frames = bytearray(path.read_bytes()), _read(log)
        if (_state(path), _state(log)) == before:
            break
        time.sleep(0.05)
    apply_log(data, frames)
    return data


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def apply_log(data: bytearray, log: bytes) -> None:
    """Write the pages of all committed transactions of the log into the database."""
    if len(log) < _HEADER.size:
        return
    magic, _version, page_size, _number, salt1, salt2, sum1, sum2 = _HEADER.unpack_from(log)
    order = ">" if magic == _MAGIC[1] else "<"
    state = _checksum(order, log[:24], (0, 0))
    if magic not in _MAGIC or state != (sum1, sum2):
        return
    pending: dict[int, bytes] = {}
    at = _HEADER.size
    while at + _FRAME.size + page_size <= len(log):
        page, commit, frame_salt1, frame_salt2, sum1, sum2 = _FRAME.unpack_from(log, at)
        content = log[at + _FRAME.size : at + _FRAME.size + page_size]
        state = _checksum(order, content, _checksum(order, log[at : at + 8], state))
        if (frame_salt1, frame_salt2) != (salt1, salt2) or state != (sum1, sum2):
            return
        pending[page] = content
        if commit:
            _write_pages(data, pending, page_size, commit)
            pending = {}
        at += _FRAME.size + page_size


def _write_pages(data: bytearray, pages: dict[int, bytes], page_size: int, count: int) -> None:
    """Write the pages. `count`: number of pages of the database after the transaction."""
    size = count * page_size
    if len(data) < size:
        data.extend(bytes(size - len(data)))
    del data[size:]
    for page, content in pages.items():
        start = (page - 1) * page_size
        data[start : start + page_size] = content


def _checksum(order: str, data: bytes, start: tuple[int, int]) -> tuple[int, int]:
    one, two = start
    for first, second in struct.iter_unpack(f"{order}2I", data):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two
