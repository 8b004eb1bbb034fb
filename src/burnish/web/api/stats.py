"""Statistics and cost."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from burnish.views.stats import cost_json, stats, stats_json
from burnish.web.api.schemas import ApiModel
from burnish.web.deps import ProjectDep, RegistryDep
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1", tags=["statistics"], responses=PROBLEMS)

Days = Annotated[int | None, Query(ge=1, le=3650, description="Number of days up to today. Default: all time.")]


class CostOut(ApiModel):
    projects: list[str]
    since: str | None
    """First day of the period; null: all time."""
    total: dict[str, Any]
    by_agent: list[dict[str, Any]]
    by_phase: list[dict[str, Any]]
    by_task: list[dict[str, Any]]
    over_time: dict[str, Any]
    windows: list[dict[str, Any]]
    """How much of the windows of a plan is used now, as far as programs reported it."""


class StatsOut(CostOut):
    tasks: dict[str, Any]
    runs: dict[str, Any]
    """Ended runs by outcome; runs that wait for a person are not included."""
    cycles_to_approval: dict[str, Any]
    verdicts: dict[str, int]
    findings: dict[str, Any]
    reviewers: list[dict[str, Any]]
    flaky: dict[str, Any]
    """Tests that failed and then passed on the same commit, and how often."""


@router.get("/projects/{project}/stats", response_model=StatsOut)
def project_stats(registry: RegistryDep, project: ProjectDep, days: Days = None) -> dict[str, Any]:
    """Like `burnish stats --json`."""
    return stats_json(stats(registry.store, [project.key], now=datetime.now(UTC), days=days))


@router.get("/projects/{project}/cost", response_model=CostOut)
def project_cost(registry: RegistryDep, project: ProjectDep, days: Days = None) -> dict[str, Any]:
    """Like `burnish cost --json`."""
    return cost_json(stats(registry.store, [project.key], now=datetime.now(UTC), days=days))


@router.get("/stats", response_model=StatsOut)
def all_stats(registry: RegistryDep, days: Days = None) -> dict[str, Any]:
    """Like `burnish stats --all --json`."""
    keys = [row.key for row in registry.projects()]
    return stats_json(stats(registry.store, keys, now=datetime.now(UTC), days=days))


@router.get("/cost", response_model=CostOut)
def all_cost(registry: RegistryDep, days: Days = None) -> dict[str, Any]:
    """Like `burnish cost --all --json`."""
    keys = [row.key for row in registry.projects()]
    return cost_json(stats(registry.store, keys, now=datetime.now(UTC), days=days))
