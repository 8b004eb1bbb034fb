"""burnish tui"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from burnish.cli.interrupts import Terminated, install_handlers
from burnish.cli.output import is_plain
from burnish.cli.session import open_reader, start_dir
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.features.run.detach import ScreenRun

MIN_COLUMNS, MIN_LINES = 60, 16


def tui() -> int:
    """Show tasks, the inbox and agents at work on one screen.

    Read transcripts, findings and diffs, and decide with keys; press ? for all of them. Runs that you start here
    continue when you close the screen. Use `burnish status` and `burnish inbox` in scripts, and `burnish serve` for
    the board in a browser.
    """
    from burnish import runtime

    runtime.refuse_inside_phase()
    require_terminal("Use `burnish status`, `burnish inbox` and `burnish show TASK`.")
    return 3 if show_screen() == "failed" else 0


def require_terminal(hint: str) -> None:
    """Refuse where no screen can be drawn; `hint` says what works there."""
    what = ""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        what = "The screen needs a terminal."
    elif os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        what = f"The terminal cannot draw a screen (TERM={os.environ.get('TERM', '')})."
    elif is_plain():
        what = "The screen cannot be drawn as plain text."
    else:
        size = os.get_terminal_size(sys.stdout.fileno())
        if size.columns < MIN_COLUMNS or size.lines < MIN_LINES:
            what = f"The window is too small ({size.columns}×{size.lines}): {MIN_COLUMNS}×{MIN_LINES} is needed."
            hint = f"Enlarge it. {hint}"
    if what:
        raise BadInput(what, hint=hint)


def show_screen(run: ScreenRun | None = None) -> str:
    """Show the screen until it is closed; returns `go-on` if its run goes on, `failed` if the screen did."""
    # an eighth of the time until the first screen; it is switched on again when that is drawn
    gc.disable()
    from burnish.tui.project import ProjectData

    # with an error of the store, there is nothing to draw
    data = ProjectData(open_reader(), start_dir())
    state = data.first_state()
    from burnish.tui.app import BurnishTui

    app = BurnishTui(data, state, run)
    answer = app.run() or ""
    # the loop of the screen had handlers of its own
    install_handlers()
    if answer == "signal":
        raise Terminated
    # textual has printed the traceback
    return "failed" if app.return_code else answer
