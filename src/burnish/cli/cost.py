"""burnish cost"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from burnish.cli.output import coloured, columns, paint, say, say_json
from burnish.cli.session import AsJson
from burnish.cli.stats import NOT_LATELY, NOTHING, Days, Everywhere, look, spent
from burnish.cli.tables import efforts

if TYPE_CHECKING:
    from burnish.views.stats import StatsView

DEAREST = 10


def cost(days: Days = None, everywhere: Everywhere = False, as_json: AsJson = False) -> None:
    """Show cost, tokens and time by agent, phase and task.

    Use `burnish stats` for cycles, verdicts, findings and reviewers.
    """
    from burnish.views.stats import cost_json

    view = look(days, everywhere)
    if as_json:
        say_json(cost_json(view))
        return
    for line in page(view, room=columns(sys.stdout), colour=coloured(sys.stdout)):
        say(line)


def page(view: StatsView, *, room: int, colour: bool) -> Iterator[str]:
    if view.empty:
        yield NOT_LATELY.format(view.since) if view.since else NOTHING
        return
    room = min(room, 100)
    since = f" since {view.since}" if view.since else ""
    yield paint(f"{spent(view.total)}{since}", "bold", on=colour)
    tasks = view.dearest[:DEAREST]
    hidden_count = len(view.dearest) - len(tasks)
    for title, lines in (("Agent", view.agents), ("Phase", view.phases), ("Task", tasks)):
        if lines:
            yield ""
            yield from efforts(title, lines, room=room, colour=colour)
    if hidden_count:
        yield f"  … and {hidden_count} more (--json has all)"
