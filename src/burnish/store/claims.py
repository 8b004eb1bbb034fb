"""Claims: each task has at most one runner."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from burnish.core.journal_events import LockTakenOver, new_event
from burnish.core.task import Task
from burnish.store.database import Database
from burnish.store.log import append
from burnish.store.rows import task_of


def claim(
    db: Database,
    project: str,
    runner: str,
    *,
    ids: Sequence[int] | None,
    is_dead: Callable[[str], bool],
    now: str,
) -> Task | None:
    """Claim the ready task with the highest priority; None if there is none."""
    # before the transaction, because it may inspect processes; dead runners stay dead
    holders = [row["runner"] for row in db.all("claim_holders", {"project": project})]
    dead = [holder for holder in holders if holder != runner and is_dead(holder)]
    choice: dict[str, Any] = {"project": project, "dead": dead}
    with db.writing():
        found = db.one("claim_next", choice) if ids is None else db.one("claim_next_of", {**choice, "ids": list(ids)})
        if found is None:
            return None
        params = {
            "project": project,
            "id": found["id"],
            "before": found["runner"],
            "runner": runner,
            "now": now,
        }
        row = db.one("claim_take", params)
        if row is None:
            return None
        task = task_of(row)
        if found["runner"] is not None:
            data = LockTakenOver(found["runner"], runner)
            event = new_event("lock.taken_over", data, run=task.run, cycle=task.cycle)
            append(db, project, task.id, [event], ts=now)
        return task


def holder(db: Database, project: str, id: int) -> dict[str, Any] | None:
    """The runner that holds the task, since when, and its command."""
    row = db.one("claim_holder", {"project": project, "id": id})
    if row is None:
        return None
    info: Mapping[str, Any] = json.loads(row["info"]) if row["info"] else {}
    fields = {key: info.get(key) for key in ("pid", "host", "user", "command")}
    return {**fields, **info, "runner": row["runner"], "since": row["claimed_at"]}
