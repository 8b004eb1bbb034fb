"""burnish store"""

from __future__ import annotations

from typing import Annotated

from burnish.cli.output import clean, count, say, say_json
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson
from burnish.errors import BadInput


def store(
    action: Annotated[str, Argument(metavar="move", help="The action.")],
    to: Annotated[
        str | None,
        Option("--to", metavar="DATABASE", help="postgresql://user@host/name, or sqlite for the file in the home."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Count the rows and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Move all tasks of all projects to PostgreSQL, or back.

    All rows are copied in one transaction and compared. The old database stays as it is. The command refuses while a
    run is active.
    """
    from burnish.features.store.move import move

    if action != "move":
        raise BadInput(f"Unknown action {action!r}.", hint="Use `burnish store move --to postgresql://user@host/name`.")
    if not to:
        raise BadInput("Missing option '--to'.", hint="Use --to postgresql://user@host/name or --to sqlite.")
    report = move(to, dry_run=dry_run)
    if as_json:
        say_json(report.as_json())
        return
    rows = report.rows
    numbers = ", ".join(count(rows[f"{name}s"], name) for name in ("project", "task", "event"))
    word = "Would copy" if dry_run else "Copied and compared"
    say(f"{word}: {numbers}.")
    say(f"  from {clean(report.source)}")
    say(f"  to   {clean(report.target)}")
    for note in report.notes:
        say(clean(note))
    if report.next:
        say(f"Next: {clean(report.next)}")
