"""Reads the output of `go test`: the events of `-json`, and plain text with and without `-v`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from burnish.checks.reading import MAX_CASES, Case, Reading, failures_of, make_counts

_RESULT = re.compile(r"\s*--- (FAIL|PASS|SKIP): (\S+) \(")
_PACKAGE = re.compile(r"(ok|FAIL)\s+(\S+)\s+(\S.*)")
_BUILD = re.compile(r"# (\S+)(?: \[\S+\])?")
_UNBUILT = re.compile(r"FAIL\s+(\S+) \[(?:build|setup) failed\]")


@dataclass(slots=True)
class _Package:
    # test → pass, fail, skip; the worst of several runs
    results: dict[str, str] = field(default_factory=dict)
    output: dict[str, Case] = field(default_factory=dict)
    failed: bool = False
    # The last line of a run that reached its end and failed is `FAIL` alone.
    has_ended: bool = False


_WORST = ("skip", "pass", "fail")


class GoEventReader:
    """`go test -json`; lines of stderr give the messages of packages that cannot be built."""

    signature: ClassVar[re.Pattern[str]] = re.compile(
        r'^\{"(?:Time|Action|ImportPath)":"[^\n]*"Action":"|^\{"Action":', re.M
    )

    def __init__(self, root: Path | None = None) -> None:
        self.packages: dict[str, _Package] = {}
        self.build: Case | None = None
        self.builds: dict[str, Case] = {}
        self.cases = 0

    def line(self, text: str, *, is_error: bool) -> None:
        if not is_error and text.startswith("{"):
            event = go_event(text)
            if event is not None:
                self._event(event)
                return
        if match := _UNBUILT.match(text):
            self._package(match[1]).failed = True
        self._build_output(text)

    def _package(self, name: str) -> _Package:
        return self.packages.setdefault(name, _Package())

    def _build_output(self, text: str) -> None:
        if match := _BUILD.fullmatch(text.rstrip()):
            self.build = self.builds.setdefault(match[1], Case(match[1], "error"))
        elif self.build:
            self.build.add(text)

    def _event(self, event: dict[str, Any]) -> None:
        action, test = event.get("Action"), str(event.get("Test") or "")
        if action in ("build-output", "build-fail"):
            for line in str(event.get("Output") or "").splitlines():
                self._build_output(line)
            return
        package = self._package(str(event.get("Package") or ""))
        if action == "output":
            text = str(event.get("Output") or "").rstrip("\n")
            package.output.setdefault(test, Case(test)).add(text)
            package.has_ended = package.has_ended or (not test and text.endswith("FAIL"))
        elif action in _WORST and test:
            self._result(package, test, str(action))
        elif action == "fail":
            package.failed = True

    def _result(self, package: _Package, test: str, action: str) -> None:
        if test not in package.results:
            self.cases += 1
            if self.cases > MAX_CASES:
                return
        package.results[test] = max(package.results.get(test, action), action, key=_WORST.index)
        if action != "fail":
            package.output.pop(test, None)

    def reading(self) -> Reading | None:
        if not self.packages:
            return None
        cases: list[Case] = []
        passes = skips = 0
        partial = ""
        for name, package in self.packages.items():
            parents = {test[:slash] for test in package.results for slash in _slashes(test)}
            failing = [test for test, result in package.results.items() if result == "fail"]
            parents_of_failures = {test[:slash] for test in failing for slash in _slashes(test)}
            for test, result in package.results.items():
                if result == "fail" and test not in parents_of_failures:
                    cases.append(self._case(name, test, package))
                passes += result == "pass" and test not in parents
                skips += result == "skip" and test not in parents
            if package.failed and not failing:
                cases.append(self._case(name, "", package))
            elif package.failed and not package.has_ended:
                # a panic ends the process, and the tests after it do not run
                partial = f"the tests of {name} ended before all of them had run"
        counts = make_counts(passes=passes, failures=len(cases), skips=skips)
        error = "" if self.cases <= MAX_CASES else "too many tests"
        return Reading(counts, failures_of(cases), error=error, partial=partial)

    def _case(self, package: str, test: str, found: _Package) -> Case:
        lines = found.output.get(test, Case("")).lines
        if not test and package in self.builds:
            lines = self.builds[package].lines + lines
        name, status = (f"{package}.{test}", "failed") if test else (package, "error")
        return Case(name, status, lines=lines, whole=not test)


def _slashes(test: str) -> Iterator[int]:
    return (place for place, letter in enumerate(test) if letter == "/")


def go_event(line: str) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("Action"), str) else None


def plain_output(lines: Iterable[str]) -> Iterator[str]:
    """The text that `go test -v` would have printed, from the events."""
    for line in lines:
        event = go_event(line) if line.startswith("{") else None
        if event is None:
            yield f"{line}\n"
        elif isinstance(event.get("Output"), str):
            yield event["Output"]


class GoTextReader:
    """Plain `go test`. Without `-v` tests that pass are not named, so there are no counts."""

    signature: ClassVar[re.Pattern[str]] = re.compile(
        r"^(?:ok  ?\t|FAIL\t|ok\s+[^\s|]+\s+[\d.(]|\?   \t\S+\t\[no test files\])", re.M
    )

    def __init__(self, root: Path | None = None) -> None:
        self.cases: list[Case] = []
        self.pending: list[Case] = []
        self.build: Case | None = None
        self.builds: dict[str, Case] = {}
        # with -v the output of a test comes before its result
        self.recent: list[str] = []
        self.packages = self.passed = self.skipped = 0

    def line(self, text: str, *, is_error: bool) -> None:
        if text.startswith("=== ") or text == "FAIL":
            self.recent = []
        elif match := _RESULT.match(text):
            self._result(match[1], match[2])
        elif (match := _UNBUILT.match(text)) or (match := _PACKAGE.match(text)):
            self._package(match[match.lastindex or 1] if match.re is _UNBUILT else match[2], text.startswith("FAIL"))
        elif match := _BUILD.fullmatch(text.rstrip()):
            self.build = self.builds.setdefault(match[1], Case(match[1], "error"))
        elif self.build and is_error:
            self.build.add(text)
        else:
            self.recent = [*self.recent[-20:], text]
            if self.pending:
                self.pending[-1].add(text)

    def _result(self, result: str, test: str) -> None:
        self.build = None
        if result == "FAIL":
            self.pending.append(Case(test, lines=self.recent))
        self.recent = []
        self.passed += result == "PASS"
        self.skipped += result == "SKIP"

    def _package(self, name: str, has_failed: bool) -> None:
        self.packages += 1
        parents_of_failures = {case.name[:slash] for case in self.pending for slash in _slashes(case.name)}
        leaves = [case for case in self.pending if case.name not in parents_of_failures]
        for case in leaves:
            case.name = f"{name}.{case.name}"
        if has_failed and not leaves:
            leaves = [Case(name, "error", lines=self.builds.setdefault(name, Case(name)).lines, whole=True)]
        self.cases += leaves
        self.pending = []

    def reading(self) -> Reading | None:
        if not self.packages:
            return None
        counts = None
        if self.passed:
            counts = make_counts(passes=self.passed, failures=len(self.cases), skips=self.skipped)
        partial = "the run did not finish" if self.pending else ""
        return Reading(counts, failures_of(self.cases), partial=partial)
