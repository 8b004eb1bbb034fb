"""burnish comment"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import one_line, say, say_json, tell
from burnish.cli.parameters import Argument, Option
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
    at: Annotated[
        str, Option("--at", metavar="FILE[:LINE[-LINE]]", help="Comment on a file or on lines of the change.")
    ] = "",
    on: Annotated[str, Option("--on", metavar="FINDING", help="Reply to a finding; its state stays.")] = "",
    as_json: AsJson = False,
) -> None:
    """Add a remark that the author settles in its next improve phase.

    The comment is a finding with an id. A task that runs reads it in its next improve phase, and is not approved
    before. A task that is approved, or waits for approval, is opened again: its approval is void.

    Use `burnish improve TASK -m TEXT` to start the work at once, and `burnish waive` to accept the finding.
    """
    from burnish import runtime
    from burnish.features.tasks.edit import comment_on, reply_to_finding

    runtime.refuse_inside_phase()
    app, number = open_app(), task_id(task)
    before = app.store.task(app.key, number)
    if at and on:
        raise BadInput("--at and --on cannot be used together.", hint="A reply is where its finding is.")
    words = _from_stdin() if text == "-" else text
    finding = reply_to_finding(app, number, on, words) if on else comment_on(app, number, words, at=at)
    after = app.store.task(app.key, number)
    if as_json:
        from burnish.views.task import ruled_json

        say_json(ruled_json(finding, after))
        return
    if on:
        say(f"Replied to {finding.id} of task {number}: {one_line(finding.remark.title)}")
        return
    say(f"Commented on task {number}: {finding.id} {one_line(finding.remark.title)}")
    tell(f"  {_outlook(before, after, finding.id)}")


def _from_stdin() -> str:
    if sys.stdin.isatty():
        raise BadInput("The comment is empty.", hint='Give its text: burnish comment TASK "…"')
    return sys.stdin.buffer.read().decode(errors="replace")


def _outlook(before: Task, after: Task, finding_id: str) -> str:
    """What happens with the comment, and what to type."""
    from burnish.views.status import stands

    if before.status is not after.status:
        effect = "its approval is void" if before.status is Status.VERIFIED else "it no longer waits for approval"
        return f"Task {after.id} was {before.status} and is open again: {effect}. Continue: burnish run {after.id}"
    if after.status in RUNNING and after.runner:
        return f"Task {after.id} is being run. Its next improve phase settles {finding_id}."
    verb = "run" if after.status is Status.IN_PROGRESS else "improve"
    has_work = after.commit not in (None, after.base)
    verb = "retry" if after.status is Status.FAILED or not has_work else verb
    verb = "unpause" if after.is_paused else verb
    return f"Task {after.id} {stands(after.status)}. Settle {finding_id}: burnish {verb} {after.id}"
