"""burnish diff, burnish path"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated

from burnish.cli.output import clean, coloured, paint, say, say_json, tell
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, TaskId, open_app
from burnish.core.task import task_id


def diff(
    task: TaskId,
    since_review: Annotated[
        bool, Option("--since-review", help="Show only changes made after the last review.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the changes of a task, from its base to its last commit."""
    from burnish.features.tasks.inspect import diff_text

    patch = diff_text(open_app(reading=True), task_id(task), since_review=since_review)
    if as_json:
        say_json({"id": str(task_id(task)), "diff": patch.decode(errors="surrogateescape")})
    elif not patch:
        tell("The task has no changes yet.")
    elif sys.stdout.isatty():
        from burnish.cli.pager import paged

        with paged():
            _show(patch)
    else:
        # Byte for byte: `burnish diff 29 | git apply` must work.
        sys.stdout.buffer.write(patch)


def _show(patch: bytes) -> None:
    on = coloured(sys.stdout)
    for text, tone in toned(clean(patch.decode(errors="replace")).rstrip("\n").split("\n")):
        say(paint(text, tone, on=on) if tone else text)


def toned(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each line of a patch with its colour. `--- a/app.py` is part of the head, `--- x` in a hunk a lost `-- x`."""
    tones, head = {"+": "green", "-": "red", "@": "cyan"}, False
    for text in lines:
        head = text.startswith("diff --git ") or (head and not text.startswith("@@"))
        yield text, "bold" if head else tones.get(text[:1], "")


def path(task: TaskId, as_json: AsJson = False) -> None:
    """Print the path of a task's workspace."""
    from burnish.features.tasks.inspect import workspace_path

    where = workspace_path(open_app(reading=True), task_id(task))
    if as_json:
        say_json({"id": str(task_id(task)), "path": str(where)})
    else:
        say(str(where))
