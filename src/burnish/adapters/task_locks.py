"""Reports which runner holds a task, with the command that helps."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from burnish.core.flow import RUNNING
from burnish.errors import Refused
from burnish.proc.identity import RunnerIdentity, is_dead
from burnish.store import Store


def is_runner_dead(store: Store, locks: Path, runner: str) -> bool:
    """True if a runner is proven dead; if its lock file was removed, its process is checked by its record."""
    return is_dead(locks, runner, lambda: _recorded_identity(store, runner))


def _recorded_identity(store: Store, runner: str) -> RunnerIdentity | None:
    info = store.runner(runner)
    if info is None:
        return None
    try:
        start, boot, host, user = (str(info[key]) for key in ("start_time", "boot_id", "host", "user"))
        return RunnerIdentity(runner, int(info["pid"]), start, boot, host, user, str(info.get("pid_namespace", "")))
    except (KeyError, ValueError, TypeError):
        return None


def refuse_if_held(store: Store, project: str, number: int, is_dead: Callable[[str], bool]) -> None:
    """Raise if a live runner holds the task. Only proof of death releases a lock, never its age."""
    task = store.task(project, number)
    holder = store.holder(project, number)
    if not holder or task.status not in RUNNING or is_dead(str(holder["runner"])):
        return
    # `cancel` abandons the task; a stopped task continues with `burnish run`.
    hint = f"Wait for it (`burnish status`), stop it and keep its work (burnish stop {number}), "
    hint += f"or abandon the task: burnish cancel {number}"
    if holder.get("host") != socket.gethostname() and not store.is_shared:
        # Its death cannot be proven from this machine.
        file = Path(store.name).parent / "locks" / f"runner-{holder['runner']}"
        hint += f". If that machine no longer exists: rm {file}"
    raise Refused(
        f"Task {number} is being run by {holder.get('user')}@{holder.get('host')}, "
        f"pid {holder.get('pid')}, since {_when(str(holder.get('since') or ''))}.",
        hint=hint,
    )


def _when(since: str) -> str:
    """The local time, with the elapsed time."""
    try:
        then = datetime.fromisoformat(since)
    except ValueError:
        return since or "an unknown time"
    minutes = int((datetime.now(UTC) - then).total_seconds() // 60)
    # If the clock was set back, the elapsed time is unknown.
    ago = f" ({minutes // 60} h {minutes % 60} min ago)" if minutes >= 60 else f" ({minutes} min ago)"
    return f"{then.astimezone():%Y-%m-%d %H:%M:%S}{ago if minutes >= 0 else ''}"
