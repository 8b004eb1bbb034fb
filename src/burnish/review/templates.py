"""Renders prompts: the shipped templates, or the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

from burnish.errors import BadInput, NotFound

NAMES = ("review.system", "review.template", "fix.template", "implement.template", "plan.template")

# longest template
LONGEST = 200_000
# variables that are numbers
_NUMBERS = ("cycle", "max_cycles")
# automaker's spelling with single braces: {featureTitle} {gitDiff} …; allowed for all variables
_ONE_BRACE = re.compile(r"(?<!\{)\{([A-Za-z][A-Za-z0-9_]*)\}(?!\})")


def shipped(name: str) -> str:
    """The default text of a prompt."""
    if name not in NAMES:
        raise NotFound(f"There is no prompt {name!r}.", hint=f"Known prompts: {', '.join(NAMES)}.")
    return (files("burnish.review") / "prompts" / f"{name}.md.j2").read_text(encoding="utf-8")


def render(name: str, variables: Mapping[str, object], override: str | None = None) -> str:
    """Render the prompt; `override` is the user's own template."""
    whose = f"the prompt {name}" if override is None else f"your own prompt {name}"
    text = shipped(name) if override is None else _normalize(override, whose)
    _refuse_unknown(text, variables, whose, name)
    return _render(text, variables, whose, name)


def fill(text: str, variables: Mapping[str, object], *, whose: str, name: str) -> str:
    """Render a user's template that is not a prompt."""
    text = _normalize(text, whose)
    _refuse_unknown(text, variables, whose, name)
    return _render(text, variables, whose, name)


def check(text: str, variables: Iterable[str], *, whose: str, name: str) -> None:
    """Raise BadInput for an invalid template, an unknown variable, or a template that cannot be rendered."""
    text, names = _normalize(text, whose), set(variables)
    _refuse_unknown(text, names, whose, name)
    _render(text, {one: 1 if one in _NUMBERS else one for one in names}, whose, name)


def _refuse_unknown(text: str, variables: Iterable[str], whose: str, name: str) -> None:
    from jinja2 import meta

    from burnish.review.template_sandbox import MISTAKES, parse_template

    try:
        unknown = meta.find_undeclared_variables(parse_template(text)) - set(variables)
    except MISTAKES as why:
        raise _render_error(whose, why, name) from None
    if unknown:
        raise BadInput(
            f"Unknown variable {', '.join(sorted(unknown))} in {whose}.",
            hint=f"Known variables: {', '.join(sorted(variables))}.",
        )


def _render(text: str, variables: Mapping[str, object], whose: str, name: str) -> str:
    from burnish.review.template_sandbox import MISTAKES, render_template

    try:
        return render_template(text, variables)
    except MISTAKES as why:
        raise _render_error(whose, why, name) from None


def _render_error(whose: str, why: BaseException, name: str) -> BadInput:
    from burnish.review.template_sandbox import ALLOWED

    deep = isinstance(why, RecursionError | SyntaxError | MemoryError)
    reason = "it is nested too deeply" if deep else (str(why) or type(why).__name__).rstrip(".")
    return BadInput(
        f"Cannot render {whose}: {reason}.",
        hint=f"Prompts allow {ALLOWED}." + _reset_hint(name),
    )


def _reset_hint(name: str) -> str:
    """A hint how to restore the default; "" for `commit.message`, which is a setting."""
    return f" `burnish prompts reset {name}` restores the default." if name in NAMES else ""


def _normalize(text: str, whose: str) -> str:
    """`{gitDiff}` → `{{ gitDiff }}`, so that unknown variables in single braces are refused, too."""
    if len(text) > LONGEST:
        raise BadInput(f"{whose} has {len(text):,} characters; the limit is {LONGEST:,}.", hint="Shorten it.")
    return _ONE_BRACE.sub(r"{{ \1 }}", text)
