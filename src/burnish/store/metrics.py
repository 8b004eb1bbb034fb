"""Counts over all projects for `/metrics`, computed by the database: four queries, however many tasks there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from burnish.store.database import Database

# upper limits of the histogram of phases, in seconds; the queries count them
BUCKETS = (1, 5, 15, 60, 300, 900, 3600)


@dataclass(frozen=True, slots=True)
class PhaseCount:
    project: str
    phase: str
    state: str
    number: int
    seconds: float
    # limit of a bucket → phases that took at most so long
    buckets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class AgentCount:
    project: str
    agent: str
    calls: int
    cost_usd: float
    tokens: int


@dataclass(frozen=True, slots=True)
class StoreCounts:
    # project, status → tasks
    tasks: Mapping[tuple[str, str], int]
    # project → tasks that a runner could take now
    queue: Mapping[str, int]
    phases: tuple[PhaseCount, ...]
    agents: tuple[AgentCount, ...]


def count(db: Database) -> StoreCounts:
    with db.reading():
        return StoreCounts(
            {(row["project"], row["status"]): int(row["number"]) for row in db.all("metric_tasks", {})},
            {row["project"]: int(row["number"]) for row in db.all("metric_queue", {})},
            tuple(
                PhaseCount(
                    row["project"],
                    row["phase"],
                    row["state"],
                    int(row["number"]),
                    float(row["seconds"] or 0),
                    {limit: int(row[f"b{limit}"] or 0) for limit in BUCKETS},
                )
                for row in db.all("metric_phases", {})
            ),
            tuple(
                AgentCount(
                    row["project"], row["agent"], int(row["number"]), float(row["usd"] or 0), int(row["tokens"] or 0)
                )
                for row in db.all("metric_agents", {})
            ),
        )
