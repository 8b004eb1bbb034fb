"""The settings of a project with their sources, what doctor finds, and what can be cleaned up."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from burnish.web.deps import ProjectDep
from burnish.web.pages.rendering import page

router = APIRouter(prefix="/p/{project}/settings", include_in_schema=False)


@router.get("")
def show(request: Request, project: ProjectDep) -> Response:
    """The parts take seconds to find out, so the page asks the API for them."""
    return page(request, "settings.html.j2", title="Settings", here="settings", project=project)
