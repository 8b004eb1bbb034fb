"""Copies all rows of one database to another, and compares both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from burnish.errors import BurnishError, Refused
from burnish.store.database import SHARED, Database, ResultRow

# With the columns of their primary key. Runners are not copied: they belong to processes, which have ended.
TABLES: Mapping[str, str] = {
    "projects": "key",
    "events": "project, id",
    "tasks": "project, id",
    "needs": "project, task, needs",
    "phases": "project, task, run, cycle, phase, attempt",
    "decisions": "project, event_id",
    "findings": "project, task, run, number",
    "approvals": "project, task",
    "baselines": "project, tree, command, environment",
    "usage_limits": "login",
    "plan_windows": "login, name, until",
    "people": "token",
    "login_links": "code",
    "audit": "id",
}


@dataclass(frozen=True, slots=True)
class TableContent:
    rows: int
    # of all rows in the order of their key
    digest: str


Content = Mapping[str, TableContent]


@contextmanager
def locked(db: Database) -> Iterator[None]:
    """A transaction in which no other process can write to any project."""
    keys = [str(row["key"]) for row in db.stream("SELECT key FROM projects ORDER BY key")]
    with db.writing(SHARED, *keys):
        yield


def content_of(db: Database) -> Content:
    """The number of rows of each table, and a digest. Call inside a transaction."""
    return {table: _content(db, table) for table in TABLES}


def copy_rows(source: Database, target: Database) -> Content:
    """Copy all rows in one transaction and compare them. A target that has them already stays as it is."""
    with locked(source):
        source_content = content_of(source)
        with target.writing(SHARED):
            if has_rows(target.name, content_of(target), source_content):
                return source_content
            for table, key in TABLES.items():
                target.insert(table, source.stream(f"SELECT * FROM {table} ORDER BY {key}"))
            if content_of(target) != source_content:
                raise BurnishError(
                    f"The rows in {target.name} differ from those in {source.name}, so nothing was copied.",
                    hint="Try again, and report it if it happens again.",
                )
    return source_content


def has_rows(name: str, content: Content, source_content: Content) -> bool:
    """Whether the database has these rows already, False if it is empty; refused if it has others."""
    if content == source_content:
        return True
    if any(one.rows for one in content.values()):
        raise Refused(
            f"The database {name} is not empty.",
            hint="Use an empty one: burnish does not join the tasks of two databases.",
        )
    return False


def _content(db: Database, table: str) -> TableContent:
    digest, rows = hashlib.sha256(), 0
    for row in db.stream(f"SELECT * FROM {table} ORDER BY {TABLES[table]}"):
        digest.update(_encoded(row))
        rows += 1
    return TableContent(rows, digest.hexdigest())


def _encoded(row: ResultRow) -> bytes:
    # The order of the columns differs; PostgreSQL stores NUL escaped.
    values = {name: _comparable(row[name]) for name in row.keys()}  # noqa: SIM118
    return json.dumps(values, sort_keys=True).encode() + b"\n"


def _comparable(value: object) -> object:
    return value.replace("\0", "\\x00") if isinstance(value, str) else value
