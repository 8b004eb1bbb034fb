"""The tests of the base with the code of a change: which files are put back, and what the result means."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from burnish.core.check import (
    MAX_RERUN,
    BaseTests,
    CheckReport,
    CheckStatus,
    Comparison,
    TestFailure,
    compare,
    without_flaky,
)
from burnish.core.commit import TreeEntry
from burnish.core.policy import Policy, is_test


@dataclass(frozen=True, slots=True)
class EditedTests:
    """What a change edits of the tests of its base, and how to undo that in its tree."""

    # the files that are edited or deleted, and new ones that may replace code
    paths: tuple[str, ...] = ()
    # all files of tests as they are at the base; new ones are removed, since they may need what is undone
    entries: tuple[TreeEntry, ...] = ()


# Runs these checks on the tree with these edits undone. A check without a result is not compared.
RunBaseTests = Callable[[EditedTests, tuple[Comparison, ...]], Mapping[str, BaseTests]]


def with_base_tests(
    comparisons: tuple[Comparison, ...], trees: Iterable[EditedTests], run: RunBaseTests
) -> tuple[Comparison, ...]:
    """The comparisons with the results of the base's tests on each of these trees, until they name a failure.

    Tests that the change breaks in any case are left out: they are to be fixed first, and then run again.
    """
    for edits in trees:
        if candidates := tuple(filter(is_concerned, comparisons)):
            results = run(edits, candidates)
            comparisons = tuple(_with_result(one, results.get(one.report.name)) for one in comparisons)
    return comparisons


def is_concerned(comparison: Comparison) -> bool:
    """Whether the tests of the base say something about this check."""
    report = comparison.report
    is_named = comparison.base_tests is not None and bool(comparison.base_tests.failures)
    return is_test(report.name) and not report.unknown and not is_named and (comparison.clean or not report.blocking)


def _with_result(comparison: Comparison, result: BaseTests | None) -> Comparison:
    """The comparison with this result, unless an earlier one says more."""
    if result is None or (comparison.base_tests and not result.failures):
        return comparison
    return replace(comparison, base_tests=result)


def without_chance(
    report: CheckReport,
    baseline: CheckReport | None,
    flaky_failures: Callable[[tuple[TestFailure, ...]], Collection[str]],
) -> CheckReport:
    """The report without new failures that pass when they run again."""
    new = compare(report, baseline).new
    if report.status is not CheckStatus.FAILED or not 0 < len(new) <= MAX_RERUN:
        return report
    return without_flaky(report, flaky_failures(new))


def are_base_tests_run(policy: Policy) -> bool:
    return dict(policy.guard).get("expectations", "off") != "off"


def judge_base_tests(edits: EditedTests, now: CheckReport, baseline: CheckReport | None) -> BaseTests:
    """Which tests passed at the base and fail with the code of the change."""
    if now.status is CheckStatus.ERROR or now.unknown:
        return BaseTests(edits.paths, unknown=f"{now.name} could not be run ({_one_line(now.why_unknown)})")
    if baseline is None or baseline.unknown:
        return BaseTests(edits.paths, unknown=f"{now.name} has no result on the base to compare with")
    comparison = compare(now, baseline)
    if comparison.new:
        return BaseTests(edits.paths, comparison.new)
    if comparison.broken and _fails_for_coverage(now):
        return BaseTests(edits.paths)
    if comparison.broken:
        whole = TestFailure(f"{now.name} (exit code {now.exit_code}, no single tests)", "failed", now.tail)
        return BaseTests(edits.paths, (whole,))
    unknown = comparison.uncountable or _not_run(now, baseline)
    return BaseTests(edits.paths, unknown=unknown, output_note=comparison.output_note)


def _not_run(now: CheckReport, baseline: CheckReport) -> str:
    """Why some tests of the base may not have run, although all of their files are there; "" if all ran."""
    if now.counts is None or baseline.counts is None:
        return ""
    ran, all_tests = (counts.passed + counts.failed for counts in (now.counts, baseline.counts))
    return f"{now.name} ran {ran} of the {all_tests} tests of the base" if ran < all_tests else ""


# pytest-cov, coverage, jest, and nyc, c8 and vitest
_COVERAGE_TOO_LOW = re.compile(
    r"\bcoverage\b[^\n]{0,200}?(?:\bnot reached\b|\bnot met\b|\bdoes not meet\b|\bless than fail-under\b)", re.I
)


def _fails_for_coverage(report: CheckReport) -> bool:
    """True if all tests pass. Those of the base do not cover the code that the change adds."""
    counts = report.counts
    return bool(counts and counts.passed and not counts.failed) and _COVERAGE_TOO_LOW.search(report.tail) is not None


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200].rstrip(".")
