"""Builds commands that run selected tests, for each runner that supports it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from burnish.checks.command_line import Command, positionals
from burnish.checks.runners import (
    CARGO,
    DJANGO,
    GO,
    GRADLE,
    JEST,
    MAVEN,
    MOCHA,
    NEXTEST,
    PYTEST,
    UNITTEST,
    VITEST,
    KnownCommand,
    known_command,
)
from burnish.core.check import TestFailure

Failures = Sequence[TestFailure]


def select_tests(command: Command, failures: Failures, root: Path) -> Command | None:
    """The command for these tests; None if the runner cannot select them, so that the whole suite must run."""
    known_runner = known_command(command, root)
    select = _SELECTORS.get(known_runner.runner.name) if known_runner else None
    return select(known_runner, failures, root) if known_runner and select else None


def _append(command: KnownCommand, words: Sequence[str]) -> Command:
    line = command.line
    separator = (line.separator,) if line.separator else ()
    return line.insert(len(line.words) - 1, (*separator, *words))


def _pytest(command: KnownCommand, failures: Failures, root: Path) -> Command | None:
    names = [failure.name for failure in failures]
    if not all(failure.file and failure.name.startswith(failure.file) for failure in failures):
        return None
    line = command.line
    folder = root / line.folder
    paths = [n for n in positionals(line, after=line.program) if _exists(folder, line.words[n].text)]
    remaining = line.without(frozenset(paths))
    return remaining.insert(len(remaining.words) - 1, tuple(names))


def _exists(folder: Path, word: str) -> bool:
    try:
        return (folder / word.partition("::")[0]).exists()
    except (OSError, ValueError):
        return False


def _unittest(command: KnownCommand, failures: Failures, root: Path) -> Command | None:
    names = [failure.name for failure in failures]
    line = command.line
    are_dotted = all(re.fullmatch(r"[\w.]+\.test\w*", name) and "_FailedTest" not in name for name in names)
    # `discover` changes the top folder and has options with values.
    has_plain_options = all(word in ("-v", "-q", "-b", "test", "--verbose", "--buffer") for word in line.arguments)
    return _append(command, names) if are_dotted and has_plain_options else None


def _go(command: KnownCommand, failures: Failures, root: Path) -> Command | None:
    packages: dict[str, set[str]] = {}
    for failure in failures:
        package, _, test = failure.name.rpartition(".")
        if "/" in test:
            package, _, test = failure.name.partition("/Test")[0].rpartition(".")
        if not test.startswith(("Test", "Example", "Fuzz")):
            return None
        packages.setdefault(package, set()).add(test.partition("/")[0])
    tests = sorted({test for names in packages.values() for test in names})
    line = command.line
    patterns = [n for n in positionals(line, after=line.program + 1) if re.match(r"\.|.*\.\.\.$", line.words[n].text)]
    remaining = line.without(frozenset(patterns))
    return remaining.insert(len(remaining.words) - 1, ("-count=1", "-run", f"^({'|'.join(tests)})$", *sorted(packages)))


def _cargo(command: KnownCommand, failures: Failures, root: Path) -> Command | None:
    names = [failure.name.rpartition(" ")[2] for failure in failures]
    has_unnamed = any(failure.status == "error" or "(doc)" in failure.name for failure in failures)
    if has_unnamed or "--" in command.line.arguments or command.line.script:
        return None
    return _append(command, ("--", "--exact", *names))


def _nextest(command: KnownCommand, failures: Failures, root: Path) -> Command | None:
    names = [failure.name.rpartition(" ")[2] for failure in failures]
    if "--" in command.line.arguments or command.line.script:
        return None
    return _append(command, ("-E", " | ".join(f"test(={name})" for name in names)))


def _by_title(option: str, *, with_files: bool) -> Callable[[KnownCommand, Failures, Path], Command | None]:
    def select(command: KnownCommand, failures: Failures, root: Path) -> Command | None:
        titles = [" ".join(failure.name.split(" > ")[with_files:]) for failure in failures]
        files = sorted({failure.file for failure in failures if failure.file})
        if not all(titles) or (with_files and not files):
            return None  # a file that cannot be loaded has no title
        pattern = f"^({'|'.join(re.escape(title) for title in titles)})$"
        return _append(command, (option, pattern, *(files if with_files else ())))

    return select


def _maven(command: KnownCommand, failures: Failures, root: Path) -> Command | None:
    methods = [re.sub(r"[(\[{].*", "", failure.name).rpartition(".") for failure in failures]
    if not all(name and method for name, _, method in methods):
        return None
    selection = ",".join(f"{name}#{method}" for name, _, method in methods)
    return _append(command, (f"-Dtest={selection}", "-Dsurefire.failIfNoSpecifiedTests=false", "-DfailIfNoTests=false"))


def _gradle(command: KnownCommand, failures: Failures, root: Path) -> Command | None:
    if command.line.arguments[-1:] != ("test",):
        return None
    names = [re.sub(r"[(\[{].*", "", failure.name) for failure in failures]
    return _append(command, [word for name in names for word in ("--tests", name)])


_SELECTORS: dict[str, Callable[[KnownCommand, Failures, Path], Command | None]] = {
    PYTEST.name: _pytest,
    UNITTEST.name: _unittest,
    DJANGO.name: _unittest,
    GO.name: _go,
    CARGO.name: _cargo,
    NEXTEST.name: _nextest,
    JEST.name: _by_title("-t", with_files=True),
    VITEST.name: _by_title("-t", with_files=True),
    MOCHA.name: _by_title("--grep", with_files=False),
    MAVEN.name: _maven,
    GRADLE.name: _gradle,
}
