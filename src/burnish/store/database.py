"""Named queries on a database, whatever its kind: a thread has a connection of its own during a transaction."""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from burnish.core.task import Task
    from burnish.errors import BurnishError

Value = str | int | float | None
Params = Mapping[str, Value | Sequence[Value]]

# The lock of what belongs to no project: runners, usage limits, the list of projects.
SHARED = ""


class ResultRow(Protocol):
    """A row of a result: its values in order, and by the name of their column."""

    def __getitem__(self, key: int | str, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def keys(self) -> Any: ...


class Connection(Protocol):
    """What this module needs of a connection to a database."""

    def close(self) -> None: ...


class Database(ABC):
    """Runs named queries. `statements` counts them, for the benchmark."""

    # folder below `queries` with those that other databases write differently; "" has none
    dialect = ""

    def __init__(self) -> None:
        # why a copy in memory is used, which cannot be written
        self.obstacle: BurnishError | None = None
        self.statements = 0
        self._thread_local = threading.local()
        self._guard = threading.Lock()
        self._open: list[tuple[threading.Thread, Connection]] = []

    @property
    @abstractmethod
    def name(self) -> str:
        """The database for messages: a path, or an address without its password."""

    @abstractmethod
    def server(self) -> str:
        """The program behind the database, and its version."""

    @property
    @abstractmethod
    def is_shared(self) -> bool:
        """Whether other machines use it: then a runner is alive as long as it renews its lease."""

    def all(self, name: str, params: Params) -> list[ResultRow]:
        """Run one named query and return all rows."""
        text, flat = fill(queries(self.dialect)[name], params)
        with self._errors():
            return self._rows(text, flat)

    def one(self, name: str, params: Params) -> ResultRow | None:
        rows = self.all(name, params)
        return rows[0] if rows else None

    @abstractmethod
    def stream(self, text: str) -> Iterator[ResultRow]:
        """Run a query and return its rows one after the other, however many there are."""

    @abstractmethod
    def insert(self, table: str, rows: Iterator[ResultRow]) -> None:
        """Insert many rows with all their columns. Call inside a transaction."""

    def is_upgraded(self) -> bool:
        """Whether a newer program has changed the tables meanwhile; a file is opened by one program at a time."""
        return False

    @abstractmethod
    def version(self) -> int:
        """A number that changes with every commit of another connection."""

    @abstractmethod
    def writing(self, project: str, *more: str) -> AbstractContextManager[None]:
        """A transaction that locks these projects for writing. `SHARED`, if named, comes first."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """A transaction for several queries on the same state."""

    @abstractmethod
    def changing_copy(self, obstacle: BurnishError) -> AbstractContextManager[None]:
        """Write to a copy in memory, which is read from now on. For commands with one thread that only show."""

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._guard:
            for _, connection in self._open:
                connection.close()
            self._open.clear()
            self._thread_local = threading.local()

    @contextmanager
    def _transaction(self, begin: str, *locks: str) -> Iterator[None]:
        with self._errors():
            self._execute(begin, {})
        try:
            with self._errors():
                for lock in locks:
                    self._execute(lock, {})
            yield
            with self._errors():
                self._execute("COMMIT", {})
        except BaseException:
            self._roll_back()
            raise

    @abstractmethod
    def _roll_back(self) -> None:
        """End the transaction, if there is one, without its changes."""

    @abstractmethod
    def _errors(self) -> AbstractContextManager[None]:
        """Translate errors of the database into `BurnishError`."""

    @abstractmethod
    def _execute(self, text: str, params: dict[str, Value]) -> Any:
        """Run one statement on the connection of this thread."""

    @abstractmethod
    def _rows(self, text: str, params: dict[str, Value]) -> list[ResultRow]:
        """Run one statement and return its rows; none if it returns none."""

    def _keep_connection(self, connection: Connection) -> None:
        """Remember the connection for `close`; close those of threads that have ended."""
        with self._guard:
            alive = [(thread, other) for thread, other in self._open if thread.is_alive()]
            for thread, other in self._open:
                if not thread.is_alive():
                    other.close()
            self._open = [*alive, (threading.current_thread(), connection)]


# -- sql ------------------------------------------------------------------------------------------
# Loads the named queries of `queries/*.sql`.


@cache
def queries(dialect: str = "") -> Mapping[str, str]:
    """All queries by name. Those of a dialect replace those that all databases share."""
    folder = Path(__file__).with_name("queries")
    if dialect:
        own = _queries_in(folder / dialect)
        if unknown := own.keys() - queries().keys():
            raise ValueError(f"only {dialect} has the queries {sorted(unknown)}")
        return {**queries(), **own}
    return _queries_in(folder)


def _queries_in(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sorted(folder.glob("*.sql")):
        for block in re.split(r"^-- name: ", file.read_text("utf-8"), flags=re.M)[1:]:
            name, _, text = block.partition("\n")
            if name.strip() in found:
                raise ValueError(f"two queries are called {name}")
            found[name.strip()] = text.strip()
    return found


def fill(text: str, params: Params) -> tuple[str, dict[str, Value]]:
    """Expand list parameters to one parameter per element."""
    flat: dict[str, Value] = {}
    for name, value in params.items():
        if isinstance(value, str) or not isinstance(value, Sequence):
            flat[name] = value
            continue
        names = [f"{name}_{n}" for n in range(len(value))]
        flat.update(zip(names, value, strict=True))
        # an empty list becomes (NULL), which matches no row
        text = re.sub(rf":{name}\b", ", ".join(f":{n}" for n in names) or "NULL", text)
    return text, flat


class StorePart:
    """A part of the class `Store` in a module of its own."""

    _db: Database

    def _now(self) -> str:
        """ISO 8601, UTC, milliseconds."""
        raise NotImplementedError

    def task(self, project: str, id: int) -> Task:
        raise NotImplementedError
