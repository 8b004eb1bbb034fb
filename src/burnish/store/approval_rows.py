"""Rows of approvals and baselines to core types."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from burnish.core.approval import Approval, optional_fields
from burnish.store.rows import reports_damage


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
    # the spec of the task as JSON, without its texts and relations: no policy depends on them
    kind: str
    base: str | None
    commit: str | None
    judge: str | None
    # the approval is valid and agrees with its event, and neither the base nor the task was edited since
    is_unchanged: bool


@reports_damage
def approval_of(row: sqlite3.Row) -> Approval:
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
