"""Shipped prompts, and the user's own in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from burnish.errors import BadInput

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

NAMES = ("review.system", "review.template", "fix.template", "implement.template", "plan.template")

# what the code in a template can do wrong
_MISTAKES = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError)
# automaker's spelling, with one brace: {featureTitle} {gitDiff} …; ours may be written so as well
_ONE_BRACE = re.compile(r"(?<!\{)\{([A-Za-z][A-Za-z0-9_]*)\}(?!\})")


def shipped(name: str) -> str:
    """The default text of a prompt."""
    if name not in NAMES:
        raise BadInput(f"There is no prompt {name!r}.", hint=f"Known prompts: {', '.join(NAMES)}.")
    return (files("burnish.review") / "prompts" / f"{name}.md.j2").read_text(encoding="utf-8")


def render(name: str, variables: Mapping[str, object], override: str | None = None) -> str:
    """The prompt with its variables filled in; `override` is the user's own text for it."""
    whose = f"the prompt {name}" if override is None else f"your own prompt {name}"
    text = shipped(name) if override is None else override
    check(text, variables, whose=whose, name=name)
    from jinja2 import TemplateError

    text = text if override is None else _two_braces(text)
    try:
        return _environment().from_string(text).render(dict(variables))
    except (TemplateError, *_MISTAKES) as why:
        raise _broken(whose, why, name) from None


def check(text: str, known: Iterable[str], *, whose: str, name: str) -> None:
    """Refuse a text that is no template, or that asks for what there is not."""
    from jinja2 import TemplateError, meta

    try:
        unknown = meta.find_undeclared_variables(_environment().parse(_two_braces(text))) - set(known)
    except (TemplateError, *_MISTAKES) as why:
        raise _broken(whose, why, name) from None
    if unknown:
        raise BadInput(
            f"Unknown variable {', '.join(sorted(unknown))} in {whose}.",
            hint=f"Known variables: {', '.join(sorted(known))}.",
        )


def _broken(whose: str, why: Exception, name: str) -> BadInput:
    return BadInput(f"Cannot render {whose}: {why}", hint=f"`burnish prompts reset {name}` brings the default back.")


def _two_braces(text: str) -> str:
    """`{gitDiff}` → `{{ gitDiff }}`; an unknown `{word}` then is refused like any other variable."""
    return _ONE_BRACE.sub(r"{{ \1 }}", text)


@cache
def _environment() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
