"""One line per project: task counts by status, and what needs a person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from burnish.core.status import Status
from burnish.core.task import Task
from burnish.store import ProjectRow, Store
from burnish.views.board import NONE_WAITING, ORDER, Head, Holders, Waiting, head_of


@dataclass(frozen=True, slots=True)
class ProjectLine:
    key: str
    name: str
    root: str
    # in the order of the board, those that are empty left out
    counts: tuple[tuple[Status, int], ...]
    head: Head
    # when something last happened
    updated_at: str


def project_lines(
    store: Store, projects: Iterable[ProjectRow], holders: Holders, waiting: Waiting = NONE_WAITING
) -> list[ProjectLine]:
    """The projects; those that need a person first, then those with running tasks, then by name."""
    lines = [_line(row, store.tasks(row.key, brief=True), holders, waiting) for row in projects]
    return sorted(lines, key=lambda one: (not one.head.needs_me, not one.head.running, one.name.casefold(), one.key))


def _line(row: ProjectRow, tasks: list[Task], holders: Holders, waiting: Waiting) -> ProjectLine:
    head = head_of(tasks, holders, waiting)
    counts = tuple((status, count) for status in ORDER if (count := head.counts.get(status, 0)))
    newest = max((task.updated_at for task in tasks), default=row.created_at)
    return ProjectLine(row.key, row.name, str(row.root), counts, head, newest)
