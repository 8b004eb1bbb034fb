"""burnish status, burnish list"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.paint import coloured, columns, say, say_json
from burnish.cli.session import AsJson, open_reader

if TYPE_CHECKING:
    from burnish.core.task import Task
    from burnish.wiring import Reader

NO_TASKS = 'No tasks yet. Add one: burnish add "What is to be done"'


def status(as_json: AsJson = False) -> None:
    """Show every task on one line, and what to do next."""
    reader, tasks = _tasks()
    if as_json:
        _say_tasks(tasks)
        return
    from burnish.cli.board import board, closing_line

    if not tasks:
        say(NO_TASKS)
        return
    on = coloured(sys.stdout)
    for line in board(tasks, room=columns(sys.stdout), colour=on, alive=_alive(reader)):
        say(line)
    say("")
    say(closing_line(tasks))


def list_tasks(
    wanted: Annotated[
        list[str] | None, typer.Option("--status", metavar="STATUS", help="Only these; may be repeated.")
    ] = None,
    ready: Annotated[bool, typer.Option("--ready", help="Only what `run` would start now.")] = False,
    blocked: Annotated[bool, typer.Option("--blocked", help="Only what needs a person.")] = False,
    agent: Annotated[str | None, typer.Option("--agent", metavar="A", help="Only tasks of this agent.")] = None,
    as_json: AsJson = False,
) -> None:
    """List tasks, all or some."""
    from burnish.cli.board import board, pick

    reader, everything = _tasks()
    tasks = pick(everything, statuses=wanted or [], ready=ready, blocked=blocked, agent=agent)
    if as_json:
        _say_tasks(tasks)
    elif tasks:
        room, on = columns(sys.stdout), coloured(sys.stdout)
        for line in board(tasks, room=room, colour=on, among=everything, alive=_alive(reader)):
            say(line)
    else:
        say("No task is like that. `burnish list` shows all." if everything else NO_TASKS)


def _tasks() -> tuple[Reader, list[Task]]:
    reader = open_reader()
    return reader, reader.store.tasks(reader.key, brief=True) if reader.project else []


def _alive(reader: Reader) -> Callable[[str], bool]:
    """Does the runner that holds a task still live? If not, the task was interrupted."""
    from burnish.proc.identity import is_dead

    return lambda runner: not is_dead(reader.home / "locks", runner)


def _say_tasks(tasks: list[Task]) -> None:
    from burnish.views import task_json

    say_json({"tasks": [task_json(task) for task in tasks]})
