"""Renders views to HTML with Jinja2, with autoescape, and the filters of the templates."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from burnish import __version__
from burnish.core.cost import cost_with_source, short_cost
from burnish.core.people import OWNER, Person
from burnish.core.suggestion import proposal
from burnish.core.text_encoding import escape_invisible
from burnish.features.people.people import preferences
from burnish.sanitize import clean_text
from burnish.web.pages.markdown import markdown, markdown_line
from burnish.web.roles import least_for_task
from burnish.web.static_files import static_prefix

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
    found.globals["static"] = static_prefix()
    found.globals["least"] = least_for_task
    # elapsed times are computed with the server's clock
    found.globals["now"] = lambda: datetime.now(UTC).isoformat(timespec="milliseconds")
    return found


def render(name: str, /, **view: Any) -> str:
    return templates().get_template(name).render(**view)


def page(request: Request, name: str, /, *, status: int = 200, **view: Any) -> HTMLResponse:
    """A whole page. `bare` has no navigation; `project` is the project of the navigation."""
    person: Person = getattr(request.state, "person", OWNER)
    common = {"bare": False, "project": None, "here": "", "title": "burnish", "status": status, "person": person}
    registry = request.app.state.registry
    projects = [] if view.get("bare") else registry.projects()
    trust_warning = registry.untrusted(view["project"]) if view.get("project") else None
    stored = {} if view.get("bare") else preferences(registry.home, person.name)
    names = [(row.key, row.name) for row in projects]
    context = {
        **common,
        "projects": projects,
        "project_names": names,
        "untrusted": trust_warning,
        "preferences": stored,
        **view,
    }
    return HTMLResponse(render(name, **context), status)


def fragment(name: str, /, **view: Any) -> HTMLResponse:
    """A part of a page, from the same templates as the whole."""
    return HTMLResponse(render(name, **view))


# -- filters --------------------------------------------------------------------------------------
# Template filters.


def ago(moment: str | None) -> Markup:
    """`5 min ago`, with the exact time as a tooltip; a script updates it."""
    if not moment:
        return Markup("")
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return escape(moment)
    words = age((datetime.now(UTC) - then).total_seconds())
    return Markup('<time datetime="{0}" title="{0}" data-ago>{1}</time>').format(moment, words)


def age(seconds: float) -> str:
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name} ago"
    return "just now"


def took(seconds: float | None) -> str:
    """`0.4 s`, `42 s`, `3 min 12 s`, `2 h 5 min`."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def cost(subject: Any) -> str:
    """The cost of a task, a phase or a summary, and its source."""
    return cost_with_source(subject.cost_usd, subject.cost_source)


def brief_cost(subject: Any) -> str:
    return short_cost(subject.cost_usd, subject.cost_source)


def words(name: Any) -> str:
    """`waiting_approval` as `waiting approval`."""
    return str(name or "").replace("_", " ")


# how reasons begin that are written to stand after a colon; others may begin with a name, such as that of a branch
_FIRST_WORDS = frozenset(
    "a an approved fixed handed interrupted it its left no not nothing override paused rejected reopened resolved "
    "restarted sent the this waits what".split()
)


def sentence(text: str) -> str:
    """The reason with a capital letter, unless it may begin with a name."""
    first, _, rest = text.partition(" ")
    return f"{text[0].upper()}{text[1:]}" if rest and first.rstrip(",:;.") in _FIRST_WORDS else text


def full_stop(text: str) -> str:
    """The sentence with a full stop, if it ends with a word or a bracket."""
    return f"{text}." if text.strip() and (text[-1].isalnum() or text[-1] in ')`"') else text


def many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


_LOG_COMMAND = re.compile(r"<code>burnish log \d+</code>")


def log_link(html: Markup, url: str) -> Markup:
    """The command that prints the log of a task as a link to the log on its page."""
    link = Markup('<a href="{}#log">the log</a>').format(url)
    return Markup(_LOG_COMMAND.sub(lambda _: link, html))


def commands(text: str) -> Markup:
    """A sentence with text in backticks as code."""
    parts = str(text).split("`")
    # unpaired backticks stay
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )


FILTERS: dict[str, Callable[..., Any]] = {
    "ago": ago,
    "took": took,
    "brief_cost": brief_cost,
    "cost": cost,
    "words": words,
    "many": many,
    "commands": commands,
    "log_link": log_link,
    "markdown": markdown,
    "markdown_line": markdown_line,
    "proposal": proposal,
    "sentence": sentence,
    "full_stop": full_stop,
    "visible": escape_invisible,
}
