"""Reads pytest's output if there is no JUnit report (tox, nox, containers)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from burnish.checks.reading import UNLISTED, Case, Reading, failures_of, make_counts, number, path_in_repository

_SUMMARY = re.compile(r"=+ short test summary info =+")
_END = re.compile(
    r"(?:=+ )?(?=\d)((?:\d{1,9} (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun)(?:, )?)+)"
    r" in [\d.]+s(?: \([\d:, days]+\))?(?: =+)?"
)
_CASE = re.compile(r"(FAILED|ERROR) (\S.*)")
_STOPPED = re.compile(r"!+ (?:stopping after \d+ failures?|Interrupted: .*|xdist.dsession.Interrupted: .*) !+")


def is_document(name: str) -> bool:
    """All doctests of a text file (`docs/use.rst::use.rst`): one test for pytest, which ends at the first failure."""
    file, _, test = name.partition("::")
    return bool(test) and not file.endswith(".py") and file.rpartition("/")[2] == test


def last_failure_count(text: str) -> int:
    """The number of failures and errors in the last summary."""
    ends = [match[1] for line in text.splitlines() if (match := _END.fullmatch(line.strip()))]
    return number(ends[-1], r"(\d+) failed") + number(ends[-1], r"(\d+) errors?") if ends else 0


class PytestReader:
    signature: ClassVar[re.Pattern[str]] = re.compile(
        r"^(?:=+ )?\d{1,9} (?:failed|passed|errors?|skipped)\b[^\n]{0,200} in [\d.]+s", re.M
    )

    def __init__(self, root: Path | None = None) -> None:
        self.root = root
        self.cases: list[Case] = []
        self.in_summary = False
        self.listed = self.ends = 0
        self.passed = self.failed = self.skipped = 0
        self.partial = ""

    def line(self, text: str, *, is_error: bool) -> None:
        if _SUMMARY.fullmatch(text):
            self.in_summary = True
        elif self.in_summary and (match := _CASE.fullmatch(text)):
            self._case(match[1], match[2])
        elif _STOPPED.fullmatch(text):
            self.partial = "pytest stopped before it had run every test"
        elif match := _END.fullmatch(text):
            self._finish(match[1])

    def _case(self, status: str, rest: str) -> None:
        # A parameter may contain " - ".
        bracket = rest.find("[")
        dash = rest.find(" - ")
        if -1 < bracket < dash:
            dash = rest.find("] - ") + 1 if "] - " in rest else -1
        name, message = (rest[:dash], rest[dash + 3 :]) if dash > 0 else (rest, "")
        case = Case(
            name, "error" if status == "ERROR" else "failed", path_in_repository(name.partition("::")[0], self.root)
        )
        case.whole = (status == "ERROR" and "::" not in name) or is_document(name)
        case.add(message)
        self.cases.append(case)

    def _finish(self, summary: str) -> None:
        failures = number(summary, r"(\d+) failed") + number(summary, r"(\d+) errors?")
        new_cases, self.listed = len(self.cases) - self.listed, len(self.cases)
        if new_cases != failures:
            self.partial = self.partial or UNLISTED
        self.failed += failures
        self.passed += number(summary, r"(\d+) passed") + number(summary, r"(\d+) xpassed")
        self.skipped += number(summary, r"(\d+) skipped") + number(summary, r"(\d+) xfailed")
        self.in_summary = False
        self.ends += 1

    def reading(self) -> Reading | None:
        if not self.ends:
            return None
        counts = make_counts(passes=self.passed, failures=self.failed, skips=self.skipped)
        return Reading(counts, failures_of(self.cases), partial=self.partial)
