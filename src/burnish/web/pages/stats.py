"""The statistics of a project, or of all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from burnish.features.server.registry import ProjectRegistry
from burnish.store.rows import ProjectRow
from burnish.views.stats import StatsView, stats
from burnish.web.deps import ProjectDep, RegistryDep
from burnish.web.pages.charts import charts
from burnish.web.pages.rendering import fragment, page

router = APIRouter(prefix="/p/{project}/stats", include_in_schema=False)

# how far back: the number of days, and its name
WINDOWS = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "a year"), (0, "all"))
MOST_EXPENSIVE = 6

Days = Annotated[int, Query(ge=0, le=3650)]


@router.get("")
def show(
    request: Request, registry: RegistryDep, project: ProjectDep, days: Days = 0, everything: bool = False
) -> Response:
    since = registry.store.last_event(project.key)
    view = _view(registry, project, days, everything)
    several = len(registry.projects()) > 1
    return page(
        request,
        "stats.html.j2",
        title=f"Statistics · {project.name}",
        here="stats",
        project=project,
        since=since,
        several=several,
        windows=WINDOWS,
        **view,
    )


@router.get("/part")
def part(registry: RegistryDep, project: ProjectDep, days: Days = 0, everything: bool = False) -> Response:
    return fragment("stats_part.html.j2", project=project, **_view(registry, project, days, everything))


def _view(registry: ProjectRegistry, project: ProjectRow, days: int, everything: bool) -> dict[str, Any]:
    keys = [row.key for row in registry.projects()] if everything else [project.key]
    view: StatsView = stats(registry.store, keys, now=datetime.now(UTC), days=days or None)
    names = {row.key: row.name for row in registry.projects()}
    return {
        "view": view,
        "charts": [] if view.empty else charts(view),
        "most_expensive": view.most_expensive[:MOST_EXPENSIVE],
        "days": days,
        "everything": everything,
        "names": names,
    }
