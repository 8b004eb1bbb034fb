"""burnish clean"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import clean as harmless
from burnish.cli.output import columns, count, cut, mark, one_line, pad, say, say_json, tell
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, offer_tasks, open_app
from burnish.core.task import task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.adapters.checks.stored_environments import StoredEnvironment
    from burnish.features.clean.clean import CleanReport, FolderSize
    from burnish.runtime import App


def clean(
    ids: Annotated[
        list[str] | None,
        Argument(
            metavar="TASK",
            help="Remove the workspace of TASK; repeatable.",
            show_default=False,
            autocompletion=offer_tasks,
        ),
    ] = None,
    all_completed: Annotated[
        bool, Option("--all-completed", help="Remove workspaces of completed, cancelled and removed tasks.")
    ] = False,
    with_environments: Annotated[
        bool,
        Option("--environments", help="Remove stored check environments that no run uses."),
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print what would be removed; remove nothing.")] = False,
    show_rescues: Annotated[
        bool, Option("--rescues", help="List the rescue refs with uncommitted work that was saved.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show the disk space of workspaces, or remove them.

    Branches, reviews and events are kept. Uncommitted work is first saved under refs/burnish/rescue/.
    Use `burnish rm` to remove a task from the lists.
    """
    from burnish.features.clean import clean as cleaning

    if ids and all_completed:
        raise BadInput("TASK and --all-completed cannot be combined.", hint="Use one of them.")
    removing = bool(ids or all_completed or with_environments)
    if removing and not dry_run:
        from burnish import runtime

        runtime.refuse_inside_phase()
    app = open_app()
    if show_rescues:
        _rescues(app, as_json)
        return 0
    weights = cleaning.weigh(app)
    numbers = tuple(dict.fromkeys(task_id(text) for text in ids or ()))
    selection = cleaning.chosen(app, weights, numbers, all_completed=all_completed)
    reports = [] if dry_run else cleaning.clean(app, selection)
    if all_completed and not dry_run:
        app.repository.remove_kept_trees()
        if note := cleaning.drop_copies(app):
            tell(f"  {note}")
    check_environments = cleaning.environments(app)
    removed_environments = cleaning.clean_environments(check_environments) if with_environments and not dry_run else []
    if as_json:
        say_json(cleaning.clean_json(weights, selection, reports, check_environments, removed_environments))
    elif not removing:
        _say_weights([weight for weight in weights if not weight.aside])
        _say_put_aside([weight for weight in weights if weight.aside])
        _say_environments(check_environments)
    else:
        if ids or all_completed:
            _say_done(selection, reports, dry_run=dry_run)
        if with_environments:
            _say_deleted(check_environments, removed_environments, dry_run=dry_run)
    errors = [one.error for one in reports if one.error]
    return max((error.exit_code for error in errors), default=0)


def _rescues(app: App, as_json: bool) -> None:
    from burnish.features.clean.clean import rescues

    found = rescues(app)
    if as_json:
        say_json({"rescues": [{"ref": r.ref, "commit": r.commit, "subject": r.subject} for r in found]})
        return
    for one in found:
        say(f"{one.ref}  {one.commit[:12]}  {one_line(one.subject)}")
    tell("Show one: git show REF" if found else "No rescue refs.")


def _say_weights(weights: list[FolderSize]) -> None:
    if not weights:
        say("No task uses disk space.")
        return
    room = min(44, columns(sys.stdout) - 57)
    say(f"{pad('TASK', room)} {'STATUS':16} {'WORKSPACE':>9} {'SNAPSHOT':>9} {'CALLS':>9} {'SESSIONS':>9}")
    for weight in weights:
        parts = (weight.workspace, weight.snapshot, weight.calls, weight.sessions)
        say(f"{pad(_name(weight, room), room)} {weight.status:16} " + " ".join(f"{size(part):>9}" for part in parts))
    total = sum(weight.workspace + weight.snapshot for weight in weights)
    say("")
    say(f"Workspaces and snapshots: {size(total)}.")
    if any(weight.removable and weight.is_over for weight in weights):
        tell("Remove workspaces of finished tasks: burnish clean --all-completed")


def _say_put_aside(weights: list[FolderSize]) -> None:
    if not weights:
        return
    say("")
    say(f"{'PUT ASIDE':>9}  FOLDER")
    for weight in weights:
        if weight.aside:
            note = "" if weight.aside.is_workspace else "  (not a workspace: check its content, and remove it by hand)"
            say(f"{size(weight.workspace):>9}  {harmless(str(weight.aside.path))}{note}")


def _say_environments(check_environments: list[StoredEnvironment]) -> None:
    if not check_environments:
        return
    say("")
    say(f"{pad('CHECK ENVIRONMENT', 33)} {'LAST USED':16} {'SIZE':>9}")
    for one in check_environments:
        last_use = "in use" if one.in_use else f"{one.used_at.astimezone():%Y-%m-%d %H:%M}"
        say(f"{pad(one.path.name, 33)} {last_use:16} {size(one.bytes):>9}")
    if any(not one.in_use for one in check_environments):
        tell("Remove unused environments: burnish clean --environments")


def _say_deleted(
    check_environments: list[StoredEnvironment], removals: list[StoredEnvironment], *, dry_run: bool
) -> None:
    for one in check_environments:
        if one in removals:
            say(f"Removed environment {one.path.name} ({size(one.bytes)})")
        elif one.in_use or not dry_run:
            tell(f"{mark('!')} Environment {one.path.name} is in use by a run and was kept.")
        else:
            say(f"Would remove environment {one.path.name} ({size(one.bytes)})")
    if not check_environments:
        tell("No check environments are stored.")


def _say_done(selection: list[FolderSize], reports: list[CleanReport], *, dry_run: bool) -> None:
    if dry_run:
        for weight in selection:
            say(f"Would remove {_name(weight)} ({size(weight.removable)})")
    for one in reports:
        if one.error:
            tell(f"{mark('!')} {_name(one.weight)}: {harmless(one.error.what)} {harmless(one.error.hint)}")
            continue
        rescue_note = f"; uncommitted work is saved in {one.rescue}" if one.rescue else ""
        verb = "Moved aside" if one.folder else "Removed"
        say(f"{verb} {_name(one.weight)} ({size(one.weight.removable)}){rescue_note}")
        if one.note:
            tell(f"  {harmless(one.note)}")
    freed_bytes = sum(one.weight.removable for one in reports if not one.error)
    if not selection:
        tell("Nothing to remove.")
    elif not dry_run:
        removals = [one for one in reports if not one.error and not one.folder]
        say(f"{size(freed_bytes)} freed, {count(len(removals), 'workspace')}.")


def _name(weight: FolderSize, room: int = 44) -> str:
    if weight.aside:
        return cut(one_line(weight.name), room)
    title = f"{weight.task.id} {one_line(weight.task.spec.title)}" if weight.task else one_line(weight.name)
    return cut(title, room)


def size(number: int) -> str:
    """`0`, `812 kB`, `1.4 GB`"""
    if number < 1000:
        return f"{number} B" if number else "0"
    value = float(number)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.5 or unit == "TB":
            break
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
