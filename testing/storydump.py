"""What a store's tables hold, to compare two of them."""

from __future__ import annotations

from typing import Any

from burnish.store import Store
from burnish.store.database import SHARED

_TABLES = ("events", "tasks", "needs", "phases", "decisions", "findings", "approvals")
# who holds a task, and what of it lies in files, is no event's doing
_NOT_TOLD = ("runner", "claimed_at", "archived")


def dump(store: Store, project: str) -> dict[str, list[dict[str, Any]]]:
    """Every row that comes from the project's events."""
    tables = {table: _rows(store, f"SELECT * FROM {table} WHERE project = :project", project) for table in _TABLES}
    for row in tables["tasks"]:
        for key in _NOT_TOLD:
            del row[key]
    numbers = _rows(store, "SELECT next_event, next_task FROM projects WHERE key = :project", project)
    return {**{table: sorted(rows, key=repr) for table, rows in tables.items()}, "numbers": numbers}


def execute(store: Store, statement: str) -> None:
    """Change the tables as no command of burnish does."""
    with store._db.writing(SHARED):
        store._db._execute(statement, {})


def _rows(store: Store, query: str, project: str) -> list[dict[str, Any]]:
    found = store._db._rows(query, {"project": project})
    return [{name: _comparable(row[name]) for name in sorted(row.keys())} for row in found]


def _comparable(value: Any) -> Any:
    """PostgreSQL has no text with NUL: it is stored escaped."""
    return value.replace("\0", "\\x00") if isinstance(value, str) else value
