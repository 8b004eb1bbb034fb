"""What the checks said, at the base and now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from burnish.core.finding import Remark


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
    def clean(self) -> bool:
        """Nothing that this change is to blame for."""
        return not (self.new or self.new_remarks or self.broken)
