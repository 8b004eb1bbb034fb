"""Which tasks wait for the reset of a usage limit."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from burnish.core.agent import UsageLimit
from burnish.core.journal import read
from burnish.core.journal_events import PhaseProgress
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.store import Store


def waiting_tasks(store: Store, tasks: Iterable[Task], now: datetime) -> dict[tuple[str, int], UsageLimit]:
    """The limit that each running phase has reported to wait for, by project and number of the task.

    Events are read only while there is a limit: a reading command must start fast.
    """
    limits = {limit.until: limit for limit in store.usage_limits() if limit.end > now}
    found: dict[tuple[str, int], UsageLimit] = {}
    for task in tasks if limits else ():
        if task.status not in (Status.IN_PROGRESS, Status.CODE_REVIEW) or not task.phase_started:
            continue
        for event in store.events(task.project, task=task.id, types=["phase.progress"]):
            until = read(PhaseProgress, event.data).until
            if event.ts >= task.phase_started and until in limits:
                found[task.project, task.id] = limits[until]
    return found
