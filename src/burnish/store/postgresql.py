"""A PostgreSQL database, which several machines share. psycopg comes with the extra `cluster`."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from itertools import chain
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from burnish.durability import is_sync_enabled
from burnish.errors import BurnishError, PhaseFailed
from burnish.store.database import Connection, Database, ResultRow, Value
from burnish.store.postgresql_schema import SCHEMA, files_to_apply, migrate_schema

LOCK_SECONDS = 30
CONNECT_SECONDS = 10
# how long a process waits for a server that restarts, once it was connected
RECONNECT_SECONDS = 60.0
_PAUSE_SECONDS = 0.2
_ROWS_AT_ONCE = 2000
# so that a machine that vanished is noticed; a value in the address has precedence
_KEEPALIVE = {"keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 40_000}
_PARAMETER = re.compile(r"""(?<![:\w"']):([a-z_][a-z_0-9]*)""")


class PostgresqlDatabase(Database):
    """The schema `burnish` of one database. Each project has a lock of its own for writing."""

    dialect = "postgresql"
    is_shared = True

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._name = address(url)
        self._was_connected = False
        # Connections between two transactions: a server has a limit for all machines, and most threads wait.
        self._idle: list[psycopg.Connection[ResultRow]] = []

    @classmethod
    def open(cls, url: str) -> PostgresqlDatabase:
        database = cls(url)
        database._connection()
        database._give_back()
        return database

    def __del__(self) -> None:
        # a command that ends does not close the store; the driver would warn
        with suppress(AttributeError, psycopg.Error):
            self.close()

    @property
    def name(self) -> str:
        return self._name

    def close(self) -> None:
        super().close()
        self._idle.clear()

    def stream(self, text: str) -> Iterator[ResultRow]:
        with self._errors():
            connection = self._connection()
            if connection.info.transaction_status == TransactionStatus.IDLE:
                yield from self._rows(text, {})
                return
            # a cursor of the server, which sends the rows in parts
            with connection.cursor(name="burnish_stream") as cursor:
                cursor.itersize = _ROWS_AT_ONCE
                yield from cursor.execute(text)

    def insert(self, table: str, rows: Iterator[ResultRow]) -> None:
        first = next(rows, None)
        if first is None:
            return
        columns = ", ".join(first.keys())
        with (
            self._errors(),
            self._connection().cursor() as cursor,
            cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy,
        ):
            for row in chain((first,), rows):
                copy.write_row([storable(value) for value in row])

    def is_upgraded(self) -> bool:
        with self._errors():
            return int(self._rows("SELECT max(version) FROM migrations", {})[0][0]) > files_to_apply()[-1][0]

    def version(self) -> int:
        # a snapshot lists the transactions that it does not see: every commit changes it
        with self._errors():
            text = self._rows("SELECT CAST(pg_current_snapshot() AS TEXT)", {})[0][0]
        return _number(str(text))

    def server(self) -> str:
        number = self._connection().info.server_version
        self._give_back()
        return f"PostgreSQL {number // 10000}.{number % 10000}"

    @contextmanager
    def writing(self, project: str, *more: str) -> Iterator[None]:
        locks = [f"SELECT pg_advisory_xact_lock({_number(f'burnish {name}')})" for name in (project, *more)]
        # each statement after the lock must see what its last holder has committed
        with self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED", *locks):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
            yield

    @contextmanager
    def changing_copy(self, obstacle: BurnishError) -> Iterator[None]:
        # a server cannot be copied: the command reports why it could not write
        raise obstacle
        yield

    @contextmanager
    def _transaction(self, begin: str, *locks: str) -> Iterator[None]:
        self._thread_local.is_in_transaction = True
        try:
            with super()._transaction(begin, *locks):
                yield
        finally:
            self._thread_local.is_in_transaction = False
            self._give_back()

    def _roll_back(self) -> None:
        connection = self._thread_local.connection
        if not connection.closed and connection.info.transaction_status != TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")

    def _errors(self) -> AbstractContextManager[None]:
        return postgresql_errors(self._name)

    def _rows(self, text: str, params: dict[str, Value]) -> list[ResultRow]:
        try:
            cursor = self._execute(text, params)
            return cursor.fetchall() if cursor.description else []
        finally:
            self._give_back()

    def _execute(self, text: str, params: dict[str, Value]) -> psycopg.Cursor[ResultRow]:
        self.statements += 1
        statement = translate(text)
        values = {name: storable(value) for name, value in params.items()}
        connection = self._connection()
        is_free = connection.info.transaction_status == TransactionStatus.IDLE
        try:
            return connection.execute(statement, values)
        except psycopg.OperationalError as error:
            if not connection.broken:
                raise
            if not is_free:
                # stays until the end of the transaction, whose other statements must not run on another connection
                raise connection_lost(self._name, error) from error
        # outside of a transaction, or at its beginning: nothing is lost
        self._drop_idle()
        self._thread_local.connection = None
        return self._connection().execute(statement, values)

    def _connection(self) -> psycopg.Connection[ResultRow]:
        """The connection of this thread, which it has until the end of its statement or transaction."""
        connection: psycopg.Connection[ResultRow] | None = getattr(self._thread_local, "connection", None)
        if connection is None:
            with self._guard:
                connection = self._idle.pop() if self._idle else None
            connection = connection or (self._connect_again() if self._was_connected else self._connect())
            self._thread_local.connection = connection
        return connection

    def _give_back(self) -> None:
        """Leave the connection to other threads, unless a transaction goes on.

        A connection that was lost stays until then: further statements must not run on another one.
        """
        connection: psycopg.Connection[ResultRow] | None = getattr(self._thread_local, "connection", None)
        if connection is None or getattr(self._thread_local, "is_in_transaction", False):
            return
        self._thread_local.connection = None
        if connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
            connection.close()
            return
        with self._guard:
            self._idle.append(connection)

    def _drop_idle(self) -> None:
        """Close the idle connections: a server that ended one of them has ended all."""
        with self._guard:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _connect_again(self) -> psycopg.Connection[ResultRow]:
        """Connect to a server that was there before: it may be restarting."""
        end = time.monotonic() + RECONNECT_SECONDS
        while True:
            try:
                return self._connect()
            except BurnishError:
                if time.monotonic() > end:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def _connect(self) -> psycopg.Connection[ResultRow]:
        options: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "application_name": "burnish", **_KEEPALIVE}
        options = {key: value for key, value in options.items() if key not in conninfo_to_dict(self._url)}
        try:
            # prepared statements would fail after a migration by a newer burnish, and behind some connection pools
            connection = psycopg.Connection[ResultRow].connect(
                self._url, autocommit=True, prepare_threshold=None, row_factory=_row_factory, **options
            )
        except psycopg.OperationalError as error:
            raise cannot_connect(self._name, error) from error
        try:
            with self._errors():
                self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        self._was_connected = True
        self._keep_connection(connection)
        return connection

    def _keep_connection(self, connection: Connection) -> None:
        """Remember the connection for `close`; unlike those of SQLite, it outlives the thread that opened it."""
        with self._guard:
            still_open = [(thread, other) for thread, other in self._open if not getattr(other, "closed", False)]
            self._open = [*still_open, (threading.current_thread(), connection)]

    def _set_up(self, connection: psycopg.Connection[ResultRow]) -> None:
        commit = "on" if is_sync_enabled() else "off"
        settings = {
            "search_path": SCHEMA,
            "lock_timeout": f"{LOCK_SECONDS}s",
            "synchronous_commit": commit,
            "client_encoding": "UTF8",
            # a machine that is paused in a transaction must not keep the others out for longer than they wait
            "idle_in_transaction_session_timeout": f"{LOCK_SECONDS * 2 // 3}s",
        }
        statements = "; ".join(f"SET {name} = '{value}'" for name, value in settings.items())
        connection.execute(statements)
        # a process that is connected already goes on: migrations only add
        migrate_schema(connection, self._name, accepts_newer=self._was_connected)


class NamedRow(Sequence[Any]):
    """The values of one row, in order and by column."""

    __slots__ = ("_columns", "_values")

    def __init__(self, columns: dict[str, int], values: Sequence[Any]) -> None:
        self._columns = columns
        self._values = values

    def __getitem__(self, key: Any, /) -> Any:
        return self._values[self._columns[key] if isinstance(key, str) else key]

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def keys(self) -> list[str]:
        return list(self._columns)


def _row_factory(cursor: psycopg.Cursor[Any]) -> Any:
    columns = {column.name: n for n, column in enumerate(cursor.description or ())}
    return lambda values: NamedRow(columns, values)


@lru_cache(maxsize=512)
def translate(text: str) -> str:
    """The statement with psycopg's placeholders instead of SQLite's."""
    return _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%"))


def storable(value: Value) -> Value:
    """Text as the server accepts it: bytes that are not UTF-8, and NUL, are escaped."""
    if not isinstance(value, str):
        return value
    # also a member of an enum, which the driver would not know
    text = str(value).replace("\0", "\\x00")
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def address(url: str) -> str:
    """The address without its password, for messages."""
    try:
        parts = conninfo_to_dict(url)
        if "@" in str(parts.get("host") or ""):
            # of a password that is not percent-encoded: its rest must not be printed as a host
            raise psycopg.ProgrammingError("a host has no @")
    except psycopg.ProgrammingError as error:
        raise BurnishError(
            "The address of the database cannot be read.",
            hint="Write it like postgresql://user@host/name; special characters are percent-encoded.",
        ) from error
    user, host, port = (str(parts.get(key) or "") for key in ("user", "host", "port"))
    place = f"{user}@" * bool(user) + (host if not host.startswith("/") else "")
    # a socket's folder cannot stand where a host does
    folder = f"?host={host}" if host.startswith("/") else ""
    return f"postgresql://{place}{f':{port}' if port else ''}/{parts.get('dbname') or ''}{folder}"


def _number(text: str) -> int:
    """64 bits with a sign, as the numbers of advisory locks are."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], signed=True)


def has_tables(url: str) -> bool:
    """Whether the database has tables of burnish. Creates none."""
    name = address(url)
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as connection, postgresql_errors(name):
            row = connection.execute("SELECT to_regclass('burnish.tasks')").fetchone()
            return row is not None and row[0] is not None
    except psycopg.OperationalError as error:
        raise cannot_connect(name, error) from error


# -- errors ---------------------------------------------------------------------------------------
# Errors of the server and the connection as `BurnishError`.

# also for a server that cannot be reached: the task is not at fault, and trying again later helps
DATABASE_LOCKED = "DATABASE_LOCKED"
_LOCKED = (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure)
# tables that are not as the migrations left them, and text that is not JSON
_DAMAGED = (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName, errors.InvalidTextRepresentation)
_FULL = (errors.DiskFull, errors.OutOfMemory)


@contextmanager
def postgresql_errors(name: str) -> Iterator[None]:
    """Translate errors of the server and the connection; programming errors stay as they are."""
    try:
        yield
    except psycopg.Error as error:
        translation = _as_burnish_error(name, error)
        if translation is None:
            raise
        raise translation from error


def cannot_connect(name: str, error: psycopg.Error) -> PhaseFailed:
    reason = _reason(error)
    hint = "Start the server, or correct `database` in your config.yaml."
    if "password" in reason:
        hint = "Write it into ~/.pgpass, readable for you alone (chmod 600): host:port:database:user:password"
    return PhaseFailed(
        DATABASE_LOCKED,
        f"Cannot connect to the database {name}: {reason}.",
        hint=hint,
    )


def connection_lost(name: str, error: psycopg.Error) -> PhaseFailed:
    return PhaseFailed(
        DATABASE_LOCKED,
        f"The connection to the database {name} was lost: {_reason(error)}.",
        hint="Check the server, then try again: what was not confirmed is not stored.",
    )


def _as_burnish_error(name: str, error: psycopg.Error) -> BurnishError | None:
    if isinstance(error, _LOCKED):
        return PhaseFailed(
            DATABASE_LOCKED, f"Another program has locked {name}.", hint="Stop it, or wait, and try again."
        )
    if isinstance(error, _FULL):
        return PhaseFailed(
            "DISK_FULL",
            f"The server of the database {name} has no room left: {_reason(error)}.",
            hint="Free some space there, then `burnish run`.",
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return BurnishError(
            f"The database {name} refuses: {_reason(error)}.",
            hint="Make this user the owner of the database: ALTER DATABASE … OWNER TO …",
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return BurnishError(
            f"The database {name} cannot be written: {_reason(error)}.",
            hint="It may be a standby. Use the address of the primary server.",
        )
    if isinstance(error, _DAMAGED):
        return BurnishError(
            f"The database {name} is damaged: {_reason(error)}.",
            hint="Restore the schema `burnish` from a backup, or use an empty database and `burnish rebuild`.",
        )
    return connection_lost(name, error) if isinstance(error, psycopg.OperationalError) else None


def _reason(error: psycopg.Error) -> str:
    """The first line of the server's message, without its final full stop."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
