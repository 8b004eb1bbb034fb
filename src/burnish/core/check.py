"""Results of the checks, at the base and now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from burnish.core.error_lines import first_error
from burnish.core.finding import Remark
from burnish.core.policy import is_test


def count_of(check: Mapping[str, Any], what: str) -> int:
    """How many `new`, `old` or `fixed` failures a check in an event has; older events list all names instead."""
    return int(check.get(f"{what}_count") or len(check.get(what) or ()))


class CheckStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    # it could not be run: the result is unknown, never zero
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class TestFailure:
    """One test case that did not pass."""

    __test__ = False

    name: str
    status: str  # "failed" or "error"
    message: str = ""
    file: str | None = None
    line: int | None = None
    # it stands for a file, module or package: with "error" it could not be loaded or built, and none of its tests
    # ran; with "failed" it is a text file whose doctests are one test
    whole: bool = False


def _first_and_more(failures: tuple[TestFailure, ...], status: str) -> str:
    names = [failure.name for failure in failures if failure.whole and failure.status == status]
    return f"{names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}" if names else ""


@dataclass(frozen=True, slots=True)
class Counts:
    total: int
    passed: int
    failed: int
    skipped: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """One check, run once on one tree."""

    name: str  # "test", "lint" or the name under checks.extra
    command: str
    status: CheckStatus
    exit_code: int | None = None
    seconds: float = 0.0
    blocking: bool = True
    # None = the check has no report of single cases (exit code alone)
    counts: Counts | None = None
    failures: tuple[TestFailure, ...] = ()
    # problems with file and line, from lint or SARIF
    remarks: tuple[Remark, ...] = ()
    # the last part of what it printed, for prompt and screen
    tail: str = ""
    # where everything it printed lies in the burnish home
    output_path: str = ""
    error: str = ""
    # what to do about `error`, where that is known, without the full stop
    hint: str = ""
    # why more may fail than `failures` lists: the run stopped early, or the command runs more than one program
    partial: str = ""
    # tests that failed and then passed on the same tree
    flaky: tuple[str, ...] = ()

    @property
    def has_cases(self) -> bool:
        """It names what fails."""
        return bool(self.failures or self.remarks)

    @property
    def failed_count(self) -> int | None:
        """How many tests failed; None where that is not known, which is not the same as none."""
        if self.unknown or (self.status is CheckStatus.FAILED and not self.failures):
            return None
        return self.counts.failed if self.counts else len(self.failures)

    @property
    def nothing_passes(self) -> bool:
        """All tests failed, or the only one could not even run: more likely a wrong command or set-up.

        One entry may stand for a whole module that cannot be imported, and hide all tests in it.
        """
        if not self.without_a_pass or self.counts is None:
            return False
        return self.counts.failed > 1 or any(failure.status == "error" for failure in self.failures)

    @property
    def without_a_pass(self) -> bool:
        """Tests failed, and none passed."""
        return self.counts is not None and bool(self.counts.failed) and not self.counts.passed

    @property
    def what_hides_failures(self) -> str:
        """Why a failure of a change could be hidden by the failures of this report; "" if it could not."""
        if unloaded := _first_and_more(self.failures, "error"):
            return f"the tests of {unloaded} could not be loaded"
        if document := _first_and_more(self.failures, "failed"):
            return f"{document} is a single test of many examples"
        return self.partial if self.failures else ""

    @property
    def ran_no_tests(self) -> bool:
        """A test command that found no tests, or skipped all of them: its result is the same for every change."""
        counts = self.counts
        return is_test(self.name) and counts is not None and not (counts.passed or counts.failed or self.failures)

    @property
    def why_unknown(self) -> str:
        """Why nothing is known about the tests, in one line."""
        why = self.error.strip() or f"exit code {self.exit_code}"
        cause = first_error(self.tail)
        # where the reason is known, what was printed adds nothing; progress such as `..` never does
        is_known = bool(self.hint) or cause in why or not any(map(str.isalpha, cause))
        return why if is_known else f"{why.rstrip('.')}: {cause}"

    @property
    def unknown(self) -> bool:
        """Nothing is known about the tests: it could not be run, or it crashed before it reported any."""
        if self.status is CheckStatus.ERROR:
            return True
        return self.status is CheckStatus.FAILED and bool(self.error) and not self.has_cases


INDISTINGUISHABLE = "new failures cannot be distinguished from old ones"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One check now, against the same check at the base."""

    report: CheckReport
    baseline: CheckReport | None
    new: tuple[TestFailure, ...] = ()
    old: tuple[TestFailure, ...] = ()
    fixed: tuple[str, ...] = ()
    # problems with a place, that were not there at the base
    new_remarks: tuple[Remark, ...] = ()
    # it fails now, and no single case explains it (exit code alone, or it could not be run)
    broken: bool = False

    @property
    def uncountable(self) -> str:
        """Why new failures cannot be distinguished from old ones; "" where they can, or where nothing fails."""
        base, now = self.baseline, self.report
        if now.status is CheckStatus.ERROR and not self.broken:
            return f"{now.name} could not be run, neither before the change nor after it"
        if now.status is CheckStatus.PASSED and now.ran_no_tests:
            return f"{now.name} ran no tests"
        if base is None or not (base.status is now.status is CheckStatus.FAILED):
            return ""
        if not (base.has_cases and now.has_cases):
            return f"{now.name} failed before the change and fails now, and reports no single cases"
        if base.without_a_pass and now.without_a_pass:
            return f"no test of {now.name} passes, neither before the change nor after it"
        if unloaded := _first_and_more(self.old, "error"):
            return f"the tests of {unloaded} could not be loaded, neither before the change nor after it"
        if document := _first_and_more(self.old, "failed"):
            return f"{document}, a single test of many examples, failed before the change and fails now"
        if why := now.partial or base.partial:
            return f"{now.name} failed before the change and fails now, and {why}"
        return ""

    @property
    def clean(self) -> bool:
        """Nothing that this change is to blame for."""
        return not (self.new or self.new_remarks or self.broken)
