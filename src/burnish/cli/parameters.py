"""How verbs declare options and arguments, and a reader of plain command lines.

The library that parses command lines takes half of the start-up time of `burnish status`. So a verb declares its
parameters with the classes below, and a command line of exact flags and plain words is read here. All else is left to
the library (`command_line.py`): values of options, abbreviations, help, completion and errors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin


class Option:
    """In `Annotated`: an option by its names, with what the library knows of it (`help`, `metavar`, `min` …)."""

    def __init__(self, *names: str, **details: Any) -> None:
        self.names = names
        self.details = details


class Argument:
    """In `Annotated`: a positional argument (`metavar`, `help`, `autocompletion` …)."""

    def __init__(self, **details: Any) -> None:
        self.details = details


# the options of every verb, by the name of what they set; they may be given before or after the verb
SHARED: Mapping[str, Option] = {
    "start": Option("-C", metavar="DIR", help="Run as if started in DIR."),
    "quiet": Option("-q", "--quiet", help="Print no progress."),
    "verbose": Option("-v", "--verbose", help="Print agent output as it arrives."),
    "debug": Option("--debug", help="Print the traceback of an error."),
    "plain": Option("--plain", help="Print plain text: no colour, spinner, symbols or pager (or set BURNISH_PLAIN=1)."),
}
_TEXT = (str, str | None)
_TEXTS = (list[str], list[str] | None)


def declared(verb: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, Any, Option | Argument | None]]:
    """Each parameter of a verb with its type and its declaration; None if it has none."""
    for param in inspect.signature(verb, eval_str=True).parameters.values():
        kind, declaration = param.annotation, None
        if get_origin(kind) is Annotated:
            kind, declaration = get_args(kind)
        yield param, kind, declaration


def read_plain(verb: Callable[..., Any], words: Sequence[str]) -> tuple[dict[str, Any], list[str]] | None:
    """The arguments of a verb, and the shared flags; None if the words are not exact flags and plain words."""
    values: dict[str, Any] = {}
    flags: dict[str, str] = {}
    open_arguments: list[str] = []
    own_names: set[str] = set()
    repeatable = ""
    for param, kind, declaration in declared(verb):
        if isinstance(declaration, Option):
            own_names.update(declaration.names)
            flags |= {name: param.name for name in declaration.names if kind is bool and "/" not in name}
        elif isinstance(declaration, Argument) and kind in _TEXT and not repeatable:
            open_arguments.append(param.name)
        elif isinstance(declaration, Argument) and kind in _TEXTS and not repeatable:
            repeatable = param.name
        else:
            return None
        if param.default is not param.empty:
            values[param.name] = param.default
    shared_flags, repeated_words = [], []
    for word in words:
        if word in flags:
            values[flags[word]] = True
        elif word in _SHARED_FLAGS and not own_names & set(SHARED[_SHARED_FLAGS[word]].names):
            shared_flags.append(_SHARED_FLAGS[word])
        elif word.startswith("-") or not word:
            return None
        elif open_arguments:
            values[open_arguments.pop(0)] = word
        elif repeatable:
            repeated_words.append(word)
        else:
            return None
    if repeated_words:
        values[repeatable] = repeated_words
    is_complete = all(name in values for name in (*open_arguments, *filter(None, [repeatable])))
    return (values, shared_flags) if is_complete else None


_SHARED_FLAGS = {name: key for key, option in SHARED.items() if key != "start" for name in option.names}
