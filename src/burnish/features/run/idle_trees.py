"""Clean trees of tasks that are not being run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from burnish.core.flow import RUNNING
from burnish.core.status import Status

if TYPE_CHECKING:
    from burnish.runtime.app import App


def remove_idle_trees(app: App) -> None:
    """Remove what a killed run or an earlier version of burnish left; a run removes its own trees when it ends."""
    folders = [app.home / kind / app.key for kind in ("snapshots", "throwaway")]
    names = [entry.name.lstrip(".") for folder in folders if folder.is_dir() for entry in os.scandir(folder)]
    numbers = {int(start) for name in names if (start := name.partition("-")[0]).isdecimal()}
    if not numbers:
        return
    for task in app.store.tasks(app.key, ids=sorted(numbers), brief=True):
        if task.status not in RUNNING and task.status is not Status.BACKLOG:
            app.repository.remove_trees(task)
