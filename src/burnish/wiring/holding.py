"""Who holds a task: told by name, with what to type."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from burnish.core.flow import RUNNING
from burnish.errors import Refused
from burnish.proc.identity import is_dead

if TYPE_CHECKING:
    from burnish.wiring.app import App


def refuse_if_held(app: App, number: int) -> None:
    """A lock is broken by proof of death alone, never by age."""
    task = app.store.task(app.key, number)
    holder = app.store.holder(app.key, number)
    if not holder or task.status not in RUNNING or is_dead(app.locks, str(holder["runner"])):
        return
    raise Refused(
        f"Task {number} is being run by {holder.get('user')}@{holder.get('host')}, "
        f"pid {holder.get('pid')}, since {_when(str(holder.get('since') or ''))}.",
        hint=f"Wait for it (`burnish status`), or stop it: burnish cancel {number}",
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
