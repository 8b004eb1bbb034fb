"""Errors of PostgreSQL as `BurnishError`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from burnish.errors import BurnishError, PhaseFailed

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
    return PhaseFailed(
        DATABASE_LOCKED,
        f"Cannot connect to the database {name}: {_reason(error)}.",
        hint="Start the server, or correct `database` in your config.yaml.",
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
