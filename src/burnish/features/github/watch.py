"""`burnish pr watch`: synchronises pull requests, has findings fixed, and pushes what is approved again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from burnish.core.status import Status
from burnish.errors import BurnishError
from burnish.features.github.post import post_review
from burnish.features.github.sync import SyncedPull, sync_pulls
from burnish.features.merge.pull_request import open_pull_request
from burnish.features.run.run import run_tasks
from burnish.runtime.requests import RunRequest

if TYPE_CHECKING:
    from burnish.engine.ports import Progress
    from burnish.runtime.app import App

READY = frozenset({Status.IN_PROGRESS, Status.CODE_REVIEW})


def watch_pulls(
    app: App,
    task_id: int | None,
    *,
    seconds: float,
    runs: bool,
    progress: Callable[[], Progress],
    note: Callable[[str], None],
    report: Callable[[SyncedPull], None],
    end: threading.Event | None = None,
) -> None:
    """Return when no pull request is open any more; with `end`, when that is set.

    `runs`: have findings fixed here, not by another run.
    """
    while True:
        try:
            pulls = sync_pulls(app, task_id)
        except BurnishError as error:
            if error.exit_code != BurnishError.exit_code:
                raise
            # no network, or GitHub has a bad moment
            note(f"{error.what} Trying again in {seconds:g} s.")
        else:
            for pull in pulls:
                report(pull)
                _follow_up(app, pull, runs=runs, progress=progress, note=note)
            if end is None and not any(pull.state == "OPEN" for pull in pulls):
                return
        if end is None:
            time.sleep(seconds)
        elif end.wait(seconds):
            return


def _follow_up(
    app: App, pull: SyncedPull, *, runs: bool, progress: Callable[[], Progress], note: Callable[[str], None]
) -> None:
    number = pull.task.id
    if pull.state != "OPEN":
        return
    try:
        if runs and pull.task.status in READY and not _is_held(app, number):
            run_tasks(app, RunRequest(ids=(number,)), progress=progress())
        task, approval = app.store.task(app.key, number), app.store.approval(app.key, number)
        if task.status is Status.VERIFIED and approval and approval.commit != pull.head:
            open_pull_request(app, number, draft=False)
            post_review(app, number)
            note(f"Task {number}: pushed {approval.commit[:12]} to the pull request.")
    except BurnishError as error:
        note(f"Task {number}: {error.what} {error.hint}".rstrip())


def _is_held(app: App, number: int) -> bool:
    runner = app.store.task(app.key, number).runner
    return bool(runner) and not app.event_log.is_dead(str(runner))
