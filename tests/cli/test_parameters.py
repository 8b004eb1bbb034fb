"""Plain command lines are read as the library reads them, or are left to it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from burnish.cli.main import VERBS, build, main
from burnish.cli.parameters import Argument, Option, declared, read_plain
from burnish.cli.session import SESSION


def verb_of(name: str) -> Callable[..., Any]:
    module, function = VERBS[name].split(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def by_library(group: Any, argv: list[str]) -> tuple[dict[str, Any], set[str]] | None:
    """What the library would call the verb with, and the shared flags; None if it refuses the command line."""
    SESSION.reset()
    calls: list[dict[str, Any]] = []
    group.commands[argv[0]].callback = lambda **values: calls.append(values)
    try:
        with group.make_context("burnish", list(argv)) as context:
            group.invoke(context)
    except Exception:
        return None
    shared_flags = {name for name in ("quiet", "verbose", "debug", "plain") if getattr(SESSION, name)}
    SESSION.reset()
    # Typer makes lists of them in the callback that is replaced above
    return {name: list(one) if isinstance(one, tuple) else one for name, one in calls[0].items()}, shared_flags


def command_lines(verb: str) -> list[list[str]]:
    """No flag, each flag, and all words of options and plain words that could be taken for something else."""
    names = [name for _, _, one in declared(verb_of(verb)) if isinstance(one, Option) for name in one.names]
    flags = [*names, "-q", "--quiet", "-v", "--verbose", "--debug", "--plain", "-C", "--jso", "-qv", "--", "-", ""]
    lines = [[]] + [[flag] for flag in flags] + [[flag, "--json"] for flag in flags] + [["--json", "--json", "-q"]]
    arguments = [["1", "x", "y", "z"][:count] for count in range(4)]
    return [[*words, *line] for words in arguments for line in lines] + [[*line, "1"] for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_a_plain_command_line_is_read_as_the_library_reads_it(verb: str) -> None:
    group, function = build(verb), verb_of(verb)
    for words in command_lines(verb):
        found = read_plain(function, words)
        if found is not None:
            values, shared_flags = found
            assert by_library(group, [verb, *words]) == (values, set(shared_flags)), words


PLAIN = ["status", "status --json", "show 3", "inbox --all -q", "run", "run 1 2 --all", "apply 3 F1 F2"]


@pytest.mark.parametrize("argv", [line.split() for line in PLAIN])
def test_flags_and_plain_words_need_no_library(argv: list[str]) -> None:
    assert read_plain(verb_of(argv[0]), argv[1:]) is not None


@pytest.mark.parametrize(
    "argv",
    [
        ["status", "--jso"],
        ["status", "--help"],
        ["status", "extra"],
        ["status", "--"],
        ["status", "-C", "."],
        ["show"],
        ["show", "3", "--", "--json"],
        ["run", "-j", "2"],
        ["decide", "1", "approve"],
    ],
)
def test_all_else_is_left_to_the_library(argv: list[str]) -> None:
    assert read_plain(verb_of(argv[0]), argv[1:]) is None


def test_every_parameter_of_a_verb_is_declared() -> None:
    for verb in VERBS:
        for param, _, declaration in declared(verb_of(verb)):
            assert isinstance(declaration, Option | Argument), (verb, param.name)


def test_completion_is_left_to_the_library(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_BURNISH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "burnish versio")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        main(["version"])
    assert capsys.readouterr().out.split() == ["version"]
