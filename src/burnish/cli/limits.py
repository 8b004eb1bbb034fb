"""burnish limits"""

from __future__ import annotations

from typing import Annotated

from burnish.cli.output import clean, one_line, say, say_json
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, open_reader
from burnish.errors import BadInput


def limits(
    clear: Annotated[
        str | None, Option("--clear", metavar="LOGIN", help="Use LOGIN again at once; waiting tasks continue.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show logins whose plan is used up, and when tasks continue.

    Tasks of such an agent wait for the reset, unless its settings name a fallback. Use `burnish cost` for what was
    spent.
    """
    from burnish import runtime
    from burnish.proc import clock
    from burnish.runtime.reader import open_home
    from burnish.views.cost import window_lines, windows_json
    from burnish.views.status import limit_json

    if clear is not None:
        runtime.refuse_inside_phase()
    reader = open_reader()
    if clear is not None:
        with open_home(reader.home) as store:
            if not store.limits.clear_usage_limits(clear):
                names = ", ".join(one.login for one in store.limits.usage_limits()) or "none"
                raise BadInput(f"There is no usage limit of {clear!r}.", hint=f"Logins with a limit: {names}.")
    now = clock.now()
    found = reader.store.limits.current_limits(now)
    windows = reader.store.limits.current_windows(now)
    if as_json:
        say_json({"limits": [limit_json(one) for one in found], "windows": windows_json(windows)})
        return
    for one in found:
        reason = "" if one.message in one.words(now) else f": {one_line(one.message)}"
        say(clean(f"{one.words(now)}{reason}"))
    if not found:
        say("No usage limit is known.")
    for line in window_lines(windows):
        say(clean(line))
