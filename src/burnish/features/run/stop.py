"""`burnish stop`: end runs, or one task of a run, from another terminal. The work is kept.

A request is a file in the burnish home, which the run looks for twice a second.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.task import Task
from burnish.errors import NotFound
from burnish.runtime.reader import refuse_inside_phase

if TYPE_CHECKING:
    from burnish.runtime.app import App


@dataclass(frozen=True, slots=True)
class StopReport:
    # cards of the runs that end
    runners: tuple[dict[str, Any], ...] = ()
    task: Task | None = None


def stop(app: App, task_id: int | None = None) -> StopReport:
    """Ask the runs of this project to end, or the run of one task to let go of it. Raises if nothing is running."""
    refuse_inside_phase()
    if task_id is not None:
        task = app.store.task(app.key, task_id)
        if not task.runner or app.event_log.is_dead(task.runner):
            raise NotFound(f"Task {task_id} is not being run.", hint="`burnish status` shows what runs.")
        _write(_task_request(app.home, app.key, task_id))
        return StopReport(task=task)
    busy_runners = {task.runner for task in app.store.tasks(app.key, brief=True) if task.runner}
    cards = [card for card in app.store.runners() if card.get("project") == app.key or card["id"] in busy_runners]
    alive = tuple(card for card in cards if not app.event_log.is_dead(str(card["id"])))
    if not alive:
        raise NotFound("No run of this project is under way.", hint="`burnish status` shows its tasks.")
    for card in alive:
        _write(_runner_request(app.home, str(card["id"])))
    return StopReport(runners=alive)


def take_request(home: Path, runner: str) -> bool:
    """Whether somebody asked this run to end."""
    return _take(_runner_request(home, runner))


def take_task_requests(home: Path, project: str, running: Collection[int]) -> list[int]:
    """The tasks of this run that somebody asked to stop."""
    return [task_id for task_id in sorted(running) if _take(_task_request(home, project, task_id))]


def _runner_request(home: Path, runner: str) -> Path:
    return home / "stop" / f"run-{runner}"


def _task_request(home: Path, project: str, task_id: int) -> Path:
    return home / "stop" / f"task-{project}-{task_id}"


def _write(path: Path) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.touch(mode=0o600)


def _take(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
