"""New failures are run again before the change is blamed for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.core.change import Change
from burnish.core.check import CheckReport, CheckStatus, TestFailure
from burnish.core.flaky import MOST_RERUN, is_blamed, without_flaky
from burnish.core.policy import CheckSpec
from burnish.core.task import Task
from burnish.engine.ports import CheckPlace, Deps


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
        if report.status is not CheckStatus.FAILED or not 0 < len(new) <= MOST_RERUN:
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
