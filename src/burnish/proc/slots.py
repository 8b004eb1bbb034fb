"""Limits concurrency over all burnish processes of this machine."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from burnish.errors import BurnishError
from burnish.proc.folders import private_folder
from burnish.proc.stop import Stopped, StopToken

_LOOK_AGAIN = 0.1
# of opening a link or a folder
NOT_REGULAR = (errno.ELOOP, errno.EISDIR)


@contextmanager
def slot(lock_dir: Path, name: str, count: int, stop: StopToken | None = None) -> Iterator[int]:
    """Wait for one of `count` slots of that name. The system frees the slots of ended processes."""
    stop = stop or StopToken()
    private_folder(lock_dir)
    plain = re.sub(r"[^A-Za-z0-9_.]", "_", name)
    while True:
        for number in range(max(count, 1)):
            fd = try_lock(lock_dir / f"{plain}-{number}")
            if fd is not None:
                try:
                    yield number
                finally:
                    os.close(fd)
                return
        if stop.wait(_LOOK_AGAIN):
            raise Stopped(f"Stopped while waiting for a free slot for {name}.")


def try_lock(path: Path) -> int | None:
    """A lock that the system frees when this process ends; None if another process holds it."""
    fd = open_lock(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def open_lock(path: Path) -> int:
    """The file of a lock, created if it is missing. No link is followed."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno not in NOT_REGULAR:
            raise
        hint = "Remove it, and run the command again."
        raise BurnishError(f"Cannot lock {path}: it is not a regular file.", hint=hint) from error
