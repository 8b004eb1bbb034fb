"""Reads TAP (Test Anything Protocol), versions 12 to 14. For a test with subtests, the subtests are the cases."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from burnish.checks.reading import (
    MAX_CASES,
    Case,
    Reading,
    failures_of,
    local_name,
    make_counts,
    path_in_repository,
    shortened,
)
from burnish.regular_files import read_regular

_PLAN = re.compile(r"1\.\.(\d{1,9})(?:\s|$)")
_TEST = re.compile(r"(not )?ok(?=\s|$)(?:\s+(\d{1,9})(?=\s|$))?(?:\s+-)?\s*(.*)", re.DOTALL)
_DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)\w*\b", re.IGNORECASE)
_LOCATION = re.compile(r"location: '?(.+?):(\d{1,8}):\d{1,8}'?")
_SCRIPT = re.compile(r"\.[cm]?[jt]sx?$")
_NODE_TEST = re.compile(rb"[\"']node:test[\"']")
_MAX_SCRIPT = 1024 * 1024
_INDENT = 4
MAX_DEPTH = 20


@dataclass(slots=True)
class _Level:
    """Results at one indentation, since the last result one level above."""

    planned: int | None = None
    results: int = 0
    passed: int = 0
    skipped: int = 0
    failures: list[Case] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return self.passed + self.skipped + len(self.failures)


class TapCollector:
    """`root` is the tree as the tests saw it, `files` the same on the disk."""

    def __init__(self, root: Path | None = None, files: Path | None = None) -> None:
        self.root = root
        self.files = files
        self.levels = [_Level()]
        # Receives diagnostic lines; those of a passed test are dropped.
        self.message: Case | None = None
        self.yaml: int | None = None
        self.bail = self.partial = ""
        self.total = 0
        # the level whose last result passed without subtests
        self.without_subtests: _Level | None = None

    def line(self, text: str) -> None:
        body = text.lstrip(" ")
        indent = len(text) - len(body)
        if self.yaml is not None and body and indent < self.yaml:
            self.yaml = None  # it was not closed
        if self.yaml is not None:
            self._diagnostic(body, is_key=indent == self.yaml)
            self.yaml = None if body == "..." and indent == self.yaml else self.yaml
        elif body == "---" and indent >= 2:
            self.yaml = indent
        elif indent % _INDENT == 0 and indent // _INDENT < MAX_DEPTH and self._result(body, indent // _INDENT):
            return
        elif text.startswith(("#", " ")):
            self._diagnostic(body.lstrip("# "))

    def _diagnostic(self, text: str, *, is_key: bool = False) -> None:
        """`is_key`: a line of the YAML block itself, not of a value in it, e.g. what a test expected."""
        if self.without_subtests and text == "type: 'suite'":
            # node:test: a group in which no test ran is not a test
            self.without_subtests.passed -= 1
            self.without_subtests = None
        if self.message:
            self.message.add(text)
            if is_key and text.startswith("exitCode: "):
                # node:test: the process of a test file ended without reporting all of its tests
                self.message.status, self.message.whole = "error", True
            if self.message.file is None and (match := _LOCATION.fullmatch(text)):
                self.message.file, self.message.line = path_in_repository(match[1], self.root), int(match[2])

    def _result(self, text: str, depth: int) -> bool:
        """True if the line was a result or a plan."""
        if depth == 0 and text.startswith("Bail out!"):
            self.bail = text.removeprefix("Bail out!").strip() or "no reason given"
        elif plan := _PLAN.match(text):
            self._level(depth).planned = int(plan[1])
        elif (test := _TEST.match(text)) and self.total < MAX_CASES:
            self._test(depth, bad=bool(test[1]), number=test[2], words=test[3])
        else:
            return False
        return True

    def _level(self, depth: int) -> _Level:
        while len(self.levels) <= depth:
            self.levels.append(_Level())
        return self.levels[depth]

    def _test(self, depth: int, *, bad: bool, number: str | None, words: str) -> None:
        self.total += 1
        level, inner = self._level(depth), self._inner(depth)
        level.results += 1
        directive = _DIRECTIVE.search(words)
        name = (words[: directive.start()] if directive else words).strip() or f"test {number or level.results}"
        name = local_name(name, self.root)
        self.message = None
        self.without_subtests = level if not (bad or directive or inner.cases) else None
        if directive:
            level.skipped += max(1, inner.cases)
        elif not bad and depth == 0 and not inner.cases and self._defines_tests(name):
            # node:test: the process of a file ended before its first test, and the file counts as passed
            self.without_subtests = None
        elif not bad:
            # The parent's result counts: a failed subtest of a passed test was expected to fail.
            level.passed += max(1, inner.passed + len(inner.failures))
            level.skipped += inner.skipped
        else:
            level.passed += inner.passed
            level.skipped += inner.skipped
            self._failed(level, name, inner)

    def _defines_tests(self, name: str) -> bool:
        """True if a result has the name of a file that uses node:test."""
        if self.files is None or not _SCRIPT.search(name):
            return False
        path = path_in_repository(name, self.root)
        return bool(path and _NODE_TEST.search(read_regular(self.files / path, longest=_MAX_SCRIPT) or b""))

    def _inner(self, depth: int) -> _Level:
        """The subtests of the current result, which come before it."""
        if len(self.levels) <= depth + 1:
            return _Level()
        inner = self.levels[depth + 1]
        del self.levels[depth + 1 :]
        if inner.planned is not None and inner.planned != inner.results:
            self.partial = "a list of subtests is incomplete"
        return inner

    def _failed(self, level: _Level, name: str, inner: _Level) -> None:
        for case in inner.failures:
            case.name = f"{name} > {case.name}"
        if inner.failures:
            level.failures += inner.failures
            return
        self.message = Case(name)
        level.failures.append(self.message)


def read_tap(text: str, *, root: Path | None = None, files: Path | None = None) -> Reading:
    """Counts and failures. Never raises."""
    return read_tap_lines((line.rstrip("\r") for line in text.split("\n")), root=root, files=files)


def read_tap_lines(lines: Iterable[str], *, root: Path | None = None, files: Path | None = None) -> Reading:
    collector = TapCollector(root, files)
    for line in lines:
        collector.line(line)
    return _reading(collector)


def _reading(collector: TapCollector) -> Reading:
    top = collector.levels[0]
    failures = failures_of(top.failures)
    counts = make_counts(passes=top.passed, failures=len(failures), skips=top.skipped)
    if top.planned is None and not top.results:
        return Reading(error="there is no TAP in the report")
    if collector.bail:
        return Reading(counts, failures, error=f"the tests bailed out: {shortened(collector.bail, longest=200)}")
    if top.planned is None:
        return Reading(counts, failures, error="the TAP report has no plan: some tests may be missing")
    if top.planned != top.results:
        error = f"the TAP report has {top.results} of {top.planned} planned tests"
        return Reading(counts, failures, error=error)
    return Reading(counts, failures, partial=collector.partial)


class TapTextReader:
    """TAP in a command's output; requires a plan, since other text may begin with "ok"."""

    signature: ClassVar[re.Pattern[str]] = re.compile(r"^1\.\.\d{1,9}$", re.M)

    def __init__(self, root: Path | None = None) -> None:
        self.collector = TapCollector(root)

    def line(self, text: str, *, is_error: bool) -> None:
        if not is_error:
            self.collector.line(text)

    def reading(self) -> Reading | None:
        reading = _reading(self.collector)
        top = self.collector.levels[0]
        # `1..0` reports that no test was found
        if top.planned is None or (top.planned and not top.results):
            return None
        # An incomplete list is still useful.
        return replace(reading, error="", partial=reading.error or reading.partial)
