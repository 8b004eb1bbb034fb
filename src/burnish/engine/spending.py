"""Before a phase that costs money: is there any left?"""

from __future__ import annotations

from burnish.core.budget import Limit, overspent, task_limits
from burnish.core.event import Event
from burnish.core.flow import DoReview, Step, Work
from burnish.core.history import History
from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.engine.moves import moved
from burnish.engine.ports import Deps
from burnish.engine.reviewing import panel_for
from burnish.engine.site import Site
from burnish.engine.work import author_of


def too_dear(deps: Deps, site: Site, history: History, step: Step) -> bool:
    """Blocked, with all that was done kept, where a budget is reached; a warning where it nearly is."""
    if not isinstance(step, Work | DoReview):
        return False
    task = history.task
    limits = (*task_limits(task, site.policy), *deps.limits(_agents(site, step)))
    why = overspent(limits)
    if why:
        reached = Event("budget.reached", {"why": why}, run=task.run, cycle=step.cycle)
        deps.record(task, reached, moved(task, Status.BLOCKED, reason=Reason.BUDGET, note=why))
        return True
    for limit in limits:
        if limit.near and not _was_told(deps, task, limit):
            data = {"why": limit.words, "budget": limit.name}
            deps.record(task, Event("budget.warned", data, run=task.run, cycle=step.cycle))
    return False


def _agents(site: Site, step: Work | DoReview) -> list[str]:
    if isinstance(step, Work):
        return [author_of(site, step)[0]]
    return [spec.agent for spec in panel_for(site.policy, step.step).reviewers]


def _was_told(deps: Deps, task: Task, limit: Limit) -> bool:
    """Once for each task's own budget, whoever runs it; once in a run for what the run shares."""
    if not limit.name.startswith("budget.task_"):
        # one call that no other thread can come between
        return deps.warned.setdefault(limit.name, task.id) != task.id or _on_record(deps, task, limit)
    return _on_record(deps, task, limit)


def _on_record(deps: Deps, task: Task, limit: Limit) -> bool:
    warned = (e for e in deps.book.events(task.id) if e.type == "budget.warned" and e.run == task.run)
    return any(event.data.get("budget") == limit.name for event in warned)
