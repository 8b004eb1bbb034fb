"""Before a phase that costs money: is there any left?"""

from __future__ import annotations

from burnish.core.budget import overspent, task_limits
from burnish.core.flow import ReviewStep, Step, WorkStep
from burnish.core.history import History
from burnish.core.journal_events import BudgetNotice, new_event
from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.engine.attribution import author_of
from burnish.engine.metering import warn
from burnish.engine.ports import Deps
from burnish.engine.reviewing import panel_for
from burnish.engine.task_setup import TaskSetup
from burnish.engine.transitions import status_events, verdict_when_stopped


def exceeded_limit(deps: Deps, setup: TaskSetup, history: History, step: Step) -> bool:
    """Blocked, with all that was done kept, where a budget is reached; a warning where it nearly is."""
    if not isinstance(step, WorkStep | ReviewStep):
        return False
    task = history.task
    limits = (*task_limits(task, setup.policy), *deps.budget_tracker.limits(_agents(setup, step)))
    why = overspent(limits)
    if why:
        stop_for_budget(deps, task, step.cycle, why)
        return True
    warn(deps, task, step.cycle, limits)
    return False


def stop_for_budget(deps: Deps, task: Task, cycle: int, why: str) -> Task:
    """A person decides whether it is worth more."""
    budget_event = new_event("budget.reached", BudgetNotice(why), run=task.run, cycle=cycle)
    final = verdict_when_stopped(deps.event_log.history(task.id))
    return deps.record(
        task, budget_event, status_events(task, Status.BLOCKED, reason=Reason.BUDGET, note=why, final_verdict=final)
    )


def _agents(setup: TaskSetup, step: WorkStep | ReviewStep) -> list[str]:
    if isinstance(step, WorkStep):
        return [author_of(setup, step)[0]]
    return [spec.agent for spec in panel_for(setup.policy, step.step).reviewers]
