"""Write the database of this version as SQL text, for `tests/store/homes`: run it before a migration is added.

python -m testing.old_home tests/store/homes/0006.sql
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from burnish.core.event import Event
from burnish.core.task import Spec
from burnish.store import Store

COMMIT, TREE, BASE = "1" * 40, "2" * 40, "3" * 40


def fill(home: Path) -> None:
    """Two tasks, of which one has been worked on and waits for its review."""
    moments = iter(datetime(2026, 1, 1, 12, 0, second, tzinfo=UTC) for second in range(60))
    with Store.open(home, clock=lambda: next(moments)) as store:
        project = store.project_for(Path("/repo/.git"), Path("/repo"), create=True)
        assert project
        store.add_task(project.key, Spec("Add division"), max_cycles=3, auto_review=True)
        store.add_task(project.key, Spec("Add a test", depends_on=(1,)), max_cycles=3, auto_review=True)
        for cycle, kind, data in _story():
            store.record(project.key, 1, [Event(kind, data, run=1, cycle=cycle)])


def _story() -> list[tuple[int, str, dict[str, Any]]]:
    begun = {"run": 1, "branch": "burnish/1-add-division", "target": "main", "base": BASE, "max_cycles": 3}
    phase = {"phase": "implement", "attempt": 1}
    result = {"commit": COMMIT, "tree": TREE, "changed": True, "cost_usd": 0.25, "tokens": 100}
    return [
        (0, "run.started", {**begun, "auto_review": True, "agent": "robot", "model": None}),
        (0, "task.status", {"from": "backlog", "to": "in_progress"}),
        (1, "phase.started", {**phase, "runner": ""}),
        (1, "phase.finished", {**phase, **result}),
        (1, "task.status", {"from": "in_progress", "to": "code_review"}),
    ]


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder))
        with closing(sqlite3.connect(Path(folder) / "burnish.db")) as db:
            target.write_text("\n".join(db.iterdump()) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
