"""Who holds a task: told by name, with what to type."""

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
    """Proof that a runner is gone; where its lock file was removed, its process is looked for by its record."""
    return is_dead(locks, runner, lambda: _recorded(store, runner))


def _recorded(store: Store, runner: str) -> RunnerIdentity | None:
    info = store.runner(runner)
    if info is None:
        return None
    try:
        start, boot, host, user = (str(info[key]) for key in ("start_time", "boot_id", "host", "user"))
        return RunnerIdentity(runner, int(info["pid"]), start, boot, host, user, str(info.get("pid_namespace", "")))
    except (KeyError, ValueError, TypeError):
        return None


def refuse_if_held(store: Store, project: str, number: int, is_dead: Callable[[str], bool]) -> None:
    """A lock is broken by proof of death alone, never by age."""
    task = store.task(project, number)
    holder = store.holder(project, number)
    if not holder or task.status not in RUNNING or is_dead(str(holder["runner"])):
        return
    # cancel gives the task up; a stopped one goes on with `burnish run`
    hint = "Wait for it (`burnish status`), stop it where it runs (Ctrl-C, or Stop on the board), "
    hint += f"or give the task up: burnish cancel {number}"
    if holder.get("host") != socket.gethostname():
        # from here its death cannot be proven
        file = store.path.parent / "locks" / f"runner-{holder['runner']}"
        hint += f". If that machine is gone for good: rm {file}"
    raise Refused(
        f"Task {number} is being run by {holder.get('user')}@{holder.get('host')}, "
        f"pid {holder.get('pid')}, since {_when(str(holder.get('since') or ''))}.",
        hint=hint,
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
