"""burnish rebuild"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import clean, count, mark, say, say_json, tell
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, open_app

if TYPE_CHECKING:
    from burnish.features.rebuild.rebuild import RebuildReport


def rebuild(
    from_ref: Annotated[
        bool,
        Option("--from-ref", help="Read only from git (artifact refs, branches), not from the burnish home."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Restore tasks missing from the database, from files and git.

    Existing tasks are not changed. An approval is restored only if the record proves it.
    """
    from burnish import runtime

    runtime.refuse_inside_phase()
    from burnish.features.rebuild.rebuild import rebuild as bring_back

    report = bring_back(open_app(), from_ref=from_ref)
    say_json(report.as_json()) if as_json else _say(report)
    return 1 if report.damaged else 0


def _say(report: RebuildReport) -> None:
    for one in report.restored:
        source = "the burnish home" if one.source.startswith("/") else clean(one.source)
        say(f"{mark('✓')} {one.task} {one.status}  from {source}" + (f": {one.note}" if one.note else ""))
    for where, why in report.damaged:
        tell(f"{mark('!')} damaged: {clean(where)}: {clean(why)}")
    say(f"{count(len(report.restored), 'task')} restored, {len(report.present)} already present.")
    if report.note:
        tell(report.note)
