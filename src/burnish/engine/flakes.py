"""New failures are run again before the change is blamed for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from burnish.core.change import Change
from burnish.core.check import CheckReport, CheckStatus, TestFailure
from burnish.core.flaky import MOST_RERUN, is_blamed, without_flaky
from burnish.core.policy import CheckSpec
from burnish.core.task import Task
from burnish.engine.ports import Checks, Deps


def excuse_flaky(
    deps: Deps,
    task: Task,
    specs: Sequence[CheckSpec],
    reports: Sequence[CheckReport],
    *,
    base_tree: str,
    change: Change,
    cwd: Path,
    out_dir: Path,
    env: Mapping[str, str],
) -> tuple[CheckReport, ...]:
    """The reports without new failures that pass again, unless the change touches the test or its traceback."""
    checks = deps.checks(task.id)
    settled = []
    for spec, report in zip(specs, reports, strict=True):
        new = checks.compare(report, deps.book.baseline(base_tree, spec.words)).new
        if report.status is not CheckStatus.FAILED or not 0 < len(new) <= MOST_RERUN:
            settled.append(report)
            continue
        suspects = [failure for failure in new if not is_blamed(failure, change)]
        names = _passing_again(deps, checks, task, spec, report, suspects, cwd, out_dir, env) if suspects else ()
        settled.append(without_flaky(report, names))
    return tuple(settled)


def _passing_again(
    deps: Deps,
    checks: Checks,
    task: Task,
    spec: CheckSpec,
    report: CheckReport,
    suspects: Sequence[TestFailure],
    cwd: Path,
    out_dir: Path,
    env: Mapping[str, str],
) -> frozenset[str]:
    count = f"{len(suspects)} new failure{'' if len(suspects) == 1 else 's'}"
    deps.progress.note(f"Task {task.id}: running {count} of {spec.name} again…")
    return checks.passing_again(spec, report, suspects, cwd=cwd, out_dir=out_dir, env=env)
