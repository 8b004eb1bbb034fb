"""burnish edit, rm, cancel, done"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from burnish.cli import questions
from burnish.cli.output import say, say_json, tell, titled
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, TaskId, open_app
from burnish.core.decision import needs_description
from burnish.core.override import OverrideReasons
from burnish.core.status import Status
from burnish.core.task import Item, Task, task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.runtime import App


@questions.with_grounds
def edit(
    task: TaskId,
    title: Annotated[str | None, Option("--title", metavar="TEXT", help="Set the title.")] = None,
    description: Annotated[
        str | None, Option("-d", "--description", metavar="TEXT", help="Set the description.")
    ] = None,
    scope: Annotated[str | None, Option("--scope", metavar="TEXT", help="Set the scope.")] = None,
    accept: Annotated[
        list[str] | None, Option("--accept", metavar="TEXT", help="Replace the acceptance criteria; repeatable.")
    ] = None,
    item: Annotated[
        list[str] | None, Option("--item", metavar="TEXT", help="Replace the checklist; repeatable.")
    ] = None,
    tick: Annotated[list[int] | None, Option("--tick", metavar="N", help="Mark checklist item N as done.")] = None,
    untick: Annotated[
        list[int] | None, Option("--untick", metavar="N", help="Mark checklist item N as not done.")
    ] = None,
    priority: Annotated[
        int | None, Option("--priority", metavar="N", help="Set the priority; a higher N runs first.")
    ] = None,
    agent: Annotated[
        str | None, Option("--agent", metavar="AGENT", help="Set the agent; `default`: from the settings.")
    ] = None,
    model: Annotated[
        str | None, Option("--model", metavar="MODEL", help="Set the model; `default`: from the settings.")
    ] = None,
    max_cycles: Annotated[
        int | None, Option("--max-cycles", min=1, metavar="N", help="Run at most N review cycles.")
    ] = None,
    depends_on: Annotated[
        list[str] | None,
        Option("--depends-on", metavar="ID", help="Replace the dependencies; repeatable; `none` removes all."),
    ] = None,
    tags: Annotated[
        list[str] | None, Option("--tag", metavar="TAG", help="Replace the tags; repeatable; `none` removes all.")
    ] = None,
    needs: Annotated[
        list[str] | None,
        Option("--needs", metavar="LABEL", help="Replace the labels that a worker must offer; `none` removes all."),
    ] = None,
    in_archive: Annotated[
        bool | None,
        Option("--archive/--no-archive", help="Leave a finished task out of lists and the board, or show it again."),
    ] = None,
    status: Annotated[
        str | None, Option("--status", metavar="backlog", help="Move the task back to the backlog.")
    ] = None,
    verdict: Annotated[
        str | None, Option("--verdict", metavar="APPROVED", help="Approve against the review; needs --reason.")
    ] = None,
    grounds: OverrideReasons | None = None,
    as_json: AsJson = False,
) -> None:
    """Change the text, limits, agent or status of a task.

    A change of the requirements (title, description, scope, criteria, checklist) voids the approval.
    --verdict APPROVED changes the task and approves it against its review in one step. To approve without changing
    the task, use `burnish override`, or `burnish decide` if it waits for approval.
    """
    from burnish.features.tasks.edit import edit_task

    _person_decides()  # criteria and cycles are what a task is judged by
    number = task_id(task)
    if verdict is not None:
        if verdict.upper() != "APPROVED":
            raise BadInput(
                f"The verdict cannot be set to {verdict!r}.", hint="Use --verdict APPROVED with --reason TEXT."
            )
        if grounds is None and not questions.on_terminal():
            raise BadInput("An override needs a reason.", hint='Add --reason "why the review is wrong".')
    app = open_app()
    changes: dict[str, Any] = {
        "title": title,
        "description": description,
        "scope": scope,
        "criteria": tuple(accept) if accept else None,
        "checklist": _checklist(app, number, item, tick or [], untick or []),
        "priority": priority,
        "max_cycles": max_cycles,
        "depends_on": _ids(depends_on) if depends_on else None,
        "tags": (() if tags == ["none"] else tuple(tags)) if tags else None,
        "needs": (() if needs == ["none"] else tuple(needs)) if needs else None,
        "archived": in_archive,
    }
    changes = {key: value for key, value in changes.items() if value is not None}
    changes |= {key: _or_default(value) for key, value in (("agent", agent), ("model", model)) if value is not None}
    if not changes and status is None and verdict is None:
        raise BadInput("No change given.", hint="`burnish edit --help` lists what can be changed.")
    if verdict is None:
        before, task_after = app.store.task(app.key, number), edit_task(app, number, changes, status=status)
        _report(task_after, "Changed", as_json)
        if task_after.status is Status.CODE_REVIEW is not before.status:
            tell(f"  No longer approved: {task_after.note}. To review it again: burnish run {number}")
        elif task_after.status is Status.BLOCKED and needs_description(task_after.reason, task_after.note):
            tell(f"  Next: burnish retry {number}")
        return
    from burnish.features.decide import decisions as people

    view = people.check_override(app, number)
    grounds = grounds or questions.ask()
    # what is accepted is the work for the task as it will read
    edit_task(app, number, changes, status=status)
    _report(people.override(app, number, grounds, commit=view.commit), "Changed", as_json)


def rm(task: TaskId, as_json: AsJson = False) -> None:
    """Remove a task from all lists; keep its events and branch.

    Use `burnish cancel` to stop a task and keep it listed, `burnish clean` to free disk space.
    """
    from burnish.features.tasks.edit import remove_task

    _person_decides()
    _report(remove_task(open_app(), task_id(task)), "Removed", as_json)


def cancel(task: TaskId, as_json: AsJson = False) -> None:
    """Stop work on a task and mark it as cancelled.

    `burnish edit TASK --status backlog` restores it. Use `burnish rm` to remove it from the lists.
    """
    from burnish.features.tasks.edit import cancel_task

    _person_decides()
    _report(cancel_task(open_app(), task_id(task)), "Cancelled", as_json)


@questions.with_grounds
def done(
    task: TaskId,
    grounds: OverrideReasons | None = None,
    as_json: AsJson = False,
) -> None:
    """Close a task that you merged yourself or that needs no merge.

    `burnish merge` closes the tasks that it merges. On a task that is not approved, this is an override and needs
    a reason; to approve it without closing it, use `burnish override`.
    """
    _person_decides()
    from burnish.features.decide import decisions as people

    app, number = open_app(), task_id(task)
    if grounds is None and questions.on_terminal() and people.done_overrides(app, number):
        grounds = questions.ask()
    _report(people.done(app, number, grounds), "Closed", as_json)


def _person_decides() -> None:
    """An agent may not decide on its own work."""
    from burnish import runtime

    runtime.refuse_inside_phase()


def _report(task: Task, what: str, as_json: bool) -> None:
    if as_json:
        from burnish.views.status import task_json

        say_json(task_json(task))
    else:
        say(titled(f"{what} task {task.id}: ", task.spec.title, f" ({task.status})"))


def _checklist(
    app: App, number: int, items: list[str] | None, tick: Sequence[int], untick: Sequence[int]
) -> tuple[Item, ...] | None:
    if not (items or tick or untick):
        return None
    from burnish.runtime.tasks import ticked

    new_items = tuple(Item(text) for text in items or ())
    return ticked(new_items or app.store.task(app.key, number).spec.checklist, tick, untick)


def _ids(words: list[str]) -> tuple[int, ...]:
    return () if words == ["none"] else tuple(dict.fromkeys(task_id(word) for word in words))


def _or_default(name: str) -> str | None:
    return None if name in ("", "default") else name
