"""Reads the input of statistics for all tasks, with five queries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from burnish.core.finding import Category, Finding, FindingState, Severity
from burnish.core.journal import PhaseResult, current, phase_result
from burnish.core.status import Status
from burnish.store.database import Database, ResultRow
from burnish.store.rows import reports_damage

Of = tuple[str, int]
# prefix of the note of a finding that its reviewer withdrew
WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class TaskRow:
    of: Of
    title: str
    status: Status
    agent: str
    cost_usd: float | None
    tokens: int
    removed: bool
    updated_at: str


@dataclass(frozen=True, slots=True)
class PhaseRow:
    of: Of
    run: int
    cycle: int
    phase: str
    state: str
    started_at: str
    finished_at: str | None
    cost_usd: float | None
    tokens: int
    # for checks only the flaky tests; None for gates, and for phases before `since`
    result: PhaseResult | None


@dataclass(frozen=True, slots=True)
class DecisionRow:
    of: Of
    run: int
    cycle: int
    action: str
    by: str
    ts: str


@dataclass(frozen=True, slots=True)
class MoveRow:
    """A change of a task's status."""

    of: Of
    run: int
    cycle: int
    before: Status
    to: Status
    ts: str


@dataclass(frozen=True, slots=True)
class FindingRow:
    of: Of
    run: int
    category: Category
    severity: Severity
    state: FindingState
    # the reviewer withdrew it, because it was not a problem
    withdrawn: bool
    first_cycle: int
    reviewers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    tasks: tuple[TaskRow, ...]
    phases: tuple[PhaseRow, ...]
    decisions: tuple[DecisionRow, ...]
    moves: tuple[MoveRow, ...]
    findings: tuple[FindingRow, ...]


def tally(db: Database, projects: Sequence[str], since: str) -> Tally:
    """The rows of all tasks of the projects, including removed ones. `since` only skips old phase results."""
    where = {"projects": list(projects), "since": since}
    with db.reading():
        return Tally(
            tuple(_task(row) for row in db.all("tally_tasks", where)),
            tuple(_phase(row) for row in db.all("tally_phases", where)),
            tuple(_decision(row) for row in db.all("tally_decisions", where)),
            tuple(_move(row) for row in db.all("tally_moves", where)),
            tuple(_finding(row) for row in db.all("tally_findings", where)),
        )


def ended_phases(db: Database, project: str, since: str) -> Tally:
    """Only the phases of agents that ended since then."""
    found = db.all("tally_phases_since", {"project": project, "since": since})
    return Tally((), tuple(_phase(row) for row in found), (), (), ())


@reports_damage
def _task(row: ResultRow) -> TaskRow:
    return TaskRow(
        (row["project"], row["id"]),
        str(json.loads(row["head"])["title"]),
        Status(row["status"]),
        row["agent"] or "",
        row["cost_usd"],
        row["tokens"],
        bool(row["removed"]),
        row["updated_at"],
    )


@reports_damage
def _phase(row: ResultRow) -> PhaseRow:
    return PhaseRow(
        (row["project"], row["task"]),
        row["run"],
        row["cycle"],
        row["phase"],
        row["state"],
        row["started_at"],
        row["finished_at"],
        row["cost_usd"],
        row["tokens"],
        phase_result(row["phase"], row["state"], json.loads(row["result"])),
    )


@reports_damage
def _decision(row: ResultRow) -> DecisionRow:
    of = (row["project"], row["task"])
    return DecisionRow(of, row["run"], row["cycle"], row["action"], row["by_whom"], row["ts"])


@reports_damage
def _move(row: ResultRow) -> MoveRow:
    of, data = (row["project"], row["task"]), json.loads(row["data"])
    return MoveRow(of, row["run"], row["cycle"], Status(data["from"]), Status(data["to"]), row["ts"])


@reports_damage
def _finding(row: ResultRow) -> FindingRow:
    # without the codec, for speed: there may be thousands
    data = current(Finding, json.loads(row["data"]))
    state = FindingState(data["state"])
    return FindingRow(
        (row["project"], row["task"]),
        row["run"],
        Category(data["category"]),
        Severity(data["severity"]),
        state,
        state is FindingState.RESOLVED and str(data["note"]).startswith(WITHDRAWN),
        data["first_cycle"],
        tuple(data["reviewers"]) or ((data["source"],) if data["source"] else ()),
    )
