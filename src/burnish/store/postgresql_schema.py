"""The tables in PostgreSQL: one file for those up to 0009, then the numbered migrations that all databases share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors

from burnish.errors import BurnishError
from burnish.store.migrate import migrations

SCHEMA = "burnish"
# Any number that no other program uses: the lock of a migration.
_LOCK = 7_205_759_403_792_793
_MIGRATIONS = Path(__file__).with_name("migrations") / "postgresql"


def files_to_apply() -> tuple[tuple[int, Path], ...]:
    """The first file holds the tables of all migrations up to its number."""
    first = sorted(_MIGRATIONS.glob("*.sql"))[0]
    number = int(first.name.split("_")[0])
    return ((number, first), *(one for one in migrations() if one[0] > number))


def migrate_schema(connection: psycopg.Connection[Any], name: str, *, accepts_newer: bool = False) -> None:
    """Apply missing migrations; usually there are none, which takes one query.

    `accepts_newer`: for a process that was started before a newer burnish changed the tables.
    """
    newest = files_to_apply()[-1][0]
    current = _version(connection)
    if current == newest or (accepts_newer and current > newest):
        return
    # before the transaction: one that waited for the lock would not notice the tables that were created meanwhile
    connection.execute(f"SELECT pg_advisory_lock({_LOCK})")
    try:
        with connection.transaction():
            _migrate(connection, name, newest)
    finally:
        if not connection.closed:
            connection.execute(f"SELECT pg_advisory_unlock({_LOCK})")


def _migrate(connection: psycopg.Connection[Any], name: str, newest: int) -> None:
    current = _version(connection)
    if current > newest:
        raise BurnishError(
            f"The database {name} was written by a newer burnish (version {current}, this one supports {newest}).",
            hint="Upgrade burnish on this machine.",
        )
    if current == 0:
        _create_schema(connection, name)
    for number, file in files_to_apply():
        if number > current:
            _apply(connection, number, file)


def _version(connection: psycopg.Connection[Any]) -> int:
    """The number of the newest applied migration; 0 in an empty database."""
    exists = connection.execute("SELECT to_regclass('burnish.migrations')").fetchone()
    if exists is None or exists[0] is None:
        return 0
    try:
        row = connection.execute("SELECT max(version) FROM burnish.migrations").fetchone()
    except errors.UndefinedTable:
        return 0
    return int(row[0] or 0) if row else 0


def _create_schema(connection: psycopg.Connection[Any], name: str) -> None:
    row = connection.execute("SHOW server_encoding").fetchone()
    if row and row[0] != "UTF8":
        raise BurnishError(
            f"The database {name} has the encoding {row[0]}; burnish needs UTF8.",
            hint="Create it with: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0",
        )
    connection.execute("CREATE SCHEMA IF NOT EXISTS burnish")
    connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL)")


def _apply(connection: psycopg.Connection[Any], number: int, file: Path) -> None:
    for statement in re.split(r";\s*$", file.read_text("utf-8"), flags=re.M):
        if statement.strip():
            connection.execute(statement)
    connection.execute("INSERT INTO migrations (version, name) VALUES (%s, %s)", (number, file.stem))
