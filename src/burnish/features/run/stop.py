"""`burnish stop`: end runs, or one task of a run, from another terminal. The work is kept.

A request is a file in the burnish home, which the run looks for twice a second. Its name contains the id of the run,
so that it never stops a later one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
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
    """Ask the runs of this project to end, or to let go of one task. Raises if nothing is running."""
    refuse_inside_phase()
    if task_id is not None:
        task = app.store.task(app.key, task_id)
        if not task.runner or app.event_log.is_dead(task.runner):
            raise NotFound(f"Task {task_id} is not being run.", hint="`burnish status` shows what runs.")
        # to all runs, since another one would continue the task at once; to the one that has it last, since it lets go
        others = {str(card["id"]) for card in _live_runs(app)} - {task.runner}
        for runner in [*sorted(others), task.runner]:
            _ask(app, runner, task_id)
        return StopReport(task=task)
    alive = _live_runs(app)
    if not alive:
        raise NotFound("No run of this project is under way.", hint="`burnish status` shows its tasks.")
    for card in alive:
        _ask(app, str(card["id"]))
    return StopReport(runners=alive)


def _ask(app: App, runner: str, task_id: int = 0) -> None:
    """Ask a run to end, or to let go of a task: by a file, or through the database if it is another machine's."""
    card = app.store.runner(runner) or {}
    if app.store.is_shared and (card.get("kind") or not (app.locks / f"runner-{runner}").exists()):
        app.store.request_stop(f"{runner}/{app.key}", task_id)
    else:
        _write(_task_request(app.home, runner, task_id) if task_id else _runner_request(app.home, runner))


def _live_runs(app: App) -> tuple[dict[str, Any], ...]:
    busy_runners = {task.runner for task in app.store.tasks(app.key, brief=True) if task.runner}
    cards = [
        card
        for card in app.store.runners()
        if card.get("project") == app.key or app.key in card.get("projects", ()) or card["id"] in busy_runners
    ]
    return tuple(card for card in cards if not app.event_log.is_dead(str(card["id"])))


def take_request(home: Path, runner: str) -> bool:
    """Whether somebody asked this run to end."""
    return _take(_runner_request(home, runner))


def take_task_requests(home: Path, runner: str) -> list[int]:
    """The tasks that this run is asked to stop, or not to start."""
    paths: list[Path] = []
    with suppress(OSError):
        paths = [path for path in (home / "stop").iterdir() if path.name.startswith(f"task-{runner}-")]
    numbers = [path.name.rpartition("-")[2] for path in paths if _take(path)]
    return sorted(int(number) for number in numbers if number.isdecimal())


def remove_old_requests(home: Path, is_dead: Callable[[str], bool]) -> None:
    """Remove the requests to runs that have ended without taking them."""
    with suppress(OSError):
        for path in (home / "stop").iterdir():
            # run-RUNNER, task-RUNNER-NUMBER
            runner = path.name.partition("-")[2]
            runner = runner.rpartition("-")[0] if path.name.startswith("task-") else runner
            if not runner.isalnum() or is_dead(runner):
                _take(path)


def _runner_request(home: Path, runner: str) -> Path:
    return home / "stop" / f"run-{runner}"


def _task_request(home: Path, runner: str, task_id: int) -> Path:
    return home / "stop" / f"task-{runner}-{task_id}"


def _write(path: Path) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.touch(mode=0o600)


def _take(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
