"""One SQLite file, one connection per thread, every write a transaction of its own."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from burnish.durability import sync_wanted
from burnish.errors import BurnishError
from burnish.store.memory_image import open_image
from burnish.store.migrate import bring_up_to_date
from burnish.store.sql import Params, Value, fill, queries
from burnish.store.trouble import FULL, HomeNotWritable, disk_full, in_words, is_obstacle

BUSY_SECONDS = 30.0
# a reading command does not wait long: it reads from a copy then
READER_BUSY_SECONDS = 2.0


class Database:
    """Runs named queries. `statements` counts them, for the benchmark."""

    def __init__(self, path: Path, *, busy_seconds: float | None = None) -> None:
        self.path = path
        # why this one is read from a copy in memory, and so cannot be written
        self.obstacle: BurnishError | None = None
        self._busy_seconds = BUSY_SECONDS if busy_seconds is None else busy_seconds
        self.statements = 0
        self._mine = threading.local()
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._open: list[tuple[threading.Thread, sqlite3.Connection]] = []

    @classmethod
    def open(cls, home: Path, *, create: bool) -> Database:
        path = home / "burnish.db"
        if not create and not path.exists():
            raise BurnishError(
                f"There is no burnish database in {home}.", hint="`burnish init` or `burnish add` makes one."
            )
        try:
            _lay(home, path)
        except OSError as error:
            raise _no_access(home, error) from error
        database = cls(path)
        database._connection()
        return database

    @classmethod
    def open_reading(cls, home: Path) -> Database:
        """For a command that only looks: also where the home is read-only, the disk full or the database locked."""
        path = home / "burnish.db"
        try:
            if path.is_file() and not os.access(home, os.W_OK):
                raise _no_access(home, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
            if not path.exists():
                return cls.open(home, create=True)
            database = cls(path, busy_seconds=READER_BUSY_SECONDS)
            database._connection()
        except BurnishError as error:
            if not path.is_file() or not is_obstacle(error):
                raise
            database = cls(path)
            database.obstacle = error
            database._connection()
        return database

    def all(self, name: str, params: Params) -> list[sqlite3.Row]:
        """Run one named query; every row it gives."""
        text, flat = fill(queries()[name], params)
        with in_words(self.path):
            return self._execute(text, flat).fetchall()

    def one(self, name: str, params: Params) -> sqlite3.Row | None:
        rows = self.all(name, params)
        return rows[0] if rows else None

    def version(self) -> int:
        """Changes with every commit that was not made through this thread's own connection."""
        with in_words(self.path):
            return int(self._execute("PRAGMA data_version", {}).fetchone()[0])

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing, and nobody else writes meanwhile."""
        if self.obstacle:
            raise self.obstacle
        # Our own threads queue here: SQLite would have them poll for their turn, and some wait long.
        with self._turn, self._between("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several queries that see the same moment."""
        with self._between("BEGIN"):
            yield

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._guard:
            for _, connection in self._open:
                connection.close()
            self._open.clear()
            self._mine = threading.local()

    @contextmanager
    def _between(self, begin: str) -> Iterator[None]:
        with in_words(self.path):
            self._execute(begin, {})
        try:
            yield
            with in_words(self.path):
                self._execute("COMMIT", {})
        except BaseException:
            connection = self._connection()
            # a full disk may have rolled back already
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _execute(self, text: str, params: dict[str, Value]) -> sqlite3.Cursor:
        self.statements += 1
        try:
            return self._connection().execute(text, params)
        except UnicodeEncodeError:
            # A name that is not UTF-8, in a plain column: its bytes escaped. JSON columns keep it whole.
            safe = {
                k: v.encode("utf-8", "backslashreplace").decode() if isinstance(v, str) else v
                for k, v in params.items()
            }
            return self._connection().execute(text, safe)

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._mine, "connection", None)
        if connection is None:
            with in_words(self.path):
                connection = self._connect()
            self._mine.connection = connection
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
            connection.execute(f"PRAGMA synchronous = {'FULL' if sync_wanted() else 'OFF'}")
            bring_up_to_date(connection, self.path, alone=self.obstacle is None)
        except BaseException:
            connection.close()
            raise
        self._remember(connection)
        return connection

    def _remember(self, connection: sqlite3.Connection) -> None:
        """Keep it to be closed; close those whose thread has ended."""
        with self._guard:
            alive = [(thread, other) for thread, other in self._open if thread.is_alive()]
            for thread, other in self._open:
                if not thread.is_alive():
                    other.close()
            self._open = [*alive, (threading.current_thread(), connection)]


def _no_access(home: Path, error: OSError) -> BurnishError:
    if error.errno in FULL:
        return disk_full(home)
    return HomeNotWritable(
        f"Cannot use {home} as burnish's home: {error.strerror}.",
        hint="Check the path and who owns it, or set BURNISH_HOME to a directory you can write.",
    )


def _lay(home: Path, path: Path) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Made by us and not by SQLite, so that nobody else can read it from its first moment. One that is there is never
    # opened here: to close it again would drop every lock that this process has on it (POSIX), and the next process
    # to end would take the journal away under the connections that we have open.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path, os.R_OK | os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
