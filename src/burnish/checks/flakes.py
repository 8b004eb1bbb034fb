"""Reruns failed tests on the same tree to detect flaky ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from burnish.core.check import CheckReport, CheckStatus, TestFailure, constant_part, without_flaky
from burnish.core.policy import CheckSpec

TIMES = 3
# More names than this do not go into one command.
MAX_SELECTED = 50

# The check, and a name for where its output goes.
Run = Callable[[CheckSpec, str], CheckReport]


@dataclass(slots=True)
class _Reruns:
    """Runs a check again, within one time limit for all reruns: the check's own."""

    run: Run
    spec: CheckSpec
    seconds: float

    def __call__(self, spec: CheckSpec, label: str) -> CheckReport | None:
        if self.seconds <= 0:
            return None
        report = self.run(replace(spec, timeout_seconds=max(1.0, min(spec.timeout_seconds, self.seconds))), label)
        self.seconds -= report.seconds
        return report


def flaky_failures(
    spec: CheckSpec, first: CheckReport, failures: Sequence[TestFailure], run: Run, *, root: Path, times: int = TIMES
) -> frozenset[str]:
    """Names of the failures that pass when the suite runs again.

    Failures are first run alone, which is cheap: one that fails there each time is real. Passing alone is not
    enough, since a test may fail only after others have run.
    """
    reruns = _Reruns(run, spec, spec.timeout_seconds)
    suspects = {failure.name for failure in failures}
    selection = select_tests(spec.command, failures, root) if len(failures) <= MAX_SELECTED else None
    if selection is not None:
        passing_names: set[str] = set()
        for number in range(1, times + 1):
            report = reruns(replace(spec, command=selection), f"alone-{number}")
            passing_names |= _passed_alone(first, report, suspects)
            if passing_names == suspects:
                break
        suspects = passing_names
    flaky: set[str] = set()
    for number in range(1, times + 1):
        if flaky == suspects:
            break
        flaky |= _passed_in_suite(first, reruns(spec, f"again-{number}"), suspects)
    return frozenset(flaky)


def _passed_alone(first: CheckReport, report: CheckReport | None, suspects: set[str]) -> set[str]:
    """Requires that enough tests passed, because a selection that matches no test also passes."""
    if (
        report is None
        or report.status is CheckStatus.ERROR
        or report.counts is None
        or _fails_by_other_names(first, report)
    ):
        return set()
    passing_names = suspects - {failure.name for failure in report.failures}
    return passing_names if report.counts.passed >= len(passing_names) else set()


def _passed_in_suite(first: CheckReport, report: CheckReport | None, suspects: set[str]) -> set[str]:
    """Requires that as many tests ran as the first time and that no more were skipped."""
    if report is None or report.status is CheckStatus.ERROR or report.counts is None or first.counts is None:
        return set()
    if (first.partial or report.partial) and report.status is not CheckStatus.PASSED:
        return set()
    if report.counts.total < first.counts.total or report.counts.skipped > first.counts.skipped:
        return set()
    if _fails_by_other_names(first, report):
        return set()
    return suspects - {failure.name for failure in report.failures}


def _fails_by_other_names(first: CheckReport, report: CheckReport) -> bool:
    """A failure with a name that did not fail before may be the same test: some names change with each run."""
    names = {failure.name for failure in first.failures}
    return any(failure.name not in names for failure in report.failures)


def confirm_failures(spec: CheckSpec, report: CheckReport, run: Run, *, root: Path) -> CheckReport:
    """A failed report of the base without flaky failures, which must not excuse later ones."""
    if report.status is not CheckStatus.FAILED or report.unknown:
        return report
    if report.failures:
        return _confirm_cases(spec, report, run, root)
    if report.remarks:
        return report
    again = run(spec, "again-1")
    return replace(again, flaky=("exit code",)) if again.status is CheckStatus.PASSED else report


def may_have_changing_names(report: CheckReport, base: CheckReport) -> bool:
    """Whether names of failures that only one of the two reports has differ in what may change with each run."""
    return bool(_changing_names(report, base))


def _confirm_cases(spec: CheckSpec, report: CheckReport, run: Run, root: Path) -> CheckReport:
    reruns: dict[str, CheckReport] = {}

    def run_once(again: CheckSpec, label: str) -> CheckReport:
        reruns[label] = run(again, label)
        return reruns[label]

    flaky = flaky_failures(spec, report, report.failures, run_once, root=root, times=1)
    alone = reruns.get("alone-1")
    if "again-1" not in reruns and not (alone and _names(report) <= _names(alone)):
        # a name that changes cannot be selected
        run_once(spec, "again-1")
    final_report = without_flaky(report, flaky)
    whole = reruns.get("again-1")
    return replace(final_report, changing_names=_changing_names(final_report, whole)) if whole else final_report


def _changing_names(report: CheckReport, again: CheckReport) -> tuple[str, ...]:
    """The constant parts of names of failures that only one of two runs on the same tree has."""
    lost_parts, new_parts = (
        Counter(constant_part(name) for name in _names(one) - _names(other))
        for one, other in ((report, again), (again, report))
    )
    return tuple(sorted((lost_parts & new_parts).elements()))


def _names(report: CheckReport) -> set[str]:
    return {failure.name for failure in report.failures}


# -- selection ------------------------------------------------------------------------------------
# Builds commands that run selected tests, for each runner that supports it.

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
    # Other goals also run tests of failsafe, which are selected in another way.
    if "test" not in command.line.arguments or not all(name and method for name, _, method in methods):
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
