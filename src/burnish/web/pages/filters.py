"""Template filters."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

from burnish.core.cost import cost_with_source, short_cost


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


def many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


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
}
