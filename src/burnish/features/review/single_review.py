"""One review as a step of its own, whatever comes after it: what another program asks for over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from burnish.adapters.agents import StopTokens
from burnish.core.agent import Use
from burnish.core.event import RecordedEvent
from burnish.core.journal import read
from burnish.core.journal_events import ReviewCompleted
from burnish.core.review import Verdict
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import Refused
from burnish.features.run.run import run_tasks
from burnish.features.tasks.edit import review_again
from burnish.runtime.requests import RunRequest

if TYPE_CHECKING:
    from burnish.runtime.app import App

APPROVED, REJECTED, FAILED = "approved", "rejected", "failed"


@dataclass(frozen=True, slots=True)
class _UntilDecided:
    """Stops the run before the decision, since the caller decides what follows."""

    stops: StopTokens
    task: int

    def event(self, task: Task, event: RecordedEvent) -> None:
        if task.id == self.task and event.type == "decision.made":
            self.stops.of(self.task).request()

    def output(self, task_id: int, line: str) -> None:
        return

    def spent(self, task_id: int, use: Use) -> None:
        return

    def note(self, text: str) -> None:
        return


def review_once(app: App, task_id: int, cycle: int) -> str:
    """Review a task in `code_review`, in this cycle; returns `approved`, `rejected` or `failed`."""
    task = app.store.task(app.key, task_id)
    if task.status is not Status.CODE_REVIEW:
        raise Refused(f"Task {task_id} is {task.status}, not in code_review.", hint="Ask when its work is done.")
    if cycle != task.cycle:
        raise Refused(f"Task {task_id} is in cycle {task.cycle}, not in {cycle}.", hint="Ask for the one it is in.")
    review_again(app, task_id)
    since, stops = app.store.last_event(app.key), StopTokens()
    run_tasks(app, RunRequest(ids=(task_id,)), _UntilDecided(stops, task_id), stops=stops)
    return _came_to(app.store.events(app.key, task=task_id, since=since))


def in_three(verdict: str | None) -> str:
    """The verdict as approved, rejected or failed; an unreadable review is `failed`."""
    return FAILED if verdict is None else APPROVED if verdict == Verdict.APPROVED else REJECTED


def _came_to(events: list[RecordedEvent]) -> str:
    """The result of the review; failed checks before it count as rejected."""
    reviews = [event for event in events if event.type == "review.completed"]
    if reviews:
        return in_three(read(ReviewCompleted, reviews[-1].data).verdict)
    return REJECTED if any(event.type == "review.rejected" for event in events) else FAILED
