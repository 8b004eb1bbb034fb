"""burnish show"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import clean, coloured, columns, say, say_json, tell
from burnish.cli.parameters import Argument
from burnish.cli.session import AsJson, limits_of_tasks, offer_tasks, open_app, open_reader
from burnish.core.task import task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.core.commit import TargetConflict
    from burnish.runtime import Reader

_POINTER = re.compile(r"(?:review-cycle|feedback)://[Tt]?([0-9]+)/([A-Za-z0-9][A-Za-z0-9._-]*)")
# spec-kitty's own: feature, work package, file
_LEGACY = re.compile(r"feedback://((?:[A-Za-z0-9][A-Za-z0-9._-]*/){2}[A-Za-z0-9][A-Za-z0-9._-]*)")


def show(
    task: Annotated[
        str,
        Argument(
            metavar="TASK",
            help="The task, or an artifact: review-cycle://29/review-cycle-2.md.",
            show_default=False,
            autocompletion=offer_tasks,
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Show one task with its cycles, checks and findings.

    With the address of an artifact, print that artifact. Use `burnish diff` for the change, and `burnish log` for the
    output.
    """
    if "://" in task:
        _artifact(task, as_json)
        return
    from burnish.views.task import show_json

    number = task_id(task)
    reader = open_reader()
    if reader.project is None:
        raise reader.unknown_project(f"There is no task {number}.")
    if _was_removed(reader, number):
        raise BadInput(f"Task {number} was removed.", hint=f"Its events are kept: burnish events {number}")
    limit_of = limits_of_tasks(reader) or (lambda task: None)
    story = show_json(reader.store, reader.key, number, reader.alive, limit_of)
    if story["type"] == "plan":
        # what the agent planned; "plan" is what the task was given
        story["plan_text"] = _plan(number)
    if as_json:
        say_json(story)
        return
    from burnish.cli.pager import paged
    from burnish.cli.show_page import page

    conflict = _conflict(reader, number) if story["status"] == "verified" else None
    with paged():
        for line in page(story, room=columns(sys.stdout), colour=coloured(sys.stdout), conflict=conflict):
            say(line)


def _conflict(reader: Reader, number: int) -> TargetConflict | None:
    from burnish.runtime.target_conflicts import find_conflicts

    rows = [reader.project] if reader.project else []
    return find_conflicts(reader.home, reader.store, rows, is_here=True).get((reader.key, number))


def _plan(number: int) -> str | None:
    from burnish.errors import NotFound
    from burnish.features.tasks.inspect import artifact

    try:
        return artifact(open_app(reading=True), number, "plan.md").decode(errors="replace")
    except NotFound:
        return None


def _was_removed(reader: Reader, number: int) -> bool:
    if reader.store.tasks(reader.key, ids=[number], brief=True):
        return False
    return any(event.type == "task.removed" for event in reader.store.events(reader.key, task=number))


def _artifact(pointer: str, as_json: bool) -> None:
    from burnish.features.tasks.inspect import artifact, spec_kitty_feedback

    match, legacy = _POINTER.fullmatch(pointer), _LEGACY.fullmatch(pointer)
    if legacy:
        data = spec_kitty_feedback(open_app(reading=True), legacy[1])
    elif match:
        data = artifact(open_app(reading=True), task_id(match[1]), match[2])
        _warn_of_damage(match[2], data)
    else:
        raise BadInput(f"Invalid artifact {pointer!r}.", hint="Write it like review-cycle://29/review-cycle-2.md")
    if as_json:
        say_json({"ref": pointer, "text": data.decode(errors="replace")})
    elif sys.stdout.isatty():
        from burnish.cli.pager import paged

        with paged():
            say(clean(data.decode(errors="replace")).rstrip("\n"))
    else:
        sys.stdout.buffer.write(data)


def _warn_of_damage(name: str, data: bytes) -> None:
    """Warn if the artifact is damaged; it is printed anyway."""
    from burnish.review.artifact import MalformedArtifact, cycle_of, parse_artifact

    if cycle_of(name) is None:
        return
    try:
        parse_artifact(data.decode(errors="replace"), name)
    except MalformedArtifact as damage:
        tell(f"{damage.what} {damage.hint}")
