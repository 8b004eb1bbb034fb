"""The first page: the projects, or the board of the only one."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from burnish.features.server.registry import ProjectRegistry
from burnish.views.projects import project_lines
from burnish.web.deps import RegistryDep
from burnish.web.pages.rendering import page

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(request: Request, registry: RegistryDep) -> Response:
    rows = registry.projects()
    if len(rows) == 1:
        return RedirectResponse(f"/p/{rows[0].key}", 303)
    return _projects(request, registry)


@router.get("/projects")
def projects(request: Request, registry: RegistryDep) -> Response:
    return _projects(request, registry)


def _projects(request: Request, registry: ProjectRegistry) -> Response:
    rows = registry.projects()
    lines = project_lines(registry.store, rows, registry.holders(), registry.waiting(rows))
    return page(request, "projects.html.j2", title="Projects", here="projects", lines=lines)
