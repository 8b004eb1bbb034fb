"""Run the tests of the base with the code of a change that edits tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from burnish.core import base_tests
from burnish.core.base_tests import EditedTests, are_base_tests_run, is_concerned, judge_base_tests, without_chance
from burnish.core.check import BaseTests, CheckReport, Comparison
from burnish.core.policy import CheckSpec
from burnish.core.status import ErrorCode
from burnish.core.task import Task
from burnish.engine.ports import CheckedCommit, Deps
from burnish.engine.task_setup import TaskSetup, baseline_environment, check_place, isolation_env, serial_checks
from burnish.errors import PhaseFailed


def with_base_tests(
    deps: Deps,
    setup: TaskSetup,
    task: Task,
    cycle: int,
    specs: Sequence[CheckSpec],
    comparisons: tuple[Comparison, ...],
) -> tuple[Comparison, ...]:
    """The comparisons of tests with the result of the base's tests, if the change edits some of these."""
    if not are_base_tests_run(setup.policy) or not any(map(is_concerned, comparisons)):
        return comparisons
    head = setup.head()

    def run(edits: EditedTests, candidates: tuple[Comparison, ...]) -> Mapping[str, BaseTests]:
        by_name = {spec.name: spec for spec in specs}
        pairs = [(by_name[one.report.name], one) for one in candidates if one.baseline is not None]
        commit = setup.workspace.with_entries(head.sha, edits.entries)
        if commit.tree == setup.base.tree or not pairs:
            return {}  # it changes tests alone
        tree = CheckedCommit(commit.sha, setup.workspace.plain(setup.base.commit), f"{task.name}-base-tests", task.name)
        return _run(deps, setup, task, cycle, pairs, (commit.tree, tree), edits)

    trees = deps.checks(task.id).edited_tests(
        setup.workspace.changes(setup.base.tree, head.tree),
        [one.report.command for one in comparisons if is_concerned(one)],
        old=partial(setup.workspace.read, setup.base.commit),
        new=partial(setup.workspace.read, head.sha),
    )
    return base_tests.with_base_tests(comparisons, trees, run)


def _run(
    deps: Deps,
    setup: TaskSetup,
    task: Task,
    cycle: int,
    pairs: Sequence[tuple[CheckSpec, Comparison]],
    target: tuple[str, CheckedCommit],
    edits: EditedTests,
) -> dict[str, BaseTests]:
    """Results by check. They are stored like those of a base: a run that is resumed does not run them again."""
    tree, commit = target
    environment = baseline_environment(deps, setup)
    reports: dict[str, CheckReport | None] = {}
    for spec, _ in pairs:
        reports[spec.name] = deps.event_log.baseline(tree, spec.words, environment)
    missing = [(spec, one) for spec, one in pairs if (known := reports[spec.name]) is None or known.unknown]
    if missing:
        try:
            reports |= _run_missing(deps, setup, task, cycle, missing, commit)
        except PhaseFailed as failure:
            if failure.code not in (ErrorCode.SETUP_FAILED, ErrorCode.CHECK_ERROR):
                raise
            unknown = BaseTests(edits.paths, unknown=failure.what.rstrip("."))
            return {spec.name: unknown for spec, _ in pairs}
        for spec, _ in missing:
            if report := reports[spec.name]:
                deps.event_log.save_baseline(tree, spec.words, environment, report)
        deps.failpoint("base-tests-run")
    return {
        spec.name: judge_base_tests(edits, report, comparison.baseline)
        for spec, comparison in pairs
        if (report := reports[spec.name])
    }


def _run_missing(
    deps: Deps,
    setup: TaskSetup,
    task: Task,
    cycle: int,
    pairs: Sequence[tuple[CheckSpec, Comparison]],
    commit: CheckedCommit,
) -> dict[str, CheckReport]:
    deps.progress.note(f"Task {task.id}: the change edits tests, so those of the base run with it, too…")
    out_dir = deps.task_files.out_dir(task, cycle, "base-tests")
    env = isolation_env(setup.policy, task, setup.policy.agent)
    specs = [replace(spec, evidence=()) for spec, _ in pairs]
    checks = deps.checks(task.id)
    reports = {}
    with serial_checks(deps, setup.policy), check_place(deps, task, setup, specs, commit, out_dir, env) as place:
        first_reports = checks.run(specs, place=place, out_dir=out_dir, env=env)
        for spec, report, (_, comparison) in zip(specs, first_reports, pairs, strict=True):
            again = partial(checks.flaky_failures, spec, report, place=place, out_dir=out_dir, env=env)
            reports[spec.name] = without_chance(report, comparison.baseline, again)
    return reports
