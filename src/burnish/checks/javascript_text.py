"""Reads the terminal output of jest, vitest, mocha and Node's test runner."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from burnish.checks.reading import (
    UNLISTED,
    Case,
    Reading,
    failures_of,
    local_name,
    make_counts,
    number,
    path_in_repository,
)

_JEST_FILE = re.compile(r"(PASS|FAIL) (\S.*?)(?: \([\d.]+ m?s\))?")
_JEST_CASE = re.compile(r"  ● (\S.*)")
_JEST_END = re.compile(r"Tests:\s+(\d.*) total")
_JEST_NOISE = ("Console", "Test suite failed to run", "Cannot log after tests are done")
_SUITE = "Test suite failed to run"


class JestReader:
    signature: ClassVar[re.Pattern[str]] = re.compile(r"^Tests:\s+\d.* total$", re.M)

    def __init__(self, root: Path | None = None) -> None:
        self.root = root
        self.file = ""
        self.open_case: Case | None = None
        # With many files, jest prints failures twice.
        self.cases: dict[str, Case] = {}
        self.ends: list[str] = []

    def line(self, text: str, *, is_error: bool) -> None:
        if match := _JEST_FILE.fullmatch(text):
            self.file, self.open_case = match[2].removeprefix("./"), None
        elif match := _JEST_CASE.fullmatch(text):
            self._case(match[1])
        elif match := _JEST_END.fullmatch(text):
            self.ends.append(match[1])
            self.open_case = None
        elif self.open_case:
            self.open_case.add(text.strip())

    def _case(self, title: str) -> None:
        self.open_case = None
        if title not in _JEST_NOISE or title == _SUITE:
            name = self.file if title == _SUITE else " > ".join([self.file, *title.split(" › ")])
            status = "error" if title == _SUITE else "failed"
            earlier_case = self.cases.get(name)
            self.open_case = earlier_case or Case(
                name, status, path_in_repository(self.file, self.root), whole=title == _SUITE
            )
            self.cases[name] = self.open_case

    def reading(self) -> Reading | None:
        if not self.ends:
            return None
        failures = sum(number(end, r"(\d+) failed") for end in self.ends)
        skips = sum(number(end, r"(\d+) skipped") + number(end, r"(\d+) todo") for end in self.ends)
        passes = sum(number(end, r"(\d+) passed") for end in self.ends)
        suites = sum(case.status == "error" for case in self.cases.values())
        partial = "" if len(self.cases) - suites == failures else UNLISTED
        counts = make_counts(passes=passes, failures=failures + suites, skips=skips)
        return Reading(counts, failures_of(list(self.cases.values())), partial=partial)


_VITEST_CASE = re.compile(r"\s?FAIL\s+(\S.*)")
_VITEST_END = re.compile(r"\s+Tests\s+(\d.*|no tests)")
_VITEST_FILES = re.compile(r"\s+Test Files\s+(\d.*)")


class VitestReader:
    signature: ClassVar[re.Pattern[str]] = re.compile(r"^\s+Test Files\s+\d", re.M)

    def __init__(self, root: Path | None = None) -> None:
        self.root = root
        self.cases: dict[str, Case] = {}
        self.open_case: Case | None = None
        self.summary: str | None = None
        self.ended = False

    def line(self, text: str, *, is_error: bool) -> None:
        if match := _VITEST_CASE.fullmatch(text):
            self._case(match[1])
        elif _VITEST_FILES.fullmatch(text):
            self.ended = True
        elif match := _VITEST_END.fullmatch(text):
            self.summary = match[1]
        elif text.startswith("⎯"):
            self.open_case = None
        elif self.open_case:
            self.open_case.add(text)

    def _case(self, title: str) -> None:
        suite = re.fullmatch(r"(.+?) \[ .+ \]", title)
        name = suite[1] if suite else title
        file = path_in_repository(name.partition(" > ")[0], self.root)
        self.open_case = self.cases.setdefault(
            name, Case(name, "error" if suite else "failed", file, whole=bool(suite))
        )

    def reading(self) -> Reading | None:
        if not self.ended:
            return None
        words = self.summary or ""
        failures = number(words, r"(\d+) failed")
        suites = sum(case.status == "error" for case in self.cases.values())
        skips = number(words, r"(\d+) skipped") + number(words, r"(\d+) todo")
        counts = make_counts(passes=number(words, r"(\d+) passed"), failures=failures + suites, skips=skips)
        partial = "" if len(self.cases) - suites == failures else UNLISTED
        return Reading(counts, failures_of(list(self.cases.values())), partial=partial)


_MOCHA_COUNT = re.compile(r"  (\d{1,9}) (passing|failing|pending)(?: \(.*\))?")
_MOCHA_CASE = re.compile(r"  (\d{1,9})\) (\S.*)")


class MochaReader:
    """Reads the list of failures at the end, which mocha's terminal reporters share."""

    signature: ClassVar[re.Pattern[str]] = re.compile(r"^  \d{1,9} passing \(", re.M)

    def __init__(self, root: Path | None = None) -> None:
        self.counts = {"passing": 0, "failing": 0, "pending": 0}
        self.ended = self.listing = False
        self.titles: list[str] = []
        self.cases: list[Case] = []

    def line(self, text: str, *, is_error: bool) -> None:
        if match := _MOCHA_COUNT.fullmatch(text):
            self.counts[match[2]] += int(match[1])
            self.ended = True
            self.listing = match[2] == "failing"
        elif not self.listing:
            return
        elif match := _MOCHA_CASE.fullmatch(text):
            self.titles = [match[2]]
            self._title()
        elif self.titles:
            self.titles.append(text.strip())
            self._title()
        elif self.cases:
            self.cases[-1].add(text.strip())

    def _title(self) -> None:
        """A title has one line per level; the last line ends in a colon."""
        if self.titles[-1].endswith(":") or len(self.titles) > 20:
            self.cases.append(Case(" ".join(self.titles).removesuffix(":")))
            self.titles = []

    def reading(self) -> Reading | None:
        if not self.ended:
            return None
        failures = self.counts["failing"]
        counts = make_counts(passes=self.counts["passing"], failures=failures, skips=self.counts["pending"])
        return Reading(counts, failures_of(self.cases), partial="" if len(self.cases) == failures else UNLISTED)


_NODE_COUNT = re.compile(r"ℹ (tests|pass|fail|cancelled|skipped|todo) (\d{1,9})")
_NODE_PLACE = re.compile(r"test at (\S.*?):(\d{1,8}):\d{1,8}")
_NODE_CASE = re.compile(r"\s*✖ (\S.*?)(?: \([\d.]+m?s\))?( # TODO.*)?")


class NodeSpecReader:
    """The `spec` reporter of `node --test`: the list of failing tests at its end."""

    signature: ClassVar[re.Pattern[str]] = re.compile(r"^ℹ fail \d", re.M)

    def __init__(self, root: Path | None = None) -> None:
        self.root = root
        self.counts: dict[str, int] = {}
        self.place: re.Match[str] | None = None
        self.listing = False
        self.cases: list[Case] = []

    def line(self, text: str, *, is_error: bool) -> None:
        if match := _NODE_COUNT.fullmatch(text):
            self.counts[match[1]] = self.counts.get(match[1], 0) + int(match[2])
        elif text.strip() == "✖ failing tests:":
            self.listing = True
        elif self.listing and (match := _NODE_PLACE.fullmatch(text)):
            self.place = match
        elif self.place and (match := _NODE_CASE.fullmatch(text)):
            self._case(match, self.place)
        elif self.cases and self.listing:
            self.cases[-1].add(text)

    def _case(self, match: re.Match[str], place: re.Match[str]) -> None:
        self.place = None
        if not match[2]:
            file = path_in_repository(place[1], self.root)
            name = local_name(match[1], self.root)
            self.cases.append(Case(f"{place[1]} > {name}", "failed", file, int(place[2])))

    def reading(self) -> Reading | None:
        if "fail" not in self.counts:
            return None
        failures = self.counts["fail"] + self.counts.get("cancelled", 0)
        skips = self.counts.get("skipped", 0) + self.counts.get("todo", 0)
        counts = make_counts(passes=self.counts.get("pass", 0), failures=failures, skips=skips)
        return Reading(counts, failures_of(self.cases), partial="" if len(self.cases) == failures else UNLISTED)
