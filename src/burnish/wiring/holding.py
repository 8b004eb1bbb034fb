"""Who holds a task: told by name, with what to type."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from burnish.core.flow import RUNNING
from burnish.errors import Refused
from burnish.store import Store


def refuse_if_held(store: Store, project: str, number: int, is_dead: Callable[[str], bool]) -> None:
    """A lock is broken by proof of death alone, never by age."""
    task = store.task(project, number)
    holder = store.holder(project, number)
    if not holder or task.status not in RUNNING or is_dead(str(holder["runner"])):
        return
    raise Refused(
        f"Task {number} is being run by {holder.get('user')}@{holder.get('host')}, "
        f"pid {holder.get('pid')}, since {_when(str(holder.get('since') or ''))}.",
        # cancel gives the task up; a stopped one goes on with `burnish run`
        hint=f"Wait for it (`burnish status`), stop it where it runs (Ctrl-C, or Stop on the board), "
        f"or give the task up: burnish cancel {number}",
    )


def _when(since: str) -> str:
    """In the reader's own time, with how long that is ago."""
    try:
        then = datetime.fromisoformat(since)
    except ValueError:
        return since or "an unknown time"
    minutes = int((datetime.now(UTC) - then).total_seconds() // 60)
    # a clock that was put back says nothing of how long
    ago = f" ({minutes // 60} h {minutes % 60} min ago)" if minutes >= 60 else f" ({minutes} min ago)"
    return f"{then.astimezone():%Y-%m-%d %H:%M:%S}{ago if minutes >= 0 else ''}"
