"""The note beside an SQLite database whose tasks were moved to another one."""

from __future__ import annotations

from pathlib import Path

from burnish.errors import Refused

MOVED_NOTE = "burnish.db.moved"


def refuse_if_moved(home: Path) -> None:
    """Raise if the tasks are in another database now: new ones would be lost in the old file."""
    try:
        target = (home / MOVED_NOTE).read_text("utf-8", "replace").strip()
    except OSError:
        return
    raise Refused(
        f"The tasks of {home} were moved to {target}.",
        hint="Set `database` in your config.yaml. To use the old file again, remove "
        f"{home / MOVED_NOTE}: it lacks what was done since.",
    )
