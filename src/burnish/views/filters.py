"""Filters for tasks: by status, dependencies, agent, tags, reason, time and text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from burnish.core.status import ErrorCode, Reason, Status
from burnish.core.task import Task, TaskType
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
    texts = (
        str(task.id),
        spec.title,
        spec.description,
        spec.scope,
        spec.plan,
        *spec.criteria,
        *items,
        *spec.tags,
        task.note,
    )
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
    among: Sequence[Task] | None = None,
) -> list[Task]:
    """Tasks that match every filter; `can_go_on` tells which interrupted tasks are ready.

    `among` are all tasks of the project, on which these may depend.
    """
    for name in statuses:
        if name not in list(Status):
            raise BadInput(f"{name!r} is not a status.", hint=f"The statuses are: {', '.join(Status)}.")
    unmet = unmet_among(tasks if among is None else among)
    return [
        task
        for task in tasks
        if (not statuses or task.status in statuses)
        and (not ready or can_go_on(task) or (task.status is Status.BACKLOG and not task.is_paused and not unmet(task)))
        and (not only_blocked or task.status in (Status.BLOCKED, Status.WAITING_APPROVAL))
        and (agent is None or agent == (task.agent or task.spec.agent))
    ]


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """What tasks are narrowed down to. Empty fields do not filter."""

    # each of them is required
    tags: tuple[str, ...] = ()
    # one of them is required
    types: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    # changed since then
    since: datetime | None = None
    # words of all texts; the tasks must not be brief
    text: str = ""
    archived: bool = False

    def check(self) -> None:
        for name, values in (("types", list(TaskType)), ("reasons", [*Reason, *ErrorCode])):
            for word in getattr(self, name):
                if word.casefold() not in [one.casefold() for one in values]:
                    hint = f"Use one of: {', '.join(one.lower() for one in values)}."
                    raise BadInput(f"{word!r} is not a {'type' if name == 'types' else 'reason'}.", hint=hint)


def narrow(tasks: Sequence[Task], criteria: TaskFilter) -> list[Task]:
    """Tasks that match every field. Archived tasks are left out, or are the only ones."""
    criteria.check()
    tags = {tag.strip().removeprefix("#").casefold() for tag in criteria.tags}
    types, reasons = ({word.casefold() for word in words} for words in (criteria.types, criteria.reasons))
    terms = criteria.text.casefold().split()
    return [
        task
        for task in tasks
        if task.is_archived is criteria.archived
        and tags <= set(task.spec.tags)
        and (not types or task.spec.type in types)
        and (not reasons or any(word and word.casefold() in reasons for word in (task.reason, task.error)))
        and (criteria.since is None or datetime.fromisoformat(task.updated_at) >= criteria.since)
        and _holds(_whole(task) if terms else "", terms)
    ]


_AGO = re.compile(r"(\d{1,6})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def since_when(text: str, now: datetime) -> datetime:
    """`12h`, `7d`, `2w`, or a date such as `2026-05-01`."""
    if found := _AGO.fullmatch(text.strip()):
        return now - timedelta(**{_UNITS[found[2]]: int(found[1])})
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(f"{text!r} is not a time.", hint="Use 12h, 7d, 2w or a date such as 2026-05-01.") from None
    return moment if moment.tzinfo else moment.astimezone(UTC)
