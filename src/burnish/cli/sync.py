"""burnish sync"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import count, one_line, pad, say, say_json, tell, width
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, open_app
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.features.sync.sync import SharedTask


def sync(
    action: Annotated[str | None, Argument(metavar="[list|show]", help="The action; share if omitted.")] = None,
    name: Annotated[str | None, Argument(metavar="MACHINE/ID", help="With show: the task.")] = None,
    remote: Annotated[
        str | None, Option("--remote", metavar="NAME", help="Share through NAME (default: origin, or the only one).")
    ] = None,
    fetch: Annotated[bool, Option("--fetch", help="Fetch tasks of other machines; push nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Share tasks, reviews and events through the git remote.

    Pushes those of this machine to refs/burnish/MACHINE/story, and fetches those of others, which can only be read.
    list and show use what the last sync fetched. Branches are pushed with `burnish pr` or `git push`.
    """
    from burnish.features.sync.sync import shared_task, shared_tasks
    from burnish.features.sync.sync import sync as synchronise
    from burnish.runtime import refuse_inside_phase

    if action not in (None, "list", "show"):
        raise BadInput(f"Unknown action {action!r}.", hint="Choose from: list, show. Without one, tasks are shared.")
    if action == "show" and not name:
        raise BadInput("Missing argument 'MACHINE/ID'.", hint="`burnish sync list` lists the tasks.")
    if action != "show" and name:
        raise BadInput(f"Unexpected argument {name!r}.", hint="Only `burnish sync show` takes a task.")
    if action is None:
        refuse_inside_phase()
    app = open_app()
    if action == "list":
        _list(shared_tasks(app), as_json)
    elif action == "show":
        task, reviews = shared_task(app, str(name))
        if as_json:
            say_json({**task.as_json(), "reviews": reviews})
            return
        say(f"{task.name} {task.text('title')}")
        say(f"  {_state(task)}")
        for text in reviews.values():
            say("")
            say(text)
    else:
        report = synchronise(app, remote, fetch_only=fetch)
        if as_json:
            say_json(report.as_json())
            return
        if not fetch:
            what = f"{count(report.tasks, 'task')} to {report.remote}" if report.is_new else "nothing new"
            say(f"Pushed: {what}, as {report.machine}.")
        machines = len({task.machine for task in report.others})
        say(f"Fetched: {count(len(report.others), 'task')} of {count(machines, 'other machine')}.")
        if report.others:
            tell("  See them: burnish sync list")


def _list(tasks: tuple[SharedTask, ...], as_json: bool) -> None:
    if as_json:
        say_json({"tasks": [task.as_json() for task in tasks]})
    elif not tasks:
        say("No tasks of other machines. Fetch them: burnish sync --fetch")
    else:
        width_of_names = max(width(task.name) for task in tasks)
        for task in tasks:
            say(f"{pad(task.name, width_of_names)}  {_state(task)}  {one_line(task.text('title'))}")


def _state(task: SharedTask) -> str:
    words = (task.text("status"), task.text("reason"), task.text("final_verdict"), task.text("updated_at")[:16])
    return "  ".join(word for word in words if word)
