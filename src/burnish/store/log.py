"""The event log, the only write path for tasks, and rows of the journal to core types."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from burnish.core import journal
from burnish.core.event import Event, RecordedEvent
from burnish.core.finding import Finding
from burnish.core.history import AnyPhase, DecisionRecord, decision_record, phase_record
from burnish.errors import NotFound, Refused
from burnish.store.database import Database
from burnish.store.projections import apply
from burnish.store.rows import reports_damage, to_json

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
def event_of(row: sqlite3.Row) -> RecordedEvent:
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
def phase_of(row: sqlite3.Row) -> AnyPhase:
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
def decision_of(row: sqlite3.Row) -> DecisionRecord:
    return decision_record(row["run"], row["cycle"], row["action"], row["by_whom"], json.loads(row["data"]))


@reports_damage
def finding_of(row: sqlite3.Row) -> Finding:
    return journal.read(Finding, json.loads(row["data"]))
