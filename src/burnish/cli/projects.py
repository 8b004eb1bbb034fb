"""burnish projects"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from burnish.cli import complete
from burnish.cli.output import coloured, columns, count, cut, one_line, pad, paint, say, say_json, tell, width
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, start_dir
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.features.projects.projects import KnownProject

NONE = "No projects yet. In your repository, run: burnish init"


def projects(
    action: Annotated[str | None, Argument(metavar="[add|forget|relink]", help="The action; list if omitted.")] = None,
    name: Annotated[
        str | None,
        Argument(
            metavar="NAME",
            help="With forget or relink: the name, key or folder of the project; with add: its folder.",
            autocompletion=complete.projects,
        ),
    ] = None,
    new: Annotated[
        bool, Option("--new", help="With relink: register this repository as a new project, not a moved one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List registered repositories; add, forget or relink one.

    add registers a repository, so that the board shows it. It does not trust it.
    forget removes a project from the lists and keeps its events and branches. `burnish add` restores the project.
    relink connects a moved repository to its project, if burnish did not do so automatically. Run it in the
    repository.
    """
    from burnish.features.projects.projects import forget, list_projects

    if action == "add":
        _add(name or ".", as_json)
        return
    if action == "forget":
        if not name:
            raise BadInput("Missing argument 'NAME'.", hint="`burnish projects` lists the projects.")
        _report(forget(name), as_json)
        return
    if action == "relink":
        _relink(name, as_json, new=new)
        return
    if action is not None:
        hint = "Use `burnish projects`, or it with add FOLDER, forget NAME or relink [NAME]."
        raise BadInput(f"Unknown action {action!r}.", hint=hint)
    found = list_projects()
    if as_json:
        say_json({"projects": [one.as_json() for one in found]})
    elif not found:
        say(NONE)
    else:
        for line in table(found, room=columns(sys.stdout), colour=coloured(sys.stdout), now=datetime.now(UTC)):
            say(line)
        if any(not one.there for one in found):
            tell("If a missing repository was moved, run `burnish status` in its new folder.")


def _add(folder: str, as_json: bool) -> None:
    from burnish import runtime
    from burnish.features.projects.projects import add_project

    runtime.refuse_inside_phase()
    result = add_project(folder, start=start_dir())
    if as_json:
        say_json({**result.project.as_json(), "is_new": result.is_new, "trusted": result.is_trusted})
        return
    verb = "Added" if result.is_new else "Already known:"
    say(f"{verb} {one_line(result.project.name)}  {one_line(str(result.project.root))}")
    if not result.is_trusted:
        tell(f"  It is not trusted: its own settings are not used. If you trust what it has run: {result.command}")


def table(found: list[KnownProject], *, room: int, colour: bool, now: datetime) -> Iterator[str]:
    """Name, tasks, last activity and folder, with a mark on a missing folder."""
    rows = [(one_line(one.name), _tasks(one), ago(one.last, now)) for one in found]
    names, tasks, times = (min(max(width(row[i]) for row in rows), room // 4) for i in range(3))
    for row, one in zip(rows, found, strict=True):
        cells = [pad(cut(text, size), size) for text, size in zip(row, (names, tasks, times), strict=True)]
        root = one_line(str(one.root)) if one.there else f"{one_line(str(one.root))} (missing)"
        place = _tail(root, max(12, room - names - tasks - times - 6))
        yield "  ".join([paint(cells[0], "bold", on=colour), *cells[1:], paint(place, "dim", on=colour)])


def _tasks(one: KnownProject) -> str:
    return count(one.tasks, "task") + (f", {one.running} running" if one.running else "")


def _tail(path: str, room: int) -> str:
    """The last `room` columns of a path."""
    if width(path) <= room:
        return path
    tail = path
    while tail and width(tail) >= room:
        tail = tail[1:]
    return f"…{tail}"


def ago(moment: str, now: datetime) -> str:
    """`just now`, `5 minutes ago`, `3 days ago`, or the date."""
    try:
        seconds = (now - datetime.fromisoformat(moment)).total_seconds()
    except ValueError:
        return moment[:10]
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return moment[:10] if word == "day" and number > 30 else f"{count(number, word)} ago"
    return "just now"


def _relink(name: str | None, as_json: bool, *, new: bool) -> None:
    from burnish.features.projects.projects import make_own, relink

    if new and name:
        raise BadInput("NAME and --new cannot be combined.", hint="Use one of them.")
    result = make_own(start_dir()) if new else relink(start_dir(), name)
    if as_json:
        say_json(result.as_json())
    elif result.old_root is None:
        say(f"{one_line(str(result.root))} is now a new project: {result.key}.")
    else:
        say(f"Relinked {result.key}: {one_line(str(result.old_root))} is now {one_line(str(result.root))}.")
        say("The new folder is not trusted yet: `burnish trust --show`, then `burnish trust`.")


def _report(one: KnownProject, as_json: bool) -> None:
    if as_json:
        say_json(one.as_json())
    else:
        say(f"Forgot {one_line(one.name)} ({one_line(str(one.root))}). Its events and branches are kept.")
