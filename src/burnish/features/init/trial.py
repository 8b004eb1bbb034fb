"""`burnish init --try`: runs the set-up and every check once on the newest commit, and reports the results."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.adapters.agents import StopTokens, TaskChecks
from burnish.adapters.checks.environments import command_words
from burnish.adapters.checks.last_results import SETUP, record_result
from burnish.adapters.task_files import HomeTaskFiles
from burnish.config.policy import checks_for
from burnish.core.check import INDISTINGUISHABLE, CheckReport, CheckStatus
from burnish.core.commit import Base
from burnish.core.error_lines import first_error, last_lines
from burnish.core.policy import CheckSpec, fill_isolation_env, is_test, setting_of
from burnish.core.status import ErrorCode
from burnish.engine.ports import CheckedCommit
from burnish.errors import PhaseFailed
from burnish.git.base import resolve_base
from burnish.proc.folders import private_folder
from burnish.runtime.app import App
from burnish.runtime.ports import sandbox_policy_of, tree_checks
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.signals import stopping_on_signals


@dataclass(frozen=True, slots=True)
class TrialStep:
    """The set-up or one check: did it work, in one line, and what to do if not."""

    name: str
    usable: bool
    words: str
    seconds: float
    hint: str = ""
    # the end of what it printed, where it did not work
    output: str = ""
    # it can be used, though it fails before any task
    red: bool = False


@dataclass(frozen=True, slots=True)
class TrialReport:
    commit: str
    steps: tuple[TrialStep, ...]

    @property
    def usable(self) -> bool:
        return all(step.usable for step in self.steps)

    @property
    def has_tests(self) -> bool:
        return any(is_test(step.name) for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        return {
            "commit": self.commit,
            "usable": self.usable,
            "steps": [
                {
                    "name": step.name,
                    "usable": step.usable,
                    "red": step.red,
                    "result": step.words,
                    "seconds": round(step.seconds, 1),
                    "hint": step.hint,
                    "output": step.output,
                }
                for step in self.steps
            ],
        }


def try_out(start: Path, *, tell: Callable[[str], None]) -> TrialReport:
    """Try the settings in a trusted checkout, without changing it. `tell` is called with the name of each step."""
    refuse_inside_phase()
    app = App.open(start, flags={})
    app.trust.require()
    confinement = sandbox_policy_of(app)
    confinement.require()
    base = resolve_base(app.repo, app.config.workspace.base)
    stops = StopTokens()
    private_folder(app.locks)
    lock, cap = app.locks / f"try-{app.key}", int(app.config.output_cap_mb * 1024 * 1024)
    task_files = HomeTaskFiles(app.home / "projects" / app.key / "tasks", app.locks, stops.everything)
    trees = tree_checks(app, confinement.sandbox, task_files.lock)
    checks = TaskChecks(trees, app.repo.root, stops.of(0), lock, cap, confinement=confinement)
    with stopping_on_signals(stops, tell):
        return TrialReport(base.commit, tuple(_steps(app, checks, base, tell)))


def _steps(app: App, checks: TaskChecks, base: Base, tell: Callable[[str], None]) -> list[TrialStep]:
    commit = base.commit
    out_dir = app.home / "projects" / app.key / "try"
    shutil.rmtree(out_dir, ignore_errors=True)
    specs = checks_for(app.config, app.detected_at(commit).specs, skip_tests=False)
    steps: list[TrialStep] = []
    tree = CheckedCommit(commit, commit, "try")
    if specs and (setup := app.setup_at(commit)):
        tell(f"Running the set-up: {command_words(setup)}")
        steps.append(_set_up(checks, specs, tree, out_dir / "setup"))
        if not steps[-1].usable:
            return steps
    if specs:
        tell(f"Running the checks: {', '.join(spec.name for spec in specs)}")
        env = fill_isolation_env(app.config.isolation.env.items(), task="try", agent="try", cycle=0)
        with checks.on(specs, tree, out_dir=out_dir / "checks", env=env) as place:
            reports = checks.run(specs, place=place, out_dir=out_dir / "checks", env=env)
            final_reports = [
                checks.confirm_failures(spec, report, place=place, out_dir=out_dir / "checks", env=env)
                for spec, report in zip(specs, reports, strict=True)
            ]
        steps += map(_checked, final_reports)
        for spec, step in zip(specs, steps[-len(specs) :], strict=True):
            problem = "" if step.usable else step.words
            record_result(app.home, app.key, spec.name, command=spec.words, commit=commit, problem=problem)
        if app.config.checks.where == "clean":
            # the first run compares with this, and does not run the checks on the base again
            environment = checks.environment(specs, tree, out_dir=out_dir / "setup")
            for spec, report in zip(specs, final_reports, strict=True):
                app.event_log.save_baseline(base.tree, spec.words, environment, report, place.origins)
    return steps


def _set_up(checks: TaskChecks, specs: Sequence[CheckSpec], tree: CheckedCommit, out_dir: Path) -> TrialStep:
    began = time.monotonic()
    try:
        environment = checks.prepared(specs, tree, out_dir=out_dir)
    except PhaseFailed as failed:
        if failed.code is ErrorCode.INTERRUPTED:
            raise
        words = failed.what.removeprefix("workspace.setup ")
        hint = "Correct workspace.setup in burnish.yaml, then: burnish init --try"
        return TrialStep(SETUP, False, words, time.monotonic() - began, hint, failed.output)
    words = "done" if environment.layer else f"not needed, the checks use {environment.description}"
    return TrialStep(SETUP, True, words, time.monotonic() - began)


def _checked(report: CheckReport) -> TrialStep:
    if report.unknown:
        words = f"cannot be run: {report.why_unknown}"
        ways = report.hint or f"Correct {setting_of(report.name)} in burnish.yaml or install what it needs"
        hint = f"{ways}, then: burnish init --try"
        return TrialStep(report.name, not report.blocking, words, report.seconds, hint, last_lines(report.tail))
    if is_test(report.name) and report.status is CheckStatus.FAILED and not report.counts and not report.failures:
        hint = (
            f"No test ran or was reported. Correct {setting_of(report.name)} in burnish.yaml, then: burnish init --try"
        )
        usable = not report.blocking
        return TrialStep(report.name, usable, _result(report), report.seconds, hint, last_lines(report.tail))
    if why := _proves_nothing(report):
        hint = f"Correct {setting_of(report.name)} or workspace.setup in burnish.yaml, then: burnish init --try"
        return TrialStep(report.name, not report.blocking, why, report.seconds, hint, last_lines(report.tail))
    return TrialStep(report.name, True, _result(report), report.seconds, red=report.status is not CheckStatus.PASSED)


def _proves_nothing(report: CheckReport) -> str:
    """Why this result would be the same for every change, "" if it would not."""
    counts = report.counts
    if counts is None:
        return ""
    if not counts.total:
        return "ran, and found no tests"
    cause = first_error(report.tail)
    what = f"all {counts.failed:,} tests failed" if counts.failed > 1 else "no test could be run"
    return f"{what}: {cause}" if report.nothing_passes else ""


def _result(report: CheckReport) -> str:
    counts = report.counts
    if counts is None:
        failure = f"fails with exit code {report.exit_code}" if report.exit_code else "fails"
        return "passes" if report.status == "passed" else f"{failure} before any task: {first_error(report.tail)}"
    count = counts.total - counts.skipped
    tests = f"{count:,} test{'' if count == 1 else 's'}"
    # Some projects skip tests on CI, or without a variable such as DATABASE_URL.
    skips = f", {counts.skipped:,} skipped (checks run with CI=1 and isolation.env)" if counts.skipped else ""
    if not counts.failed and report.status is CheckStatus.FAILED:
        cause = (
            f"{tests} ran, none failed{skips}, and the command fails with exit code {report.exit_code} before any task"
        )
        return f"{cause}: {INDISTINGUISHABLE}, so approvals wait for a person"
    if not counts.failed:
        return f"{tests} ran, none failed{skips}"
    before = f"{tests} ran, {counts.failed:,} failed{skips}"
    if why := report.what_hides_failures:
        return f"{before} before any task, and {why}: {INDISTINGUISHABLE}, so approvals wait for a person"
    return f"{before}: they fail before any task, so no task is blamed for them"
