"""The five questions of an override, on a terminal or by flags."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from burnish.cli.output import tell
from burnish.cli.parameters import Option
from burnish.core.override import QUESTIONS, OverrideReasons, override_reasons
from burnish.errors import BadInput

R = TypeVar("R")

_HELP = {
    "--pre-existing": "State that the problem existed before the task.",
    "--wrong-context": "State that the reviewer had the wrong context.",
    "--out-of-scope": "State that the problem is outside the task's scope.",
    "--environmental": "State that the environment causes the problem.",
    "--follow-up": "Add a task for the open findings.",
}
_WORDS = Option("--explain", "--reason", metavar="TEXT", help="Record the reason for the override.")


def with_grounds(command: Callable[..., R]) -> Callable[..., R]:
    """Add one flag per question and --reason to a command; it gets `grounds`, None if no flag was given."""
    own = inspect.signature(command, eval_str=True)
    flags = {question.flag.strip("-").replace("-", "_"): question.flag for question in QUESTIONS}

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> R:
        yes = {flag: arguments.pop(name) for name, flag in flags.items()}
        words = arguments.pop("explain")
        has_reason = any(yes.values()) or words.strip()
        return command(**arguments, grounds=override_reasons(yes, words) if has_reason else None)

    questions = [_keyword(name, Annotated[bool, Option(flag, help=_HELP[flag])], False) for name, flag in flags.items()]
    questions.append(_keyword("explain", Annotated[str, _WORDS], ""))
    own_parameters = [one.replace(kind=one.KEYWORD_ONLY) for one in own.parameters.values() if one.name != "grounds"]
    # before --json, which every command has last
    every = [*own_parameters[:-1], *questions, own_parameters[-1]]
    wrapped.__signature__ = own.replace(parameters=every)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in every}
    return wrapped


def _keyword(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def on_terminal() -> bool:
    """Whether stdin and stderr are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(line: Callable[[str], str] | None = None) -> OverrideReasons:
    """Ask the questions; the first yes gives the category, and the end of input is an error."""
    line = line or _line
    tell("This approves against the review. Give the reason:")
    yes: dict[str, bool] = {}
    for question in QUESTIONS:
        if question.ground is None or not any(yes.values()):
            yes[question.flag] = _yes_or_no(question.words, line)
    free = not any(yes.get(q.flag) for q in QUESTIONS if q.ground)
    words = ""
    while not words:
        words = line("Explain: " if free else "Explain (Enter for none): ").strip()
        if not free:
            break
    return override_reasons(yes, words)


def _yes_or_no(words: str, line: Callable[[str], str]) -> bool:
    while True:
        answer = line(f"  {words} [y/N] ").strip().lower()
        if answer in ("", "n", "no"):
            return False
        if answer in ("y", "yes"):
            return True
        tell("  Please answer y or n.")


def _line(prompt: str) -> str:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    text = sys.stdin.readline()
    if not text:
        raise BadInput(
            "The questions were not answered.", hint="Nothing was changed. Run the command again, or use its flags."
        )
    return text


def grounds_or_ask(grounds: OverrideReasons | None) -> OverrideReasons | None:
    """The reasons from the flags; else ask on a terminal; else None."""
    return grounds or (ask() if on_terminal() else None)
