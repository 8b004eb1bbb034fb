"""The tests of the base with the code of a change: which files are put back, and what the result means."""

from __future__ import annotations

from dataclasses import dataclass, replace

from burnish.core.check import BaseTests, CheckReport, CheckStatus, Comparison, TestFailure, compare
from burnish.core.commit import TreeEntry
from burnish.core.policy import Policy


@dataclass(frozen=True, slots=True)
class EditedTests:
    """What a change edits of the tests of its base, and how to undo that in its tree."""

    # the files that are edited or deleted; no new files, and no files that have only more lines
    paths: tuple[str, ...] = ()
    # all files of tests as they are at the base; new ones are removed, since they may need what is undone
    entries: tuple[TreeEntry, ...] = ()


def with_result(comparison: Comparison, result: BaseTests | None) -> Comparison:
    """The comparison with this result, unless an earlier one says more."""
    if result is None or (comparison.base_tests and not result.failures):
        return comparison
    return replace(comparison, base_tests=result)


def is_named(comparison: Comparison) -> bool:
    """Whether tests of the base are known to fail, so that no further tree has to be tried."""
    return comparison.base_tests is not None and bool(comparison.base_tests.failures)


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
    if comparison.broken:
        whole = TestFailure(f"{now.name} (exit code {now.exit_code}, no single tests)", "failed", now.tail)
        return BaseTests(edits.paths, (whole,))
    return BaseTests(edits.paths, unknown=comparison.uncountable)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200].rstrip(".")
