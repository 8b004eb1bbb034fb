"""Filters for tasks: by status, dependencies, agent and text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BadInput

MET = (Status.VERIFIED, Status.COMPLETED)


def unmet_among(tasks: Sequence[Task]) -> Callable[[Task], list[int]]:
    """A function that returns the unmet dependencies of a task."""
    met_ids = {task.id for task in tasks if task.status in MET}
    return lambda task: [other for other in task.spec.depends_on if other not in met_ids]


def search(tasks: Sequence[Task], words: str) -> list[Task]:
    """Tasks with every word in their title or branch. A number, `29` or `T29`, selects that task."""
    terms = words.casefold().split()
    if len(terms) == 1 and terms[0].removeprefix("t").isdecimal():
        return [task for task in tasks if str(task.id) == terms[0].removeprefix("t") or terms[0] in _text(task)]
    return [task for task in tasks if _holds(_text(task), terms)]


def mentioning(tasks: Sequence[Task], words: str) -> list[Task]:
    """Tasks whose texts, including the long ones, contain every word."""
    terms = words.casefold().split()
    return [task for task in tasks if _holds(_whole(task), terms)]


def _holds(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)


def _whole(task: Task) -> str:
    spec = task.spec
    items = (item.text for item in spec.checklist)
    texts = (str(task.id), spec.title, spec.description, spec.scope, spec.plan, *spec.criteria, *items, task.note)
    return "\n".join(texts).casefold()


def _text(task: Task) -> str:
    return f"{task.spec.title} {task.branch or ''}".casefold()


def pick(
    tasks: Sequence[Task],
    *,
    statuses: Sequence[str],
    ready: bool,
    only_blocked: bool,
    agent: str | None,
    can_go_on: Callable[[Task], bool] = lambda task: False,
) -> list[Task]:
    """Tasks that match every filter; `can_go_on` tells which interrupted tasks are ready."""
    for name in statuses:
        if name not in list(Status):
            raise BadInput(f"{name!r} is not a status.", hint=f"The statuses are: {', '.join(Status)}.")
    unmet = unmet_among(tasks)
    return [
        task
        for task in tasks
        if (not statuses or task.status in statuses)
        and (not ready or can_go_on(task) or (task.status is Status.BACKLOG and not task.is_paused and not unmet(task)))
        and (not only_blocked or task.status in (Status.BLOCKED, Status.WAITING_APPROVAL))
        and (agent is None or agent == (task.agent or task.spec.agent))
    ]
