"""burnish comment"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import one_line, say, say_json, tell
from burnish.cli.parameters import Argument
from burnish.cli.session import AsJson, TaskId, open_app
from burnish.core.flow import RUNNING
from burnish.core.status import Status
from burnish.core.task import task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.core.task import Task


def comment(
    task: TaskId,
    text: Annotated[
        str, Argument(metavar="[TEXT]", help="What to change; - or nothing reads it from stdin.", show_default=False)
    ] = "-",
    as_json: AsJson = False,
) -> None:
    """Add a remark that the author settles in its next improve phase.

    The comment is a finding with an id. A task that runs reads it in its next improve phase, and is not approved
    before. A task that is approved, or waits for approval, is opened again: its approval is void.

    Use `burnish improve TASK -m TEXT` to start the work at once, and `burnish waive` to accept the finding.
    """
    from burnish import runtime
    from burnish.features.tasks.edit import comment_on

    runtime.refuse_inside_phase()
    app, number = open_app(), task_id(task)
    before = app.store.task(app.key, number)
    finding = comment_on(app, number, _from_stdin() if text == "-" else text)
    after = app.store.task(app.key, number)
    if as_json:
        from burnish.views.task import ruled_json

        say_json(ruled_json(finding, after))
        return
    say(f"Commented on task {number}: {finding.id} {one_line(finding.remark.title)}")
    tell(f"  {_outlook(before, after, finding.id)}")


def _from_stdin() -> str:
    if sys.stdin.isatty():
        raise BadInput("The comment is empty.", hint='Give its text: burnish comment TASK "…"')
    return sys.stdin.buffer.read().decode(errors="replace")


def _outlook(before: Task, after: Task, finding_id: str) -> str:
    """What happens with the comment, and what to type."""
    if before.status is not after.status:
        effect = "its approval is void" if before.status is Status.VERIFIED else "it no longer waits for approval"
        return f"Task {after.id} was {before.status} and is open again: {effect}. Continue: burnish run {after.id}"
    if after.status in RUNNING and after.runner:
        return f"Task {after.id} is being run. Its next improve phase settles {finding_id}."
    verb = "run" if after.status is Status.IN_PROGRESS else "improve"
    has_work = after.commit not in (None, after.base)
    verb = "retry" if after.status is Status.FAILED or not has_work else verb
    verb = "unpause" if after.is_paused else verb
    return f"Task {after.id} is {after.status}. Settle {finding_id}: burnish {verb} {after.id}"
