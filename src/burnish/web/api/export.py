"""Export: a task or a night in a format of another tool."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from burnish.features.export.export import FORMATS, ProjectRecords, chosen_format, export_night, export_task
from burnish.views.filters import since_when
from burnish.web.deps import ProjectDep, RegistryDep, TaskNumber
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["trail"], responses=PROBLEMS)

FILE: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
Since = Annotated[str, Query(description="Begin of the period: `12h`, `7d` or a date.", max_length=40)]


@router.get("/tasks/{task}/export", response_class=Response, responses=FILE)
def task_export(
    registry: RegistryDep,
    project: ProjectDep,
    task: TaskNumber,
    format: Annotated[
        str, Query(description="sarif, rdjson, github, junit, markdown, html or json.", max_length=20)
    ] = "markdown",
) -> Response:
    """Like `burnish export TASK`: a file to download."""
    name = chosen_format(format, None)
    records = ProjectRecords(registry.store, project.key, Path(project.root).name, registry.alive, registry.home)
    return _download(export_task(records, task, name), name, f"task-{task}")


@router.get("/export", response_class=Response, responses=FILE)
def night_export(
    registry: RegistryDep,
    project: ProjectDep,
    since: Since = "12h",
    format: Annotated[str, Query(description="markdown, html or json.", max_length=20)] = "markdown",
) -> Response:
    """Like `burnish export --night`: a file to download."""
    name, now = chosen_format(format, None, night=True), datetime.now(UTC)
    records = ProjectRecords(registry.store, project.key, Path(project.root).name, registry.alive, registry.home)
    return _download(export_night(records, since_when(since, now), name, now=now), name, "night")


def _download(text: str, format: str, stem: str) -> Response:
    # an attachment: text of agents is never a page of the board
    kind, ending = FORMATS[format]
    headers = {"Content-Disposition": f'attachment; filename="{stem}{ending}"'}
    return Response(text.encode("utf-8", "replace"), media_type=f"{kind}; charset=utf-8", headers=headers)
