"""`burnish init --try`: run the set-up and every check once on the newest commit, and tell what came of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.config.policy import checks_for
from burnish.core.check import CheckReport
from burnish.core.error_lines import first_error, last_lines
from burnish.git.base import resolve_base
from burnish.proc.folders import private_folder
from burnish.wiring.app import App
from burnish.wiring.checkout import setting_of
from burnish.wiring.confining import confinement_of
from burnish.wiring.helpers import Stops, TaskChecks
from burnish.wiring.reader import refuse_inside_phase
from burnish.wiring.signals import stopping_on_signals

SETUP_SECONDS = 1200.0
SETUP = "set-up"


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


@dataclass(frozen=True, slots=True)
class Trial:
    commit: str
    steps: tuple[TrialStep, ...]

    @property
    def usable(self) -> bool:
        return all(step.usable for step in self.steps)

    @property
    def has_tests(self) -> bool:
        return any(step.name == "test" or step.name.endswith("-test") for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        return {
            "commit": self.commit,
            "usable": self.usable,
            "steps": [
                {
                    "name": step.name,
                    "usable": step.usable,
                    "result": step.words,
                    "seconds": round(step.seconds, 1),
                    "hint": step.hint,
                    "output": step.output,
                }
                for step in self.steps
            ],
        }


def try_out(start: Path, *, tell: Callable[[str], None]) -> Trial:
    """Needs a trusted checkout; nothing of it is changed. `tell` hears what runs now."""
    refuse_inside_phase()
    app = App.open(start, flags={})
    app.trust.require()
    confinement = confinement_of(app)
    confinement.insist()
    base = resolve_base(app.repo, app.config.workspace.base)
    stops = Stops()
    private_folder(app.locks)
    lock, cap = app.locks / f"try-{app.key}", int(app.config.output_cap_mb * 1024 * 1024)
    checks = TaskChecks(app.repo.root, stops.of(0), lock, cap, confinement=confinement)
    with stopping_on_signals(stops, tell):
        return Trial(base.commit, tuple(_steps(app, checks, base.commit, tell)))


def _steps(app: App, checks: TaskChecks, commit: str, tell: Callable[[str], None]) -> list[TrialStep]:
    out_dir = app.home / "projects" / app.key / "try"
    shutil.rmtree(out_dir, ignore_errors=True)
    specs = checks_for(app.config, app.detected_at(commit).specs, skip_tests=False)
    steps: list[TrialStep] = []
    with app.code.throwaway(commit, "try") as files:
        if command := app.config.workspace.setup:
            tell(f"Running the set-up: {command if isinstance(command, str) else ' '.join(command)}")
            steps.append(_set_up(checks, command, files, out_dir / "setup", dict(app.config.isolation.env)))
            if not steps[-1].usable:
                return steps
        if specs:
            tell(f"Running the checks: {', '.join(spec.name for spec in specs)}")
            env = dict(app.config.isolation.env)
            steps += map(_checked, checks.run(specs, cwd=files, out_dir=out_dir / "checks", env=env))
    return steps


def _set_up(
    checks: TaskChecks, command: str | tuple[str, ...], files: Path, out_dir: Path, env: dict[str, str]
) -> TrialStep:
    began = time.monotonic()
    code, tail = checks.set_up(command, cwd=files, out_dir=out_dir, timeout=SETUP_SECONDS, env=env)
    seconds = time.monotonic() - began
    if code == 0:
        return TrialStep(SETUP, True, "done", seconds)
    words = f"failed with exit code {code}: {first_error(tail) or 'it printed nothing'}"
    hint = "Correct workspace.setup in burnish.yaml, then: burnish init --try"
    return TrialStep(SETUP, False, words, seconds, hint, last_lines(tail))


def _checked(report: CheckReport) -> TrialStep:
    if report.unknown:
        cause = first_error(report.tail)
        why = report.error.strip() or f"exit code {report.exit_code}"
        why = why if not cause or cause in why else f"{why.rstrip('.')}: {cause}"
        words = f"cannot be run: {why}"
        hint = f"Correct {setting_of(report.name)} in burnish.yaml or install what it needs, then: burnish init --try"
        return TrialStep(report.name, not report.blocking, words, report.seconds, hint, last_lines(report.tail))
    return TrialStep(report.name, True, _result(report), report.seconds)


def _result(report: CheckReport) -> str:
    counts = report.counts
    if counts is None:
        failed = f"fails with exit code {report.exit_code}" if report.exit_code else "fails"
        return "passes" if report.status == "passed" else f"{failed} before any task: {first_error(report.tail)}"
    tests = f"{counts.total:,} test{'' if counts.total == 1 else 's'}"
    if not counts.failed:
        return f"{tests} ran, none failed" if counts.total else "ran, and found no tests"
    return f"{tests} ran, {counts.failed:,} failed: they fail before any task and are not blamed on one"
