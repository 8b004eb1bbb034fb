"""If the target moved since the approval: runs the checks, or a review, on the merge of both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from burnish.adapters.agents import StopTokens
from burnish.core.agent import Use
from burnish.core.check import CheckReport, CheckStatus, Comparison
from burnish.core.commit import Base
from burnish.core.event import Event, RecordedEvent
from burnish.core.flow import WorkStep, next_step
from burnish.core.journal_events import ApprovalVoided, DecisionMade, RunStarted, new_event
from burnish.core.policy import Policy
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.engine.checking import Rerun, excuse_flaky
from burnish.engine.loop import disk_trouble, run_task
from burnish.engine.ports import CheckedCommit, Deps, Progress
from burnish.engine.task_setup import TaskSetup, baseline_environment, capture_baseline, isolation_env
from burnish.engine.transitions import judge_again_on_new_base, status_events
from burnish.errors import Refused
from burnish.features.merge.plan import MergeCandidate, MergePlan, Target
from burnish.git.merge import overlap, touched
from burnish.git.objects import read_commit
from burnish.git.owned_files import plain_tree
from burnish.git.refs import update_ref
from burnish.proc.identity import hold
from burnish.runtime.ports import deps_for, registered_runner, sandbox_policy_of
from burnish.runtime.requests import RunRequest
from burnish.runtime.signals import stopping_on_signals

if TYPE_CHECKING:
    from burnish.runtime.app import App


@dataclass(frozen=True, slots=True)
class NotesOnly:
    """Reports notes, but no events."""

    inner: Progress

    def event(self, task: Task, event: RecordedEvent) -> None:
        """Not shown."""

    def output(self, task_id: int, line: str) -> None:
        self.inner.output(task_id, line)

    def spent(self, task_id: int, use: Use) -> None:
        self.inner.spent(task_id, use)

    def note(self, text: str) -> None:
        self.inner.note(text)


@contextmanager
def working(app: App, progress: Progress) -> Iterator[Deps]:
    """What the engine needs to run checks and reviewers, with a way to stop them."""
    stops = StopTokens()
    app.trust.require()
    sandbox_policy_of(app).require()
    with disk_trouble(), hold(app.locks) as lock, stopping_on_signals(stops, progress.note):
        try:
            with registered_runner(app.store, lock) as runner:
                yield deps_for(app, RunRequest(), progress, stops, runner)
        finally:
            if stops.asked:
                # The user stopped it: ignore the results of stopped checks.
                raise KeyboardInterrupt


def why_not_clear(app: App, deps: Deps, candidate: MergeCandidate, target: Target, plan: MergePlan) -> str | None:
    """Why checks alone do not settle it; None if no path was touched by both sides and nothing new fails."""
    sides = (read_commit(app.repo, candidate.approval.base), target.now)
    began, there = (plain_tree(app.repo, commit.tree) for commit in sides)
    theirs = touched(app.repo, began, there)
    both = sorted(overlap(touched(app.repo, began, candidate.approval.tree), theirs))
    if both:
        return f"{target.name} has changed {', '.join(both[:3])} as well"
    # a person's command holds no claim, and a task that is rechecked is not being run
    deps = replace(deps, event_log=app.event_log, progress=NotesOnly(deps.progress))
    now = Base(target.now.sha, there, target.name)
    red = failing(deps, candidate.task, app.policy(candidate.task), now, plan.commit, began=began)
    return f"{target.name} has moved, and {red}" if red else None


def failing(deps: Deps, task: Task, policy: Policy, base: Base, commit: str, *, began: str) -> str | None:
    """The checks that fail on the commit, except those whose failures are all old; None if there are none.

    `began` is the tree from which the task started: failures that only the new target has are not accepted.
    """
    specs = [s for s in policy.checks if not (task.spec.skip_tests and s.name == "test")]
    if not specs:
        return "no check can test both together"
    site = TaskSetup(task.id, policy, base, deps.repository.workspace(task))
    deps.progress.note(f"Task {task.id}: {base.target} has moved, running the checks on both together…")
    capture_baseline(deps, task, site)
    checks, out_dir = deps.checks(task.id), deps.task_files.out_dir(task, task.cycle, "merge")
    merged_commit, start = (site.workspace.plain(one) for one in (commit, base.commit))
    tree, env = CheckedCommit(merged_commit, start, f"{task.name}-merge"), isolation_env(policy, task, "merge")
    environment = baseline_environment(deps, site)
    with checks.on(specs, tree, out_dir=out_dir, env=env) as place:
        reports = checks.run(specs, place=place, out_dir=out_dir, env=env)
        again = Rerun(place, out_dir, env, base.tree, environment)
        change = site.workspace.changes(base.tree, commit)
        reports = excuse_flaky(deps, task, specs, reports, again, change=change)
    red = []
    for spec, report in zip(specs, reports, strict=True):
        before = (deps.event_log.baseline(tree, spec.words) for tree in (base.tree, began))
        if report.blocking and not _clear(report, [checks.compare(report, one) for one in before]):
            red.append(report.name)
    return f"{', '.join(red)} fail on both together" if red else None


def _clear(report: CheckReport, comparisons: list[Comparison]) -> bool:
    """True if it passed, or if each failing case failed on both sides before. An exit code alone does not count."""
    if report.status is CheckStatus.PASSED:
        return comparisons[0].clean
    return report.has_cases and all(one.clean and not one.uncountable for one in comparisons)


def review_together(app: App, deps: Deps, candidate: MergeCandidate, target: Target, plan: MergePlan, why: str) -> Task:
    """Merge the target into the task's branch, and review the result in a new cycle without author work."""
    task = candidate.task
    deps.progress.note(f"Task {task.id}: {why}, so both together are reviewed.")
    update_ref(app.repo, candidate.ref, plan.commit, candidate.tip)
    if not deps.event_log.claim_with(task.id, *_events(app, candidate, target, plan, why)):
        raise Refused(f"Another process runs task {task.id}.", hint="Wait until it ends: `burnish status`.")
    try:
        return run_task(replace(deps, stopping=lambda number: _needs_author(app, number)), deps.event_log.task(task.id))
    finally:
        deps.event_log.release(task.id)


def _needs_author(app: App, number: int) -> bool:
    """Run one review only; `burnish run` does the requested changes."""
    history = app.event_log.history(number)
    return isinstance(next_step(history, app.policy(history.task)), WorkStep)


def _events(app: App, candidate: MergeCandidate, target: Target, plan: MergePlan, why: str) -> list[Event]:
    task, history = candidate.task, app.event_log.history(candidate.task.id)
    run_data = RunStarted(task.run, base=target.now.sha)
    decision_data = DecisionMade(action="again", by=app.person, why=why, supersede=("review",))
    return [
        new_event("approval.voided", ApprovalVoided(why, tree=plan.tree), run=task.run, cycle=task.cycle),
        new_event("run.started", run_data, run=task.run, cycle=task.cycle),
        *judge_again_on_new_base(history, plan.commit, plan.tree, why),
        new_event("decision.made", decision_data, run=task.run, cycle=history.cycle + 1),
        status_events(task, Status.CODE_REVIEW, note=why),
    ]
