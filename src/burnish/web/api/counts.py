"""Statistics and cost, of one project or of all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from burnish.views.stats import StatsView, cost_json, stats_json
from burnish.views.stats import stats as count_all
from burnish.web.api.answers import Answer
from burnish.web.parts import HouseDep, ProjectDep
from burnish.web.problems import PROBLEMS
from burnish.wiring.house import House

router = APIRouter(prefix="/api/v1", tags=["statistics"], responses=PROBLEMS)

Days = Annotated[int | None, Query(ge=1, le=3650, description="Today and the days before it; left out, all.")]


class StatsOut(Answer):
    """How tasks ended, what reviews found, who was right, what it cost."""

    projects: list[str]
    since: str | None
    tasks: dict[str, Any]


class CostOut(Answer):
    projects: list[str]
    since: str | None
    total: dict[str, Any]
    by_agent: list[dict[str, Any]]
    by_phase: list[dict[str, Any]]


@router.get("/projects/{project}/stats", response_model=StatsOut)
def stats(house: HouseDep, project: ProjectDep, days: Days = None) -> dict[str, Any]:
    """As `burnish stats --json`."""
    return stats_json(_counted(house, [project.key], days))


@router.get("/projects/{project}/cost", response_model=CostOut)
def cost(house: HouseDep, project: ProjectDep, days: Days = None) -> dict[str, Any]:
    """As `burnish cost --json`."""
    return cost_json(_counted(house, [project.key], days))


@router.get("/stats", response_model=StatsOut)
def stats_of_all(house: HouseDep, days: Days = None) -> dict[str, Any]:
    """As `burnish stats --all --json`."""
    return stats_json(_counted(house, [row.key for row in house.projects()], days))


@router.get("/cost", response_model=CostOut)
def cost_of_all(house: HouseDep, days: Days = None) -> dict[str, Any]:
    """As `burnish cost --all --json`."""
    return cost_json(_counted(house, [row.key for row in house.projects()], days))


def _counted(house: House, keys: Sequence[str], days: int | None) -> StatsView:
    return count_all(house.store, keys, now=datetime.now(UTC), days=days)
