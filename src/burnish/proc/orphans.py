"""The lock that shows that a shim is alive, even if the burnish process that started it is not."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def held_lock(lock_file: Path | None) -> Iterator[list[int]]:
    """Take the lock before the shim starts, which inherits it, so that there is no gap."""
    if lock_file is None:
        yield []
        return
    fd = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield [fd]
    finally:
        os.close(fd)


def wait_for_orphans(lock_file: Path, *, seconds: float = 8.0) -> bool:
    """Wait until no shim of a dead runner holds the lock file; True when it is free."""
    until = time.monotonic() + seconds
    try:
        fd = os.open(lock_file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
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
