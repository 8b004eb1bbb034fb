"""burnish open"""

from __future__ import annotations

import shlex
from typing import Annotated

from burnish.cli.output import say, say_json
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, TaskId, open_app
from burnish.core.task import task_id


def open_task(
    task: TaskId,
    only_print: Annotated[bool, Option("--print", help="Print the command; do not run it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Open a task's workspace in your editor ($VISUAL, else $EDITOR)."""
    from burnish.features.tasks.editor import editor, open_in
    from burnish.features.tasks.inspect import workspace_path

    number = task_id(task)
    folder = workspace_path(open_app(), number)
    words = editor()
    if as_json:
        say_json({"id": str(number), "path": str(folder), "editor": words})
    elif words and not only_print:
        open_in(words, folder)
    else:
        # without an editor: the words that bring a person there
        say(shlex.join([*(words or ["cd"]), str(folder)]))
