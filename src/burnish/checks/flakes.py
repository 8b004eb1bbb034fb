"""Reruns failed tests on the same tree to detect flaky ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.checks.selection import select_tests
from burnish.core.check import CheckReport, CheckStatus, TestFailure
from burnish.core.flaky import without_flaky
from burnish.core.policy import CheckSpec

TIMES = 3
# More names than this do not go into one command.
MOST_SELECTED = 50

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
    selection = select_tests(spec.command, failures, root) if len(failures) <= MOST_SELECTED else None
    if selection is not None:
        passing_names: set[str] = set()
        for number in range(1, times + 1):
            report = reruns(replace(spec, command=selection), f"alone-{number}")
            passing_names |= _passed_alone(report, suspects)
            if passing_names == suspects:
                break
        suspects = passing_names
    flaky: set[str] = set()
    for number in range(1, times + 1):
        if flaky == suspects:
            break
        flaky |= _passed_in_suite(first, reruns(spec, f"again-{number}"), suspects)
    return frozenset(flaky)


def _passed_alone(report: CheckReport | None, suspects: set[str]) -> set[str]:
    """Requires that enough tests passed, because a selection that matches no test also passes."""
    if report is None or report.status is CheckStatus.ERROR or report.counts is None:
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
    return suspects - {failure.name for failure in report.failures}


def confirm_failures(spec: CheckSpec, report: CheckReport, run: Run, *, root: Path) -> CheckReport:
    """A failed report of the base without flaky failures, which must not excuse later ones."""
    if report.status is not CheckStatus.FAILED or report.unknown:
        return report
    if report.failures:
        return without_flaky(report, flaky_failures(spec, report, report.failures, run, root=root, times=1))
    if report.remarks:
        return report
    again = run(spec, "again-1")
    return replace(again, flaky=("exit code",)) if again.status is CheckStatus.PASSED else report
