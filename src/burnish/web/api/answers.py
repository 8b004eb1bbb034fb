"""Response bodies of the API."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

EXAMPLE: dict[str, Any] = {
    "id": "29",
    "project": "shop-1f3a",
    "title": "Refuse empty passwords",
    "type": "implement",
    "status": "verified",
    "reason": None,
    "error": None,
    "final_verdict": "APPROVED",
    "cycle": 2,
    "max_cycles": 3,
    "review_status": "passed",
    "open_findings": 0,
    "branch": "burnish/29-refuse-empty-passwords",
    "base": "5f0c1e7d9b7a4d3f8a51c6f0e4d2b1a09c8e7f65",
    "commit": "0b9d6a4e2f1c8b7a6d5e4f3c2b1a09f8e7d6c5b4",
    "agent": "claude",
    "model": None,
    "auto_review": True,
    "priority": 0,
    "cost_usd": 0.42,
    "cost_source": "program",
    "tokens": 18042,
    "depends_on": ["12"],
    "overrides": 0,
    "waits_for": None,
    "issues_fixed": 0,
    "created_at": "2027-01-31T22:04:11.120Z",
    "updated_at": "2027-01-31T22:19:40.087Z",
}


class ApiModel(BaseModel):
    """More may come with a later version; what is named here stays."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)


class TaskOut(ApiModel):
    """A task, as `burnish status --json` has it."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    id: str
    project: str
    title: str
    type: str
    status: str
    reason: str | None
    error: str | None
    final_verdict: str | None
    cycle: int
    max_cycles: int
    review_status: str | None
    open_findings: int
    branch: str | None
    base: str | None
    commit: str | None
    """The newest commit on record: name it in decisions about what you saw."""
    agent: str | None
    model: str | None
    auto_review: bool
    priority: int
    cost_usd: float | None
    """Null where it is not known."""
    cost_source: str | None
    """`program`, `list`, `mixed`, `partial` (a lower bound) or `unknown`; null before anything was used."""
    tokens: int
    depends_on: list[str]
    overrides: int
    waits_for: str | None
    issues_fixed: int
    created_at: str
    updated_at: str


class FindingOut(ApiModel):
    """A problem in the change, with an id that lives across cycles."""

    id: str
    state: str
    category: str
    severity: str
    title: str
    description: str
    suggestion: str
    file: str | None
    line: int | None
    end_line: int | None
    quote: str
    rule: str | None
    confidence: float | None
    first_cycle: int
    last_cycle: int
    reviewers: list[str]
    waiver: dict[str, Any] | None


class RuledOut(FindingOut):
    """A finding that a person has just ruled on, and where that leaves its task."""

    task: str
    task_status: str


class EventOut(ApiModel):
    """A fact that happened. Its `id` counts within the project; ask for what came after it by `since`."""

    id: int
    ts: str
    project: str
    task: str | None
    run: int
    cycle: int
    type: str
    data: dict[str, Any]


class StoryOut(TaskOut):
    """A task with everything that happened to it, as `burnish show --json` has it."""

    description: str
    scope: str
    criteria: list[str]
    checklist: list[dict[str, Any]]
    plan: str
    cycles: list[dict[str, Any]]
    findings: list[FindingOut]
    events: list[EventOut]


class TasksOut(ApiModel):
    tasks: list[TaskOut]
    total: int


class PlannedOut(ApiModel):
    """What the run begins with, in order; with `all`, more follows as it becomes ready."""

    planned: list[str]


class StoppedOut(ApiModel):
    """The runs that were asked to stop; `GET /api/v1/server` names those that are under way."""

    stopped: list[str]


class FindingsOut(ApiModel):
    id: str
    findings: list[FindingOut]


class EventsOut(ApiModel):
    events: list[EventOut]
    last: int
    """The newest id of the project: what is above the last one here is yet to be asked for."""


class MergedOut(ApiModel):
    id: str
    into: str
    commit: str
    how: str
    rechecked: bool


class LeftOut(ApiModel):
    id: str
    status: str
    why: str
    hint: str
    conflicts: list[str]


class MergesOut(ApiModel):
    merged: list[MergedOut]
    left: list[LeftOut]
