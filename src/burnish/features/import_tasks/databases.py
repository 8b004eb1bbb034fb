"""Reads SQLite databases of other tools, which a stranger may have written, from a private copy."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from burnish.regular_files import read_below

# of one value, as of a file with tasks
_MAX_VALUE_BYTES = 8 * 1024 * 1024
_MAX_ROWS = 100_000
_MAX_ROW_BYTES = 64 * 1024 * 1024
_MAX_DATABASE_BYTES = 256 * 1024 * 1024
# of all queries of one import: a view of a hostile database may never end, or make texts of any size
_QUERY_SECONDS = 10.0
# instructions of SQLite between two looks at the clock; one of them may make a text of megabytes
_STEPS = 200


@dataclass(slots=True)
class QueryTime:
    """What is left of the time that one import may spend on databases."""

    seconds: float = field(default_factory=lambda: _QUERY_SECONDS)


@dataclass(frozen=True, slots=True)
class OtherDatabase:
    connection: sqlite3.Connection
    time: QueryTime

    def rows(self, query: str, *, is_optional: bool = False) -> list[dict[str, Any]]:
        """The rows, without columns that are 0: a column that is off is not a field that somebody filled in."""
        start = time.monotonic()
        end = start + self.time.seconds
        self.connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        try:
            rows = islice(self.connection.execute(query), _MAX_ROWS)
            return list(_bounded({name: row[name] for name in row.keys() if row[name] != 0} for row in rows))  # noqa: SIM118
        except sqlite3.Error as error:
            if is_optional:
                return []
            raise ValueError(f"the database cannot be read ({error})") from error
        finally:
            self.time.seconds -= time.monotonic() - start


@contextmanager
def opened(path: Path, time: QueryTime) -> Iterator[OtherDatabase]:
    """A copy of the database and of what SQLite keeps beside it. Raises ValueError if it cannot be read.

    SQLite itself would wait for a pipe, follow links beside the database, and write there even to read.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", "-wal", "-journal"):
            data = read_below(path.parent, PurePath(path.name + suffix), longest=_MAX_DATABASE_BYTES + 1)
            if data is not None:
                _check_size(data)
                copy.with_name(copy.name + suffix).write_bytes(data)
            elif not suffix:
                raise ValueError("the database is not a file that can be read")
        try:
            with closing(sqlite3.connect(copy)) as database:
                database.row_factory = sqlite3.Row
                database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
                yield OtherDatabase(database, time)
        except sqlite3.Error as error:
            raise ValueError(f"the database cannot be read ({error})") from error


def _check_size(data: bytes) -> None:
    if len(data) > _MAX_DATABASE_BYTES:
        raise ValueError(f"the database has more than {_MAX_DATABASE_BYTES // 1024**2} MB")


def _bounded(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    size = 0
    for row in rows:
        size += sum(len(value) for value in row.values() if isinstance(value, str | bytes))
        if size > _MAX_ROW_BYTES:
            raise ValueError(f"the database has more than {_MAX_ROW_BYTES // 1024**2} MB of text")
        yield row
