"""burnish merge"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import (
    advise,
    clean,
    coloured,
    complain,
    cut,
    fitted,
    mark,
    one_line,
    paint,
    say,
    say_json,
    tell,
)
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import SESSION, AsJson, offer_tasks, open_app
from burnish.core.check import INDISTINGUISHABLE
from burnish.core.task import task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.features.merge.merge import MergedTask, MergeReport

HOW = {
    "fast-forward": "fast-forwarded",
    "merge": "merged",
    "squash": "squashed into one commit",
    "rebase": "rebased",
    "already": "already merged",
}


def merge(
    ids: Annotated[
        list[str] | None,
        Argument(metavar="TASK", help="Merge TASK; repeatable.", show_default=False, autocompletion=offer_tasks),
    ] = None,
    all_verified: Annotated[bool, Option("--all-verified", help="Merge every approved task.")] = False,
    squash: Annotated[bool, Option("--squash", help="Merge as a single commit.")] = False,
    rebase: Annotated[bool, Option("--rebase", help="Rebase the commits onto the target branch.")] = False,
    into: Annotated[
        str | None,
        Option("--into", metavar="BRANCH", help="Merge into BRANCH instead of the branch it started from."),
    ] = None,
    resolve: Annotated[
        bool, Option("--resolve", help="Have the agent resolve conflicts; the result is reviewed first.")
    ] = False,
    delete_branch: Annotated[bool, Option("--delete-branch", help="Delete the task's branch after the merge.")] = False,
    as_json: AsJson = False,
) -> int:
    """Merge approved tasks into the branch they started from.

    Only the approved commit is merged. If the target branch has moved, the setting `merge.on_moved` decides. If it
    conflicts, `merge.on_conflict` does, or --resolve.
    Use `burnish pr` to open a pull request instead, and `burnish done` for a task that you merged yourself.
    """
    from burnish import runtime

    runtime.refuse_inside_phase()
    if bool(ids) == all_verified:
        raise BadInput(
            "Give TASK or --all-verified.", hint="For example: burnish merge 29, or burnish merge --all-verified"
        )
    if squash and rebase:
        raise BadInput("--squash and --rebase cannot be combined.", hint="Use one of them.")
    if resolve and rebase:
        raise BadInput(
            "--resolve and --rebase cannot be combined: a resolved conflict is a merge commit.",
            hint="Use --resolve alone, or with --squash.",
        )
    from burnish.cli.progress import watcher
    from burnish.features.merge.merge import MergeRequest, exit_code
    from burnish.features.merge.merge import merge as carry_out

    numbers = tuple(dict.fromkeys(task_id(text) for text in ids or ()))
    how = "squash" if squash else "rebase" if rebase else "merge"
    request = MergeRequest(numbers, all_verified, how, into, delete_branch, resolve=resolve)
    progress = watcher(several=len(numbers) != 1, quiet=SESSION.quiet, verbose=SESSION.verbose)
    try:
        report = carry_out(open_app(), request, progress)
    finally:
        progress.close()
    say_json(report.as_json()) if as_json else _say(report)
    return exit_code(report.left, 0 if all_verified else len(numbers))


def _say(report: MergeReport) -> None:
    on, alone = coloured(sys.stdout), len(report.landed) + len(report.left) == 1
    for merged_task in report.landed:
        say(paint(_words(merged_task), "green", on=on))
        for why in merged_task.uncountable:
            tell(f"  Note: {clean(why)}: {INDISTINGUISHABLE}.")
        if merged_task.untested:
            tell(f"  Note: {clean(merged_task.untested)}")
        for note in merged_task.expectations:
            tell(f"  Note: {clean(note)}")
    for task, error in report.left:
        if alone:
            complain(error.what, error.hint)
        else:
            words = f"{mark('!')} {task.id} {_title(task.spec.title)}: {clean(error.what)}"
            say(paint(fitted(words, sys.stdout), "yellow", on=on))
            advise("   do: ", "dim", error.hint)
    if not (report.landed or report.left):
        tell("Nothing to merge: no task is verified. `burnish status` shows all tasks.")


def _words(merged_task: MergedTask) -> str:
    recheck_note = ", rechecked" if merged_task.rechecked else ""
    what = f"{mark('✓')} {merged_task.task.id} {_title(merged_task.task.spec.title)}"
    return f"{what}  in {clean(merged_task.into)} at {merged_task.commit[:12]} ({HOW[merged_task.how]}{recheck_note})"


def _title(title: str) -> str:
    return cut(one_line(title), 30)
