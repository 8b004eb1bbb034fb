"""The guard in a review without a task: the tests of the base with the reviewed code, and its warnings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from burnish.adapters.checks.guarding import guard_change, tests_edited_by
from burnish.checks.flakes import flaky_failures
from burnish.core.base_tests import EditedTests, are_base_tests_run, is_named, judge_base_tests, with_result
from burnish.core.change import Change
from burnish.core.check import MAX_RERUN, BaseTests, CheckStatus, Comparison, without_flaky
from burnish.core.finding import Remark
from burnish.core.policy import CheckSpec
from burnish.core.status import ErrorCode
from burnish.engine.ports import Reads
from burnish.errors import PhaseFailed
from burnish.features.review.adhoc_checks import (
    ReviewEnvironment,
    TestOutcome,
    review_trees,
    run_again,
    run_in,
    tree_of,
)
from burnish.git.objects import read_files, with_entries
from burnish.git.review_target import CommitRange


def with_base_tests(
    ground: ReviewEnvironment, pair: CommitRange, change: Change, outcome: TestOutcome
) -> tuple[Comparison, ...]:
    """The comparisons with the result of the base's tests, if the change edits some of these and breaks none."""
    if not are_base_tests_run(ground.policy) or not outcome.comparisons:
        return outcome.comparisons
    comparisons, specs = outcome.comparisons, {spec.name: spec for spec in outcome.specs}
    for edits in tests_edited_by(ground.project, change, **_readers(ground, pair)):
        commit = with_entries(ground.project, pair.new.sha, edits.entries)
        if commit.tree == pair.old.tree or all(map(is_named, comparisons)):
            continue
        ground.say("The change edits tests, so those of the base run with it, too")
        comparisons = tuple(
            _compared(ground, pair, specs[one.report.name], one, commit.sha, edits) for one in comparisons
        )
    return comparisons


def _compared(
    ground: ReviewEnvironment,
    pair: CommitRange,
    spec: CheckSpec,
    comparison: Comparison,
    commit: str,
    edits: EditedTests,
) -> Comparison:
    if not comparison.clean or comparison.report.unknown or is_named(comparison):
        return comparison
    try:
        return with_result(comparison, _base_tests(ground, pair, spec, comparison, commit, edits))
    except PhaseFailed as failed:
        if failed.code not in (ErrorCode.SETUP_FAILED, ErrorCode.CHECK_ERROR):
            raise
        return with_result(comparison, BaseTests(edits.paths, unknown=failed.what.rstrip(".")))


def _base_tests(
    ground: ReviewEnvironment,
    pair: CommitRange,
    spec: CheckSpec,
    comparison: Comparison,
    commit: str,
    edits: EditedTests,
) -> BaseTests:
    trees = review_trees(ground, pair)
    with tree_of(trees, ground, spec, commit, pair.old.sha, "base-tests") as place:
        report = run_in(ground, place, spec, "base-tests")
        if report.status is CheckStatus.PASSED:
            return judge_base_tests(edits, report, report)
        if report.failures and len(report.failures) <= MAX_RERUN:
            again = partial(run_again, ground, place)
            report = without_flaky(report, flaky_failures(spec, report, report.failures, again, root=place.files))
    before = comparison.baseline
    if before is None:
        with tree_of(trees, ground, spec, pair.old.sha, pair.old.sha, "before") as place:
            before = run_in(ground, place, spec, "tests-before")
    return judge_base_tests(edits, report, before)


def guard_remarks(
    ground: ReviewEnvironment, pair: CommitRange, change: Change, comparisons: tuple[Comparison, ...]
) -> tuple[Remark, ...]:
    """What the guard reports of the change: warnings at most, since a person reads the review and decides."""
    levels = {kind: "off" if level == "off" else "warning" for kind, level in ground.policy.guard}
    # Only a build of the settings counts: to find one, all files would have to be listed and many of them read.
    trees = replace(review_trees(ground, pair), automatic=False)
    return guard_change(trees, change, comparisons=comparisons, levels=levels, **_readers(ground, pair))


def _readers(ground: ReviewEnvironment, pair: CommitRange) -> dict[str, Reads]:
    return {
        "old": partial(read_files, ground.project, pair.old.sha),
        "new": partial(read_files, ground.project, pair.new.sha),
    }
