"""One way to turn a view into HTML: Jinja2, everything escaped."""

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


def _as_it_looks(value: Any) -> Any:
    """Text from anywhere, without what turns or hides it; half letters, which no page can hold, become `?`."""
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
        finalize=_as_it_looks,
    )
    found.filters.update(FILTERS)
    found.globals["version"] = __version__
    # what is under way counts on by the server's clock
    found.globals["now"] = lambda: datetime.now(UTC).isoformat(timespec="milliseconds")
    return found


def render(name: str, /, **view: Any) -> str:
    return templates().get_template(name).render(**view)


def page(request: Request, name: str, /, *, status: int = 200, **view: Any) -> HTMLResponse:
    """A whole page. `bare` has no navigation; `project` is the one that the navigation is about."""
    common = {"bare": False, "project": None, "here": "", "title": "burnish", "status": status}
    registry = request.app.state.registry
    projects = [] if view.get("bare") else registry.projects()
    untrusted = registry.untrusted(view["project"]) if view.get("project") else None
    shown = {**common, "projects": projects, "untrusted": untrusted, **view}
    return HTMLResponse(render(name, **shown), status)


def fragment(name: str, /, **view: Any) -> HTMLResponse:
    """A part of a page, by the same templates that made it the first time."""
    return HTMLResponse(render(name, **view))
