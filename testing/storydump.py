"""What a store's tables hold, to compare two of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

_TABLES = ("events", "tasks", "needs", "phases", "decisions", "findings", "approvals")
# who holds a task, and what of it lies in files, is no event's doing
_NOT_TOLD = ("runner", "claimed_at", "archived")


def dump(home: Path, project: str) -> dict[str, list[dict[str, Any]]]:
    """Every row that comes from the project's events."""
    with closing(sqlite3.connect(home / "burnish.db")) as db:
        db.row_factory = sqlite3.Row
        tables = {table: _rows(db, table, project) for table in _TABLES}
        numbers = db.execute("SELECT next_event, next_task FROM projects WHERE key = ?", (project,))
        return {**tables, "numbers": [dict(row) for row in numbers]}


def _rows(db: sqlite3.Connection, table: str, project: str) -> list[dict[str, Any]]:
    found = [dict(row) for row in db.execute(f"SELECT * FROM {table} WHERE project = ?", (project,))]
    for row in found if table == "tasks" else ():
        for key in _NOT_TOLD:
            del row[key]
    return sorted(found, key=repr)
