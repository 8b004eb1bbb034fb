"""What must be there before an agent is called: the agents themselves, and checks that can be run."""

from __future__ import annotations

from burnish.core.check import CheckReport
from burnish.core.error_lines import last_lines
from burnish.core.policy import CheckSpec, Policy, setting_of
from burnish.core.status import ErrorCode
from burnish.core.task import Task, TaskType
from burnish.engine.ports import Deps
from burnish.errors import PhaseFailed


def refuse_missing_agents(deps: Deps, task: Task, policy: Policy) -> None:
    """Raise AGENT_MISSING while nothing has been paid for yet: the author and the reviewers must be startable."""
    if task.commit:
        return
    names: list[str] = []
    if task.spec.type is not TaskType.REVIEW:
        names += [policy.agent]
    if task.spec.type is not TaskType.PLAN and (policy.review_required or policy.review_enabled):
        names += [one.agent for one in policy.reviewers]
        names += [one.agent for step in policy.pipeline for one in step.reviewers]
    for name in dict.fromkeys(names):
        if problem := deps.missing_agent(name):
            raise problem


def usable_checks(
    deps: Deps, task: Task, specs: tuple[CheckSpec, ...], at_base: dict[str, CheckReport | None]
) -> tuple[CheckSpec, ...]:
    """The checks that can be run; raises CHECK_ERROR for one that cannot be run at the base either.

    A linter that was only found, and a check that does not block, is left out with a note.
    """
    usable = []
    for spec in specs:
        report = at_base.get(spec.name)
        if report is None or not report.unknown:
            usable.append(spec)
        elif not spec.blocking or (spec.found and spec.name.endswith("lint")):
            deps.progress.note(
                f"Task {task.id}: {spec.name} is left out, `{spec.words}` cannot be run: {report.why_unknown}"
            )
        else:
            raise _unusable(spec, report)
    return tuple(usable)


def _unusable(spec: CheckSpec, report: CheckReport) -> PhaseFailed:
    if report.hint:
        hint = f"{report.hint}; then `burnish retry`."
    elif spec.found:
        # with `auto`, the set-up that `init` would write has been run already
        ways = (
            f"set workspace.setup and {setting_of(spec.name)} (`burnish init` writes what was found, to be corrected)"
        )
        hint = f"Install what it needs, or {ways}; then `burnish retry`."
    else:
        hint = f"Correct {setting_of(spec.name)} in burnish.yaml or install what it needs, then `burnish retry`."
    return PhaseFailed(
        ErrorCode.CHECK_ERROR,
        f"The check {spec.name} (`{spec.words}`) cannot be run on the base commit: {report.why_unknown}",
        hint=hint,
        output=last_lines(report.tail),
    )
