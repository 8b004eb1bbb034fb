"""burnish pr"""

from __future__ import annotations

from typing import Annotated

from burnish.cli.output import clean, mark, say, say_json
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, TaskId, open_app
from burnish.core.task import task_id


def pr(
    task: TaskId,
    draft: Annotated[
        bool, Option("--draft", help="Open a draft. It also works for a task that is not approved.")
    ] = False,
    into: Annotated[
        str | None,
        Option("--into", metavar="BRANCH", help="Target BRANCH instead of the branch it started from."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Push a task's branch and open or update its pull request.

    It uses your git remote and the GitHub CLI (gh). Use `burnish merge` to merge locally.
    """
    from burnish import runtime

    runtime.refuse_inside_phase()
    from burnish.features.merge.pull_request import open_pull_request

    pull = open_pull_request(open_app(), task_id(task), draft=draft, into=into)
    if as_json:
        say_json(pull.as_json())
    else:
        what = "Updated the existing" if pull.updated else "Opened a"
        say(f"{mark('✓')} {what} pull request for task {pull.task.id}: {clean(pull.url) or pull.branch}")
