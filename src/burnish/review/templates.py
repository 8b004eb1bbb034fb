"""Shipped prompts, and the user's own in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

from burnish.errors import BadInput, NotFound

NAMES = ("review.system", "review.template", "fix.template", "implement.template", "plan.template")

# as long as a prompt may be; no model reads more with profit
LONGEST = 200_000
# of the variables, those that are no text
_NUMBERS = ("cycle", "max_cycles")
# automaker's spelling, with one brace: {featureTitle} {gitDiff} …; ours may be written so as well
_ONE_BRACE = re.compile(r"(?<!\{)\{([A-Za-z][A-Za-z0-9_]*)\}(?!\})")


def shipped(name: str) -> str:
    """The default text of a prompt."""
    if name not in NAMES:
        raise NotFound(f"There is no prompt {name!r}.", hint=f"Known prompts: {', '.join(NAMES)}.")
    return (files("burnish.review") / "prompts" / f"{name}.md.j2").read_text(encoding="utf-8")


def render(name: str, variables: Mapping[str, object], override: str | None = None) -> str:
    """The prompt with its variables filled in; `override` is the user's own text for it."""
    whose = f"the prompt {name}" if override is None else f"your own prompt {name}"
    text = shipped(name) if override is None else _own(override, whose)
    _refuse_unknown(text, variables, whose, name)
    return _filled(text, variables, whose, name)


def fill(text: str, variables: Mapping[str, object], *, whose: str, name: str) -> str:
    """A text of the user's own that is not a prompt, with the same variables and the same language."""
    text = _own(text, whose)
    _refuse_unknown(text, variables, whose, name)
    return _filled(text, variables, whose, name)


def check(text: str, known: Iterable[str], *, whose: str, name: str) -> None:
    """Refuse a text that is no template, that asks for what there is not, or that could not be filled in."""
    text, names = _own(text, whose), set(known)
    _refuse_unknown(text, names, whose, name)
    _filled(text, {one: 1 if one in _NUMBERS else one for one in names}, whose, name)


def _refuse_unknown(text: str, known: Iterable[str], whose: str, name: str) -> None:
    from jinja2 import meta

    from burnish.review.template_sandbox import MISTAKES, parsed

    try:
        unknown = meta.find_undeclared_variables(parsed(text)) - set(known)
    except MISTAKES as why:
        raise _broken(whose, why, name) from None
    if unknown:
        raise BadInput(
            f"Unknown variable {', '.join(sorted(unknown))} in {whose}.",
            hint=f"Known variables: {', '.join(sorted(known))}.",
        )


def _filled(text: str, variables: Mapping[str, object], whose: str, name: str) -> str:
    from burnish.review.template_sandbox import MISTAKES, filled

    try:
        return filled(text, variables)
    except MISTAKES as why:
        raise _broken(whose, why, name) from None


def _broken(whose: str, why: BaseException, name: str) -> BadInput:
    from burnish.review.template_sandbox import ALLOWED

    deep = isinstance(why, RecursionError | SyntaxError | MemoryError)
    said = "it is nested too deeply" if deep else (str(why) or type(why).__name__).rstrip(".")
    return BadInput(
        f"Cannot render {whose}: {said}.",
        hint=f"A prompt knows {ALLOWED}." + _way_back(name),
    )


def _way_back(name: str) -> str:
    """`commit.message` is filled like a prompt, but it is a setting: there is nothing to reset."""
    return f" `burnish prompts reset {name}` brings the default back." if name in NAMES else ""


def _own(text: str, whose: str) -> str:
    """`{gitDiff}` → `{{ gitDiff }}`; an unknown `{word}` then is refused like any other variable."""
    if len(text) > LONGEST:
        raise BadInput(f"At most {LONGEST:,} characters fit; {whose} has {len(text):,}.", hint="Shorten it.")
    return _ONE_BRACE.sub(r"{{ \1 }}", text)
