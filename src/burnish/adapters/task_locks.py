"""Which runner holds a task, whether it is alive, and the command that helps."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from burnish.core.flow import RUNNING
from burnish.errors import BurnishError, Refused
from burnish.proc.identity import RunnerIdentity, is_dead
from burnish.store import Store

# With a database that machines share, a runner is dead if it has not renewed its lease for so long. The variable is for
# tests alone: all machines must have the same value.
LEASE_SECONDS = float(os.environ.get("BURNISH_LEASE_SECONDS") or 30.0)
_RENEWALS = 6


def is_runner_dead(store: Store, locks: Path, runner: str) -> bool:
    """True if a runner is proven dead; if its lock file was removed, its process is checked by its record.

    With a database that machines share, a lock file that is missing proves nothing: the lease in the database counts.
    """
    if not store.is_shared:
        return is_dead(locks, runner, lambda: _recorded_identity(store, runner))
    if (locks / f"runner-{runner}").exists() and is_dead(locks, runner):
        return True  # of this home, whose locks prove it at once
    age = store.lease_age(runner)
    return age is None or age > LEASE_SECONDS


@contextmanager
def renewing_lease(store: Store, runner: str) -> Iterator[None]:
    """Renew the lease of a runner, also while its other threads are busy. SQLite needs none."""
    if not store.is_shared:
        yield
        return
    is_over = threading.Event()
    thread = threading.Thread(target=_renew, args=(store, runner, is_over), name="burnish lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _renew(store: Store, runner: str, is_over: threading.Event) -> None:
    while not is_over.wait(LEASE_SECONDS / _RENEWALS):
        # While the server is away, no other runner can take the task over either.
        with suppress(BurnishError):
            store.renew_lease(runner)


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
    """Raise if a live runner holds the task. Only proof of death releases a lock; its age counts for leases alone."""
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
