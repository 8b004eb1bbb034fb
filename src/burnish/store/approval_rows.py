"""Rows of approvals and baselines to core types."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from burnish.core.approval import Approval, optional_fields
from burnish.core.status import Status
from burnish.store.database import Database, Params, ResultRow
from burnish.store.rows import reports_damage

# most ids as parameters of one query
MAX_IDS = 500


@dataclass(frozen=True, slots=True)
class BaselineOrigins:
    """Where the project's own packages were imported from when its tests ran on a base."""

    command: str
    origins: Mapping[str, str]
    captured_at: str


@dataclass(frozen=True, slots=True)
class RecordedApproval:
    """What is on record of the approval of a task, to be compared with its branch and with the settings."""

    id: int
    branch: str | None
    base: str | None
    commit: str | None
    judge: str | None
    # the spec of the task as JSON, without its texts and relations: no policy depends on them
    kind: str
    # the approval is valid and agrees with its event, and neither the base nor the task was edited since
    is_unchanged: bool


@dataclass(frozen=True, slots=True)
class _LastReading:
    # the number of the newest event then
    last_event: int
    approvals: Mapping[int, RecordedApproval]


class ApprovalReader:
    """Reads the approvals of all tasks, as each run does at its start, and a server many times.

    A process compares an approval with the event that gave it only once, unless its task has new events: events never
    change, and the tables change only with an event.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._last: dict[tuple[str, tuple[Status, ...]], _LastReading] = {}

    def read(self, project: str, statuses: Sequence[Status]) -> list[RecordedApproval]:
        where: Params = {"project": project, "statuses": statuses}
        key = project, tuple(statuses)
        with self._db.reading():
            counter = self._db.one("project_last_event", {"project": project})
            last = self._last.get(key)
            approvals = self._compared(where) if last is None else self._changed_since(last, where)
        self._last[key] = _LastReading(int(counter["last"]) if counter else 0, approvals)
        return list(approvals.values())

    def _changed_since(self, last: _LastReading, where: Params) -> Mapping[int, RecordedApproval]:
        events = self._db.all("tasks_with_events_since", {"project": where["project"], "since": last.last_event})
        changed_ids = {row["id"] for row in events}
        if not changed_ids:
            return last.approvals
        if len(changed_ids) > MAX_IDS:
            return self._compared(where)
        kept = {id: one for id, one in last.approvals.items() if id not in changed_ids}
        return dict(sorted((kept | self._compared(where, changed_ids)).items()))

    def _compared(self, where: Params, ids: Collection[int] | None = None) -> dict[int, RecordedApproval]:
        """Approvals compared with their events; without `ids`, all of them."""
        params: Params = {**where, "every": int(ids is None), "ids": sorted(ids or ())}
        rows = self._db.all("recorded_approvals", params)
        # by position: there may be thousands
        return {
            id: RecordedApproval(id, branch, base, commit, judge, kind, bool(is_unchanged))
            for id, branch, base, commit, judge, kind, is_unchanged in rows
        }


@reports_damage
def approval_of(row: ResultRow) -> Approval:
    """Believed only if the event that gave it says the same."""
    event_data = json.loads(row["event_data"])
    approval = Approval(
        base=row["base"],
        tree=row["tree"],
        judge=row["judge"],
        commit=row["commit_sha"],
        valid=bool(row["valid"]),
        ts=row["ts"],
        event_id=row["event_id"],
        **optional_fields(event_data),
    )
    if row["event_type"] != "review.approved" or row["event_task"] != row["task"]:
        raise ValueError(f"no event gave task {row['task']} its approval")
    for name in ("base", "tree", "judge", "commit"):
        if event_data[name] != getattr(approval, name):
            raise ValueError(f"the approval of task {row['task']} is not the one that was given")
    return approval
