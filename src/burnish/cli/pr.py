"""burnish pr"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import clean, count, json_text, mark, one_line, say, say_json, tell
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import SESSION, AsJson, offer_tasks, open_app
from burnish.core.task import task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.features.github.sync import SyncedPull

ACTIONS = ("sync", "watch")


def pr(
    what: Annotated[
        str,
        Argument(
            metavar="TASK|sync|watch",
            help="The task to open a pull request for, or an action.",
            show_default=False,
            autocompletion=offer_tasks,
        ),
    ],
    task: Annotated[
        str | None,
        Argument(metavar="[TASK]", help="With sync or watch: only this task.", autocompletion=offer_tasks),
    ] = None,
    draft: Annotated[
        bool, Option("--draft", help="Open a draft. It also works for a task that is not approved.")
    ] = False,
    into: Annotated[
        str | None,
        Option("--into", metavar="BRANCH", help="Target BRANCH instead of the branch it started from."),
    ] = None,
    post: Annotated[bool, Option("--review/--no-review", help="Post the last review (or do not).")] = True,
    seconds: Annotated[
        int, Option("--interval", min=5, max=86_400, metavar="N", help="With watch: look every N seconds.")
    ] = 60,
    runs: Annotated[bool, Option("--run/--no-run", help="With watch: have findings fixed here (or do not).")] = True,
    as_json: AsJson = False,
) -> None:
    """Open a task's pull request, or bring comments back from it.

    It pushes the branch, opens or updates the pull request, and posts the review with comments at their lines. It
    uses your git remote and the GitHub CLI (gh). Use `burnish merge` to merge locally.

    sync makes findings of new comments and failed CI runs, resolves those whose thread was resolved, and completes
    tasks whose pull request was merged. watch does so until no pull request is open, has findings fixed, and pushes
    what is approved again.
    """
    from burnish import runtime

    runtime.refuse_inside_phase()
    if what in ACTIONS:
        if draft or into:
            raise BadInput("--draft and --into open a pull request.", hint="Usage: burnish pr TASK")
        _follow(what, task, seconds=seconds, runs=runs, as_json=as_json)
        return
    if task is not None:
        raise BadInput(f"Unexpected argument {task!r}.", hint=f"Actions are: {', '.join(ACTIONS)}.")
    from burnish.features.github.post import post_review
    from burnish.features.merge.pull_request import open_pull_request

    app, number = open_app(), task_id(what)
    pull = open_pull_request(app, number, draft=draft, into=into)
    if not as_json:
        verb = "Updated the existing" if pull.updated else "Opened a"
        say(f"{mark('✓')} {verb} pull request for task {pull.task.id}: {clean(pull.url) or pull.branch}")
    review = post_review(app, number) if post else None
    if as_json:
        say_json({**pull.as_json(), "review": review.as_json() if review else None})
    elif review:
        number_in_place = len(review.in_place)
        lines = "its line" if number_in_place == 1 else "their lines"
        tell(f"  Posted the review, {count(number_in_place, 'finding')} at {lines}.")


def _follow(action: str, task: str | None, *, seconds: int, runs: bool, as_json: bool) -> None:
    from burnish.features.github.sync import sync_pulls

    app, number = open_app(), task_id(task) if task else None
    if action == "sync":
        pulls = sync_pulls(app, number)
        if as_json:
            say_json({"pulls": [pull.as_json() for pull in pulls]})
        for pull in () if as_json else pulls:
            say_pull(pull)
        if not pulls and not as_json:
            say("No task has a pull request. Open one: burnish pr TASK")
        return
    from burnish.cli.progress import watcher
    from burnish.features.github.watch import watch_pulls

    if runs:
        app.trust.require()
    progress = watcher(several=True, quiet=SESSION.quiet, verbose=SESSION.verbose)
    try:
        watch_pulls(
            app,
            number,
            seconds=seconds,
            runs=runs,
            progress=lambda: progress,
            note=lambda text: tell(one_line(text)),
            report=lambda pull: say(json_text(pull.as_json())) if as_json else say_pull(pull, only_news=True),
        )
    finally:
        progress.close()
    tell("No pull request is open any more.")


def say_pull(pull: SyncedPull, *, only_news: bool = False, say: Callable[[str], None] = say) -> None:
    parts = [f"{', '.join(pull.opened_ids)} opened"] if pull.opened_ids else []
    parts += [f"{', '.join(pull.replied_ids)} replied to"] if pull.replied_ids else []
    parts += [f"{', '.join(pull.resolved_ids)} resolved"] if pull.resolved_ids else []
    if pull.newly_left_out:
        parts.append(f"{count(pull.newly_left_out, 'comment')} of people without write access left out")
    if only_news and not parts and not pull.notes:
        return
    state = f"pull request {pull.number} ({pull.state.lower()})"
    say(f"Task {pull.task.id}, {state}: {'; '.join(parts) or 'nothing new'}. It is {pull.task.status}.")
    for note in pull.notes:
        tell(f"  {one_line(note)}")
    if pull.opened_ids:
        tell(f"  Have it fixed: burnish run {pull.task.id}")
