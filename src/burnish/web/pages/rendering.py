"""Renders views to HTML with Jinja2, with autoescape."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from burnish import __version__
from burnish.sanitize import clean_text
from burnish.web.pages.filters import FILTERS

TEMPLATES = Path(__file__).parents[1] / "templates"


def _sanitized(value: Any) -> Any:
    """Text without control and bidirectional characters; lone surrogates become `?`."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return clean_text(value).encode("utf-8", "replace").decode()


@cache
def templates() -> Environment:
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_sanitized,
    )
    found.filters.update(FILTERS)
    found.globals["version"] = __version__
    # elapsed times are computed with the server's clock
    found.globals["now"] = lambda: datetime.now(UTC).isoformat(timespec="milliseconds")
    return found


def render(name: str, /, **view: Any) -> str:
    return templates().get_template(name).render(**view)


def page(request: Request, name: str, /, *, status: int = 200, **view: Any) -> HTMLResponse:
    """A whole page. `bare` has no navigation; `project` is the project of the navigation."""
    common = {"bare": False, "project": None, "here": "", "title": "burnish", "status": status}
    registry = request.app.state.registry
    projects = [] if view.get("bare") else registry.projects()
    trust_warning = registry.untrusted(view["project"]) if view.get("project") else None
    context = {**common, "projects": projects, "untrusted": trust_warning, **view}
    return HTMLResponse(render(name, **context), status)


def fragment(name: str, /, **view: Any) -> HTMLResponse:
    """A part of a page, from the same templates as the whole."""
    return HTMLResponse(render(name, **view))
