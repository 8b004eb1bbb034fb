"""The Python API: `import burnish`. Everything else in this package is private."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from burnish.core.event import RecordedEvent
from burnish.core.finding import Finding
from burnish.core.gate import GateChoice, GateDecision
from burnish.core.status import Status
from burnish.core.task import Item, Spec, Task, TaskType
from burnish.errors import BadInput, BurnishError
from burnish.runtime.reader import refuse_inside_phase

if TYPE_CHECKING:
    from burnish.core.agent import Use
    from burnish.runtime.app import App

__all__ = [
    "BurnishError",
    "ChangeReview",
    "Event",
    "Finding",
    "Project",
    "Status",
    "Task",
    "open_project",
]

Event = RecordedEvent


@dataclass(frozen=True, slots=True)
class ChangeReview:
    """The review of a change without a task."""

    # approved, changes_requested, needs_discussion or rejected; None: nothing to review, or no readable reply
    verdict: str | None
    # whether nothing blocks the change
    passed: bool
    summary: str
    findings: tuple[Finding, ...]
    # what a person should know about the review
    notes: tuple[str, ...]


class ProjectHandle:
    """A repository with its tasks. Use it in a `with` statement, or call `close`."""

    def __init__(self, app: App, path: Path) -> None:
        self._app, self._path = app, path

    def __enter__(self) -> ProjectHandle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._app.store.close()

    @property
    def root(self) -> Path:
        return self._app.trust.found.root

    def add(
        self,
        title: str,
        description: str = "",
        *,
        type: str = "implement",
        criteria: Iterable[str] = (),
        checklist: Iterable[str] = (),
        scope: str = "",
        depends_on: Iterable[int] = (),
        priority: int = 0,
        tags: Iterable[str] = (),
        agent: str | None = None,
        base: str | None = None,
        max_cycles: int | None = None,
        auto_review: bool | None = None,
    ) -> Task:
        """Add a task to the backlog."""
        from burnish.runtime.tasks import add_task

        refuse_inside_phase()
        if type not in list(TaskType):
            raise BadInput(f"{type!r} is not a type of task.", hint=f"The types are: {', '.join(TaskType)}.")
        spec = Spec(
            title,
            description,
            TaskType(type),
            scope=scope,
            criteria=tuple(criteria),
            checklist=tuple(Item(text) for text in checklist),
            depends_on=tuple(depends_on),
            priority=priority,
            tags=tuple(tags),
            agent=agent,
            base_ref=base,
            max_cycles=max_cycles,
            auto_review=auto_review,
        )
        return add_task(self._app, spec)

    def tasks(self) -> list[Task]:
        return self._app.store.tasks(self._app.key)

    def task(self, id: int) -> Task:
        """The task as it is now. Raises a BurnishError if there is none."""
        return self._app.store.task(self._app.key, id)

    def run(self, *ids: int, jobs: int = 1, on_note: Callable[[str], None] | None = None) -> list[Task]:
        """Run these tasks, or all that are ready, until each is approved or needs a person; the tasks afterwards."""
        from burnish.features.run.run import run_tasks
        from burnish.runtime.requests import RunRequest

        request = RunRequest(ids=ids, everything=not ids, jobs=jobs)
        return list(run_tasks(self._app, request, _Notes(on_note or (lambda text: None))).tasks)

    def findings(self, id: int) -> tuple[Finding, ...]:
        """All findings of a task; those that are open have `alive`."""
        self.task(id)
        return self._app.store.findings(self._app.key, id)

    def events(self, *, task: int | None = None, since: int = 0) -> Sequence[Event]:
        """Events after the one with this id, oldest first."""
        from burnish.views.task import recorded_events

        return recorded_events(self._app.store, self._app.key, task, since=since)

    def decide(self, id: int, choice: str, note: str = "", *, commit: str = "") -> Task:
        """Decide a task that waits for approval: approve, reject, fix or skip. `commit`: refuse if it has moved."""
        from burnish.features.decide.decisions import decide

        refuse_inside_phase()
        if choice not in list(GateChoice):
            raise BadInput(f"{choice!r} is not a decision.", hint=f"Choose from: {', '.join(GateChoice)}.")
        return decide(self._app, id, GateDecision(GateChoice(choice), note, commit), via="api")

    def review(
        self, change: str | None = None, *, agents: Sequence[str] = (), tests: bool | None = None
    ) -> ChangeReview:
        """Review a commit or a range (`A...B`) without a task. None: uncommitted work, else the branch."""
        from burnish.adapters.agents import StopTokens
        from burnish.features.review.adhoc_review import ReviewTarget, review_change

        target = ReviewTarget("rev" if change else "auto", change or "", None)
        flags = {"review": {"agents": list(agents)}} if agents else {}
        result = review_change(
            self._path, target, flags=flags, tests=tests, stop=StopTokens().of(0), say=lambda text: None
        )
        panel = result.panel
        return ChangeReview(
            verdict=result.verdict.value if result.verdict else None,
            passed=result.passed and not result.could_not_start,
            summary=(panel.summary or panel.why) if panel else "",
            findings=result.findings,
            notes=result.notes,
        )


# the public name; inside of burnish, `Project` is the git directory of a repository
Project = ProjectHandle


@dataclass(frozen=True, slots=True)
class _Notes:
    """The progress of a run: only its notes are passed on, as events are read from the log."""

    say: Callable[[str], None]

    def event(self, task: Task, event: RecordedEvent) -> None: ...
    def output(self, task_id: int, line: str) -> None: ...
    def spent(self, task_id: int, use: Use) -> None: ...
    def note(self, text: str) -> None:
        self.say(text)


def open_project(path: str | os.PathLike[str] = ".") -> ProjectHandle:
    """Open the repository that contains `path`. burnish learns of it if it is new."""
    from burnish.runtime import open_app

    start = Path(path).resolve()
    return ProjectHandle(open_app(start), start)
