"""burnish uninstall"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from burnish.cli.clean import size
from burnish.cli.output import clean, count, say, say_json, tell
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson

if TYPE_CHECKING:
    from burnish.features.uninstall.uninstall import Stored


_MAX_FOREIGN = 20


def uninstall(
    yes: Annotated[bool, Option("--yes", help="Remove it. Without this option, it is only listed.")] = False,
    with_unmerged: Annotated[
        bool, Option("--unmerged", help="With --yes: also remove branches and rescues with work that is not merged.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List or remove everything that burnish stored on this machine.

    That is the burnish home, your settings, refs in repositories, hooks and services. Uncommitted work of tasks is
    first saved as a rescue ref. Branches and rescues with work that is not merged stay. burnish.yaml and .burnish/
    belong to the repository and stay. The package itself is removed by pip.
    """
    from burnish import runtime
    from burnish.features.uninstall.uninstall import everything_stored, remove_everything

    runtime.refuse_inside_phase()
    report = remove_everything(with_unmerged=with_unmerged) if yes else everything_stored()
    if as_json:
        say_json(report.as_json())
        return
    _say(report)
    if report.is_empty:
        return
    if not yes:
        tell("Nothing was removed. To remove all of it: burnish uninstall --yes")
    else:
        tell("Objects that no ref needs any more go with the next `git gc`. Remove the package: pip uninstall burnish")


def _say(report: Stored) -> None:
    if report.is_empty:
        say("burnish has stored nothing on this machine.")
    else:
        say("Removed:" if report.removed else "Stored:")
    if report.has_home and not report.shared_home:
        say(f"  {clean(str(report.home))}  ({size(report.home_bytes)})")
    if report.has_config:
        say(f"  {clean(str(report.config))}")
    for path in (*report.hooks, *report.services, *report.completion):
        say(f"  {clean(path)}")
    for root, number in report.refs.items():
        if number:
            say(f"  {count(number, 'ref')} in {clean(root)}")
    if report.unmerged:
        say("Not merged, and kept:" if report.removed else "Not merged (kept without --unmerged):")
        for root, ref, commit in report.unmerged:
            say(f"  {clean(root)}  {clean(ref)}  {commit[:12]}")
    if report.shared_home:
        say(
            f"  Kept: {clean(str(report.home))}, because {clean(report.shared_home)}. Remove what is burnish's by hand."
        )
    for path in report.foreign[:_MAX_FOREIGN]:
        say(f"  Not created by burnish, and kept: {clean(path)}")
    if len(report.foreign) > _MAX_FOREIGN:
        say(f"  and {len(report.foreign) - _MAX_FOREIGN} more")
    for root in report.missing:
        tell(f"  {clean(root)} is missing: refs of burnish may be in it.")
    if report.database:
        tell(f"  The tasks are in {report.database}, which is not touched.")
    for note in report.notes:
        tell(f"  {clean(note)}")
