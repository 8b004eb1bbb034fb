"""Files that a shim leaves: the lock that shows that it is alive, and the record of how its program ended."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.proc.slots import NOT_REGULAR, open_lock
from burnish.regular_files import read_regular


@dataclass(frozen=True, slots=True)
class ExitRecord:
    """How it ended. `ended` is exit, timeout, stopped, enough or orphaned; bytes are counted before truncation."""

    exit_code: int | None
    signal: int | None
    ended: str
    seconds: float
    stdout: Path
    stderr: Path
    stdout_bytes: int
    stderr_bytes: int
    # the kernel killed a process of it for want of memory, below a cap (`Command.memory_bytes`)
    has_oom: bool = False
    # False: the sandbox failed before it executed the program
    was_started: bool = True

    @property
    def out_of_memory(self) -> bool:
        """Whether it failed because a process of it was killed for want of memory."""
        return self.has_oom and self.exit_code != 0


def finished_call(call_dir: Path) -> ExitRecord | None:
    """The record of an earlier call that finished, so that it need not run again."""
    outcome = read_outcome(call_dir)
    if outcome is None or outcome.get("ended") != "exit":
        return None
    return exit_record(call_dir, outcome)


def outcome_file(call_dir: Path) -> Path:
    """Beside the folder of the call: the program can write in the folder and could forge an outcome."""
    return call_dir.with_name(f"{call_dir.name}-outcome.json")


def read_outcome(call_dir: Path) -> dict[str, object] | None:
    """The outcome that the shim recorded; None if there is none."""
    try:
        # Without a sandbox the program may replace the file, e.g. by a pipe that never ends.
        outcome = json.loads(read_regular(outcome_file(call_dir), longest=4096, follow=False) or b"")
    except (ValueError, RecursionError):
        return None
    return outcome if isinstance(outcome, dict) else None


def exit_record(call_dir: Path, outcome: Mapping[str, object]) -> ExitRecord:
    def number(key: str) -> int | None:
        value = outcome.get(key)
        return value if isinstance(value, int) else None

    seconds = outcome.get("seconds")
    return ExitRecord(
        exit_code=number("exit_code"),
        signal=number("signal"),
        ended=str(outcome.get("ended")),
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        stdout=call_dir / "stdout",
        stderr=call_dir / "stderr",
        stdout_bytes=number("stdout_bytes") or 0,
        stderr_bytes=number("stderr_bytes") or 0,
        has_oom=outcome.get("oom") is True,
        was_started=outcome.get("started") is not False,
    )


# -- orphans --------------------------------------------------------------------------------------
# The lock that shows that a shim is alive, even if the burnish process that started it is not.


@contextlib.contextmanager
def held_lock(lock_file: Path | None) -> Iterator[list[int]]:
    """Take the lock before the shim starts, which inherits it, so that there is no gap."""
    if lock_file is None:
        yield []
        return
    fd = open_lock(lock_file)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield [fd]
    finally:
        os.close(fd)


def wait_for_orphans(lock_file: Path, *, seconds: float = 8.0) -> bool:
    """Wait until no shim of a dead runner holds the lock file; True when it is free."""
    until = time.monotonic() + seconds
    try:
        fd = os.open(lock_file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, *NOT_REGULAR):
            return True  # held_lock() reports what is not a file
        raise
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= until:
                    return False
            except OSError:
                return True  # no locks on this file system: none is held
            time.sleep(0.05)
    finally:
        os.close(fd)
