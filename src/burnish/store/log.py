"""The event log, the only write path for tasks, and rows of the journal to core types."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from burnish.core import journal
from burnish.core.event import Event, RecordedEvent
from burnish.core.finding import Finding
from burnish.core.history import AnyPhase, DecisionRecord, decision_record, phase_record
from burnish.core.journal_events import LockTakenOver, new_event
from burnish.core.task import Task
from burnish.errors import NotFound, Refused
from burnish.store.database import Database, ResultRow
from burnish.store.projections import apply
from burnish.store.rows import reports_damage, task_of, to_json

# no limit, in a form that all SQL dialects support
_EVERYTHING = 2**62


def append(
    db: Database, project: str, task: int | None, events: Sequence[Event], *, ts: str
) -> tuple[RecordedEvent, ...]:
    """Number and store the events, and update the tables. Call inside a transaction."""
    row = db.one("project_take_events", {"project": project, "count": len(events)})
    if row is None:
        raise NotFound(f"There is no project {project}.", hint="`burnish projects` lists them.")
    # encoded and decoded, so that the result equals what a reader gets
    texts = [to_json(event.data) for event in events]
    recorded_events = tuple(
        RecordedEvent(row["first"] + n, ts, project, task, event.run, event.cycle, event.type, json.loads(text))
        for n, (event, text) in enumerate(zip(events, texts, strict=True))
    )
    for recorded_event, text in zip(recorded_events, texts, strict=True):
        _add(db, recorded_event, text)
    return recorded_events


def replay(db: Database, project: str, events: Iterable[RecordedEvent]) -> None:
    """Store recorded events again, with their numbers and times. Call inside a transaction."""
    for event in events:
        own = RecordedEvent(event.id, event.ts, project, event.task, event.run, event.cycle, event.type, event.data)
        _add(db, own, to_json(event.data))
        db.all("project_seen_event", {"project": project, "next": event.id + 1})


def _add(db: Database, event: RecordedEvent, text: str) -> None:
    db.all(
        "event_add",
        {
            "project": event.project,
            "id": event.id,
            "ts": event.ts,
            "task": event.task,
            "run": event.run,
            "cycle": event.cycle,
            "type": event.type,
            "data": text,
        },
    )
    apply(db, event)


def check_claim(db: Database, project: str, task: int | None, runner: str) -> None:
    """Refuse if the runner no longer holds the task."""
    row = db.one("claim_holder", {"project": project, "id": task})
    if row is None or row["runner"] != runner:
        raise Refused(
            f"Task {task} is no longer held by this run.",
            hint=f"Another run took it over, or it was removed: see `burnish show {task}`.",
        )


def read(
    db: Database,
    project: str | None,
    task: int | None,
    since: int,
    limit: int | None,
    types: Iterable[str] | None,
) -> list[RecordedEvent]:
    """Events in order: within a project by number, across projects by time."""
    name = "events_of_all" if project is None else "events_of_project" if task is None else "events_of_task"
    params = {
        "project": project,
        "task": task,
        "since": since,
        "limit": _EVERYTHING if limit is None else limit,
    }
    if types is None:
        return [event_of(row) for row in db.all(name, params)]
    return [event_of(row) for row in db.all(f"{name}_typed", {**params, "types": list(types)})]


@reports_damage
def event_of(row: ResultRow) -> RecordedEvent:
    return RecordedEvent(
        row["id"],
        row["ts"],
        row["project"],
        row["task"],
        row["run"],
        row["cycle"],
        row["type"],
        json.loads(row["data"]),
    )


@reports_damage
def phase_of(row: ResultRow) -> AnyPhase:
    return phase_record(
        run=row["run"],
        cycle=row["cycle"],
        phase=row["phase"],
        attempt=row["attempt"],
        state=row["state"],
        payload=json.loads(row["result"]),
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        runner=row["runner"],
        superseded=bool(row["superseded"]),
        cost_usd=row["cost_usd"],
        tokens=row["tokens"],
    )


@reports_damage
def decision_of(row: ResultRow) -> DecisionRecord:
    return decision_record(row["run"], row["cycle"], row["action"], row["by_whom"], json.loads(row["data"]))


@reports_damage
def finding_of(row: ResultRow) -> Finding:
    return journal.read(Finding, json.loads(row["data"]))


# -- claims ---------------------------------------------------------------------------------------
# Claims: each task has at most one runner.


def claim(
    db: Database,
    project: str,
    runner: str,
    *,
    ids: Sequence[int] | None,
    is_dead: Callable[[str], bool],
    now: str,
    busy: Sequence[int] = (),
) -> Task | None:
    """Claim the ready task with the highest priority that is not in `busy`; None if there is none."""
    # before the transaction, because it may inspect processes; dead runners stay dead
    values: dict[str, Any] = {"project": project} if ids is None else {"project": project, "ids": list(ids)}
    holders = [row["runner"] for row in db.all("claim_holders" if ids is None else "claim_holders_of", values)]
    dead = [holder for holder in holders if holder != runner and is_dead(holder)]
    # 0 is the number of no task: NOT IN with an empty list would match nothing
    choice: dict[str, Any] = {"project": project, "dead": dead, "busy": [0, *busy]}
    with db.writing(project):
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


def take(db: Database, project: str, task: int | None, runner: str, *, now: str) -> None:
    """Hold the task, whatever its status is; refuse if another runner holds it. Call inside a transaction."""
    params = {"project": project, "id": task, "before": None, "runner": runner, "now": now}
    if db.one("claim_take", params) is None:
        raise Refused(f"Another process runs task {task}.", hint="Wait until it ends: `burnish status`.")


def holder(db: Database, project: str, id: int) -> dict[str, Any] | None:
    """The runner that holds the task, since when, and its command."""
    row = db.one("claim_holder", {"project": project, "id": id})
    if row is None:
        return None
    info: Mapping[str, Any] = json.loads(row["info"]) if row["info"] else {}
    fields = {key: info.get(key) for key in ("pid", "host", "user", "command")}
    return {**fields, **info, "runner": row["runner"], "since": row["claimed_at"]}
