"""The guard in a review without a task: the tests of the base with the reviewed code, and its warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from burnish.adapters.checks.guarding import guard_change, tests_edited_by
from burnish.checks.flakes import flaky_failures
from burnish.core import base_tests
from burnish.core.base_tests import EditedTests, are_base_tests_run, is_concerned, judge_base_tests, without_chance
from burnish.core.change import Change
from burnish.core.check import BaseTests, CheckStatus, Comparison
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
    if not are_base_tests_run(ground.policy) or not any(map(is_concerned, outcome.comparisons)):
        return outcome.comparisons
    specs = {spec.name: spec for spec in outcome.specs}

    def run(edits: EditedTests, candidates: tuple[Comparison, ...]) -> Mapping[str, BaseTests]:
        commit = with_entries(ground.project, pair.new.sha, edits.entries)
        if commit.tree == pair.old.tree:
            return {}  # it changes tests alone
        ground.say("The change edits tests, so those of the base run with it, too")
        pairs = [(specs[one.report.name], one) for one in candidates]
        return {spec.name: _result(ground, pair, spec, one, commit.sha, edits) for spec, one in pairs}

    commands = [one.report.command for one in outcome.comparisons if is_concerned(one)]
    trees = tests_edited_by(ground.project, change, commands, **_readers(ground, pair))
    return base_tests.with_base_tests(outcome.comparisons, trees, run)


def _result(
    ground: ReviewEnvironment,
    pair: CommitRange,
    spec: CheckSpec,
    comparison: Comparison,
    commit: str,
    edits: EditedTests,
) -> BaseTests:
    try:
        return _base_tests(ground, pair, spec, comparison, commit, edits)
    except PhaseFailed as failed:
        if failed.code not in (ErrorCode.SETUP_FAILED, ErrorCode.CHECK_ERROR):
            raise
        return BaseTests(edits.paths, unknown=failed.what.rstrip("."))


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
        again = partial(flaky_failures, spec, report, run=partial(run_again, ground, place), root=place.files)
        report = without_chance(report, comparison.baseline, again)
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
