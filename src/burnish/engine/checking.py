"""Checks: test, lint and extra ones, side by side, against the baseline."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from burnish.core.change import Change
from burnish.core.check import (
    INDISTINGUISHABLE,
    MAX_RERUN,
    CheckReport,
    CheckStatus,
    Comparison,
    TestFailure,
    about_change,
    is_blamed,
    without_flaky,
)
from burnish.core.codec import decode, encode
from burnish.core.error_lines import last_lines
from burnish.core.event import Event
from burnish.core.finding import Waiver
from burnish.core.flow import CheckStep
from burnish.core.history import History
from burnish.core.journal import CheckRecord, CheckResult, RecordedCounts, ReviewResult
from burnish.core.journal_events import PhaseStarted, new_event
from burnish.core.ledger.ledger import absorb_checks
from burnish.core.policy import CheckSpec, is_test, setting_of
from burnish.core.recorded_reviews import no_test_was_run
from burnish.core.review_checks import TestsOfChange, has_archives, is_test_file, packed_copies
from burnish.core.status import ErrorCode
from burnish.core.task import Task
from burnish.engine.base_tests import with_base_tests
from burnish.engine.guard_phase import absorb_guard, absorb_touched
from burnish.engine.ports import CheckPlace, Deps
from burnish.engine.task_setup import (
    TaskSetup,
    baseline_environment,
    capture_baseline,
    isolation_env,
    only,
    serial_checks,
)
from burnish.engine.transitions import current_ledger, finding_events
from burnish.errors import PhaseFailed

NOT_RUN = "not_run"
# of one check, in an event
MOST_NAMES, MAX_MESSAGE_LENGTH = 50, 1000
# test files that are searched for the names of changed files; notes about changed files without tests
MAX_TEST_FILES, MAX_TEST_BYTES, MOST_UNTESTED = 1000, 200_000, 5
NO_TESTS = "No tests are configured or found, so nothing was tested."


@dataclass(frozen=True, slots=True)
class CheckRun:
    """What the checks of one commit reported, and what to know about where they ran."""

    reports: tuple[CheckReport, ...]
    warnings: tuple[str, ...] = ()


def check(deps: Deps, setup: TaskSetup, history: History, step: CheckStep) -> None:
    """Run every check on this cycle's commit; what is new becomes findings."""
    task = history.task
    candidates = [s for s in setup.policy.checks if not (task.spec.skip_tests and s.name == "test")]
    specs, skipped_specs = _split_by_paths(setup, candidates)
    attempt, new = history.attempt(step.cycle, "check")
    commit = history.work(step.cycle)
    assert commit
    start = PhaseStarted("check", attempt, deps.runner, sandbox=deps.sandbox)
    start_event = new_event("phase.started", start, run=task.run, cycle=step.cycle)
    comparisons: tuple[Comparison, ...] = ()
    result = CheckRun(())
    events: list[Event] = []
    if specs:
        if new:
            deps.record(task, start_event)
        deps.failpoint("check-started")
        capture_baseline(deps, task, only(setup, [spec for spec in specs if spec.paths]))
        result = _run(deps, setup, task, step.cycle, specs)
        environment = baseline_environment(deps, setup)
        pairs = zip(specs, result.reports, strict=True)
        comparisons = tuple(_compare(deps, setup, spec, report, environment) for spec, report in pairs)
        comparisons = with_base_tests(deps, setup, task, step.cycle, specs, comparisons)
        remember(deps, task, step.cycle, comparisons)
        deps.failpoint("check-run")
    else:
        # nothing to wait for: started and finished are one write
        events += [start_event] if new else []
    with current_ledger(deps, history) as now:
        events += _finished(deps, setup, now, step.cycle, attempt, comparisons, skipped_specs, result.warnings)
        deps.record(task, *events)
    deps.failpoint("check-finished")


def _split_by_paths(setup: TaskSetup, specs: list[CheckSpec]) -> tuple[list[CheckSpec], list[CheckSpec]]:
    """Checks to run, and those whose `paths` the change does not touch."""
    if not any(spec.paths for spec in specs):
        return specs, []
    change = setup.workspace.changes(setup.base.tree, setup.head().tree)
    paths = {path for file in change.files for path in (file.path, file.old_path) if path}
    run = [spec for spec in specs if spec.concerns(paths)]
    return run, [spec for spec in specs if spec not in run]


def _run(deps: Deps, setup: TaskSetup, task: Task, cycle: int, specs: list[CheckSpec]) -> CheckRun:
    out_dir = deps.task_files.out_dir(task, cycle, "checks")
    env = isolation_env(setup.policy, task, setup.policy.agent)
    checks, base = deps.checks(task.id), baseline_environment(deps, setup)
    with serial_checks(deps, setup.policy):
        if setup.policy.checks_where == "clean":
            tree = replace(setup.head_tree(f"{task.name}-check"), task=task.name)
            with checks.on(specs, tree, out_dir=out_dir, env=env) as place:
                return _run_at(deps, setup, task, specs, Rerun(place, out_dir, env, setup.base.tree, base))
        tree = setup.head_tree(f"{task.name}-check")
        try:
            with checks.inside(specs, tree, folder=setup.workspace.path, env=env) as place:
                return _run_at(deps, setup, task, specs, Rerun(place, out_dir, env, setup.base.tree, base))
        finally:
            setup.workspace.remove_junk()


def _run_at(deps: Deps, setup: TaskSetup, task: Task, specs: list[CheckSpec], at: Rerun) -> CheckRun:
    reports = deps.checks(task.id).run(specs, place=at.place, out_dir=at.out_dir, env=at.env)
    if any(report.status is CheckStatus.FAILED for report in reports):
        change = setup.workspace.changes(setup.base.tree, setup.head().tree)
        reports = excuse_flaky(deps, task, specs, reports, at, change=change)
    return CheckRun(reports, at.place.warnings)


def _compare(deps: Deps, setup: TaskSetup, spec: CheckSpec, report: CheckReport, environment: str) -> Comparison:
    baseline = deps.event_log.baseline(setup.base.tree, spec.words, environment)
    comparison = deps.checks(setup.task_id).compare(report, baseline)
    if report.replaced or report.shadowed:
        comparison = about_change(comparison, setup.workspace.changes(setup.base.tree, setup.head().tree))
    if not (report.status is CheckStatus.ERROR and baseline and baseline.status is CheckStatus.ERROR):
        return comparison
    # It could not be run before the change either: no author can fix that.
    if spec.found:
        return replace(comparison, broken=False)
    raise PhaseFailed(
        ErrorCode.CHECK_ERROR,
        f"The check {spec.name} cannot be run, neither now nor on the base commit: {report.why_unknown}",
        hint=f"{report.hint or f'Correct {setting_of(spec.name)} in burnish.yaml or install what it needs'}; "
        "then `burnish retry`.",
        output=last_lines(report.tail),
    )


def _finished(
    deps: Deps,
    setup: TaskSetup,
    history: History,
    cycle: int,
    attempt: int,
    comparisons: tuple[Comparison, ...],
    skipped_specs: list[CheckSpec],
    notes: tuple[str, ...],
) -> list[Event]:
    task = history.task
    delta = delta_since(setup, history, cycle, "check")
    since = since_waiver(setup, history)
    check_update = absorb_checks(history.findings, comparisons=comparisons, cycle=cycle, delta=delta, since=since)
    update = absorb_guard(
        deps, setup, history.findings, check_update, comparisons, cycle=cycle, delta=delta, since=since
    )
    work = history.work(cycle)
    touched_paths = work.result.touched if work else ()
    update = absorb_touched(history.findings, update, touched_paths, cycle, setup.policy.block_on)
    checks = (*map(check_record, comparisons), *map(check_not_run, skipped_specs))
    tests = _tests_of_change(setup, comparisons, is_all=not skipped_specs)
    untested_files = tests.untested() if tests else {}
    untested_notes = [*untested_files.values(), *tests.partly_untested(), *tests.perhaps_skipped()] if tests else []
    files_without_tests = (*untested_notes[:MOST_UNTESTED], *_packed_copies(setup))
    result = CheckResult(
        "check",
        attempt,
        commit=setup.head().sha,
        checks=checks,
        warnings=(
            *warnings(setup, comparisons),
            *_tests_not_run(comparisons, skipped_specs),
            *files_without_tests,
            *notes,
            *update.notes,
        ),
        untested=files_without_tests,
        untested_files=tuple(untested_files)[:MOST_NAMES],
        flaky=tuple(name for c in comparisons for name in c.report.flaky)[:MOST_NAMES],
    )
    events = [new_event("check.finished", one, run=task.run, cycle=cycle) for one in checks]
    events += finding_events(task, cycle, history.findings, update)
    return [*events, new_event("phase.finished", result, run=task.run, cycle=cycle)]


def delta_since(setup: TaskSetup, history: History, cycle: int, phase: str) -> Change | None:
    """What changed since that phase last looked, or None in the first cycle."""
    for earlier in range(cycle - 1, 0, -1):
        record = history.finished(earlier, phase)
        work = history.tip(earlier)
        if record and work:
            try:
                delta = setup.workspace.changes(work.result.tree, setup.head().tree)
            except PhaseFailed as error:
                if error.code != ErrorCode.GIT_ERROR:
                    raise
                continue  # that tree was lost: an earlier one may still be there
            began = record.result.base_tree if isinstance(record.result, ReviewResult) else ""
            return _without_target(setup, began, delta)
    return None


def since_waiver(setup: TaskSetup, history: History) -> Callable[[Waiver], Change | None]:
    """For a waiver, the change since the code that the person saw; all of the change if that code was lost."""
    changes: dict[str, Change] = {}

    def since(waiver: Waiver) -> Change | None:
        work = history.tip(waiver.cycle)
        tree = waiver.tree or (work.result.tree if work else "")
        if tree not in changes:
            changes[tree] = _since_tree(setup, history, waiver.cycle, tree)
        return changes[tree]

    return since


def _since_tree(setup: TaskSetup, history: History, cycle: int, tree: str) -> Change:
    try:
        delta = setup.workspace.changes(tree or setup.base.tree, setup.head().tree)
    except PhaseFailed as error:
        if error.code != ErrorCode.GIT_ERROR:
            raise
        return setup.workspace.changes(setup.base.tree, setup.head().tree)
    review = history.review(cycle)
    return _without_target(setup, review.result.base_tree if review else "", delta)


def _without_target(setup: TaskSetup, began: str, delta: Change) -> Change:
    """The delta without changes that only came from the target branch, when a person merged it."""
    if began in ("", setup.base.tree):
        return delta
    theirs = {file.path for file in setup.workspace.changes(began, setup.base.tree).files}
    ours = {file.path for file in setup.workspace.changes(setup.base.tree, delta.new_tree).files}
    return replace(delta, files=tuple(f for f in delta.files if f.path in ours or f.path not in theirs))


def remember(deps: Deps, task: Task, cycle: int, comparisons: tuple[Comparison, ...]) -> None:
    """Store the comparisons beside the journal: a review after a restart needs them."""
    deps.task_files.stamp(task, f"checks-{task.run}-{cycle}", json.dumps(encode(comparisons)))


def remembered(deps: Deps, task: Task, cycle: int) -> tuple[Comparison, ...]:
    text = deps.task_files.stamp(task, f"checks-{task.run}-{cycle}")
    try:
        return tuple(decode(Comparison, c) for c in json.loads(text)) if text else ()
    except ValueError:
        return ()  # a loss of power tore the file; the journal has the results that decide


def check_record(comparison: Comparison) -> CheckRecord:
    """A check that ran; names up to a limit, the counts are of all."""
    report = comparison.report
    counts, base_tests = report.counts, comparison.base_tests
    return CheckRecord(
        name=report.name,
        check=report.name,
        command=report.command,
        status=report.status,
        seconds=round(report.seconds, 3),
        exit_code=report.exit_code,
        blocking=report.blocking,
        counts=RecordedCounts(counts.total, counts.passed, counts.failed, counts.skipped) if counts else None,
        new=tuple(f.name for f in comparison.new[:MOST_NAMES]),
        new_count=len(comparison.new),
        new_messages={f.name: f.message[:MAX_MESSAGE_LENGTH] for f in comparison.new[:MOST_NAMES]},
        old=tuple(f.name for f in comparison.old[:MOST_NAMES]),
        old_count=len(comparison.old),
        fixed=comparison.fixed[:MOST_NAMES],
        fixed_count=len(comparison.fixed),
        problems=len(comparison.new_remarks),
        broken=comparison.broken,
        baseline=comparison.baseline is not None,
        uncountable=comparison.uncountable,
        partial=report.partial,
        flaky=report.flaky[:MOST_NAMES],
        error=report.error,
        tail=report.tail,
        output_path=report.output_path,
        evidence=report.evidence,
        base_failures=tuple(f.name for f in base_tests.failures[:MOST_NAMES]) if base_tests else (),
        base_note=base_tests.note if base_tests else "",
    )


def check_not_run(spec: CheckSpec) -> CheckRecord:
    """A check that had nothing to look at."""
    why = f"no changed file matches {', '.join(spec.paths)}"
    return CheckRecord(spec.name, spec.name, spec.words, NOT_RUN, why, blocking=spec.blocking)


def flaky_warning(name: str) -> str:
    return f"Flaky: {name} failed and then passed on the same commit, so the change is not blamed for it."


def _tests_not_run(comparisons: tuple[Comparison, ...], skipped_specs: list[CheckSpec]) -> list[str]:
    """A change of files that several parts share can be outside of all their `paths`."""
    names = [spec.name for spec in skipped_specs if is_test(spec.name)]
    if not names or any(is_test(one.report.name) for one in comparisons):
        return []
    return [no_test_was_run(names)]


def _tests_of_change(setup: TaskSetup, comparisons: tuple[Comparison, ...], *, is_all: bool) -> TestsOfChange | None:
    """The tests of the changed files; None if all were run, or if there are too many. `is_all`: all checks ran."""
    unrun, partly_unrun = dict(setup.policy.unrun_files), dict(setup.policy.partly_unrun_files)
    reports = [one.report for one in comparisons if one.report.name != "lint"]
    results = {file.path: file for one in reports for file in sorted(one.test_files, key=lambda file: file.run)}
    skip_count = sum(one.counts.skipped for one in reports if one.counts and not one.test_files)
    may_lack = bool(unrun or partly_unrun or skip_count) or any(file.skipped for file in results.values())
    # A file that no report names may be run by a check that reports no files, or reports them from another folder.
    # Without any tests, burnish warns, and nothing waits.
    is_complete = is_all and bool(reports) and all(one.test_files and not one.partial for one in reports)
    if not (may_lack or is_complete):
        return None
    files = setup.workspace.files(setup.head().sha)
    paths = [path for path in files if path in unrun or is_test_file(path) or path.endswith("conftest.py")]
    is_complete = is_complete and results.keys() <= set(files)
    may_lack = may_lack or any(path.endswith("conftest.py") or path not in results for path in paths if is_complete)
    if not may_lack or len(paths) > MAX_TEST_FILES:
        return None
    contents = setup.workspace.read(setup.head().sha, paths)
    texts = {path: (data or b"")[:MAX_TEST_BYTES].decode("utf-8", "replace") for path, data in contents.items()}
    change = setup.workspace.changes(setup.base.tree, setup.head().tree)
    return TestsOfChange(change, texts, unrun, partly_unrun, results, is_complete=is_complete, skip_count=skip_count)


def _packed_copies(setup: TaskSetup) -> tuple[str, ...]:
    head = setup.head()
    paths = setup.workspace.files(head.sha)
    if not has_archives(paths):
        return ()
    return packed_copies(
        setup.workspace.changes(setup.base.tree, head.tree), paths, partial(setup.workspace.read, head.sha)
    )


def warnings(setup: TaskSetup, comparisons: tuple[Comparison, ...]) -> list[str]:
    """What a reader must not mistake for a clean result."""
    messages = [f"{c.uncountable}: {INDISTINGUISHABLE}." for c in comparisons if c.uncountable]
    if not any(is_test(s.name) for s in setup.policy.checks):
        messages.append(NO_TESTS)
    messages += [c.retried_note for c in comparisons if c.retried_note]
    messages += [f"{c.output_note}." for c in comparisons if c.output_note]
    messages += [c.base_tests.note for c in comparisons if c.base_tests and c.base_tests.note]
    messages += [f"{c.report.name} could not be run: {c.report.error}" for c in comparisons if c.report.error]
    flaky = [name for c in comparisons for name in c.report.flaky]
    messages += [flaky_warning(name) for name in flaky[:MOST_NAMES]]
    unknown = [c.report.name for c in comparisons if c.baseline is None]
    if unknown:
        messages.append(f"No baseline for {', '.join(unknown)}: old failures cannot be distinguished from new ones.")
    return messages


# -- flakes ---------------------------------------------------------------------------------------
# New failures are run again before the change is blamed for them.


@dataclass(frozen=True, slots=True)
class Rerun:
    """Where and how checks run a second time, and the tree and environment of the baseline to compare with."""

    place: CheckPlace
    out_dir: Path
    env: Mapping[str, str]
    base_tree: str
    base_environment: str


def excuse_flaky(
    deps: Deps,
    task: Task,
    specs: Sequence[CheckSpec],
    reports: Sequence[CheckReport],
    again: Rerun,
    *,
    change: Change,
) -> tuple[CheckReport, ...]:
    """The reports without new failures that pass again, unless the change touches the test or its traceback."""
    checks = deps.checks(task.id)
    final_reports = []
    for spec, report in zip(specs, reports, strict=True):
        baseline = deps.event_log.baseline(again.base_tree, spec.words, again.base_environment)
        new = checks.compare(report, baseline).new
        if report.status is not CheckStatus.FAILED or not 0 < len(new) <= MAX_RERUN:
            final_reports.append(report)
            continue
        suspects = [failure for failure in new if not is_blamed(failure, change)]
        names = _passing_again(deps, task, spec, report, suspects, again) if suspects else ()
        final_reports.append(without_flaky(report, names))
    return tuple(final_reports)


def _passing_again(
    deps: Deps,
    task: Task,
    spec: CheckSpec,
    report: CheckReport,
    suspects: Sequence[TestFailure],
    again: Rerun,
) -> frozenset[str]:
    count = f"{len(suspects)} new failure{'' if len(suspects) == 1 else 's'}"
    deps.progress.note(f"Task {task.id}: running {count} of {spec.name} again…")
    checks = deps.checks(task.id)
    return checks.flaky_failures(spec, report, suspects, place=again.place, out_dir=again.out_dir, env=again.env)
