"""The five questions of an override, on a terminal or by flags."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from burnish.cli.paint import tell
from burnish.core.override import QUESTIONS, Grounds, grounds_of
from burnish.errors import BadInput

PreExisting = Annotated[bool, typer.Option("--pre-existing", help="The problem was there before the task.")]
WrongContext = Annotated[bool, typer.Option("--wrong-context", help="The reviewer judged with the wrong context.")]
OutOfScope = Annotated[bool, typer.Option("--out-of-scope", help="It is outside the task's scope.")]
Environmental = Annotated[bool, typer.Option("--environmental", help="It comes from the environment.")]
FollowUp = Annotated[bool, typer.Option("--follow-up", help="Make a task of what is left open.")]
Explain = Annotated[str, typer.Option("--explain", metavar="TEXT", help="Why, in your own words; it is kept.")]


def said(
    pre_existing: bool, wrong_context: bool, out_of_scope: bool, environmental: bool, follow_up: bool, explain: str
) -> Grounds | None:
    """What the flags say; None if they say nothing."""
    answers = (pre_existing, wrong_context, out_of_scope, environmental, follow_up)
    if not any(answers) and not explain.strip():
        return None
    return grounds_of({question.flag: yes for question, yes in zip(QUESTIONS, answers, strict=True)}, explain)


def on_terminal() -> bool:
    """Is there a person who can be asked?"""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(line: Callable[[str], str] | None = None) -> Grounds:
    """The first yes gives the category; end of input is not an answer."""
    line = line or _line
    tell("This goes against the review. Why may it be accepted all the same?")
    yes: dict[str, bool] = {}
    for question in QUESTIONS:
        if question.ground is None or not any(yes.values()):
            yes[question.flag] = _yes_or_no(question.words, line)
    free = not any(yes.get(q.flag) for q in QUESTIONS if q.ground)
    words = ""
    while not words:
        words = line("In your own words: " if free else "In your own words (Enter to leave it at that): ").strip()
        if not free:
            break
    return grounds_of(yes, words)


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
        raise BadInput("The questions were not answered.", hint="Nothing was changed; ask again, or use the flags.")
    return text


def grounds_or_ask(given: Grounds | None) -> Grounds | None:
    """By flags, else by asking, else nothing."""
    return given or (ask() if on_terminal() else None)
