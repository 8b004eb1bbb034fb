"""One way to turn a view into HTML: Jinja2, everything escaped."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from burnish import __version__
from burnish.web.pages.filters import FILTERS

TEMPLATES = Path(__file__).parents[1] / "templates"


@cache
def templates() -> Environment:
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(FILTERS)
    found.globals["version"] = __version__
    return found


def render(name: str, /, **view: Any) -> str:
    return templates().get_template(name).render(**view)


def page(request: Request, name: str, /, *, status: int = 200, **view: Any) -> HTMLResponse:
    """A whole page. `bare` has no navigation; `project` is the one that the navigation is about."""
    common = {"bare": False, "project": None, "here": "", "title": "burnish", "status": status}
    projects = [] if view.get("bare") else request.app.state.house.projects()
    return HTMLResponse(render(name, **{**common, "projects": projects, **view}), status)


def fragment(name: str, /, **view: Any) -> HTMLResponse:
    """A part of a page, by the same templates that made it the first time."""
    return HTMLResponse(render(name, **view))
